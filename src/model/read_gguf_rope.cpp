// How a GGUF file scales RoPE, as a config.json says it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "files/quote.h"
#include "model/families.h"
#include "model/gguf_pairs.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

// By how much Llama 3.1 to 3.3 divide the frequencies: the same rule with a factor of their own.
std::vector<double> llama3_divisors(double theta, std::int64_t dims, double factor) {
  std::vector<double> divisors;
  for (std::int64_t i = 0; i < dims / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
    const double turns = 8192 * frequency / (2 * std::numbers::pi), smooth = std::clamp((turns - 1) / 3, 0.0, 1.0);
    divisors.push_back(1 / ((1 - smooth) / factor + smooth));
  }
  return divisors;
}

// A tensor of divisors is all that a file has of Llama 3's scaling, whose parameters are known: where they give these
// divisors they are told, and else the divisors themselves are, which LongRoPE has room for.
Json divided(const std::vector<double>& divisors, double theta, std::int64_t dims, std::int64_t context) {
  const double factor = *std::max_element(divisors.begin(), divisors.end());
  const std::vector<double> known = llama3_divisors(theta, dims, factor);
  if (std::equal(divisors.begin(), divisors.end(), known.begin(), known.end(),
                 [](double a, double b) { return std::abs(a - b) <= 1e-5 * b; }))
    return {{"rope_type", "llama3"},
            {"factor", factor},
            {"low_freq_factor", 1.0},
            {"high_freq_factor", 4.0},
            {"original_max_position_embeddings", 8192}};
  return {{"rope_type", "longrope"}, {"short_factor", divisors}, {"long_factor", divisors},
          {"factor", 1.0},           {"attention_factor", 1.0},  {"original_max_position_embeddings", context}};
}

}  // namespace

nlohmann::json gguf_rope_scaling(GgufPairs& pairs, double theta, std::int64_t context) {
  const std::string divisors = "rope_freqs.weight", longer = "rope_factors_long.weight",
                    shorter = "rope_factors_short.weight";
  std::string type = pairs.word("rope.scaling.type", "linear");
  const double factor = pairs.number("rope.scaling.factor", pairs.number("rope.scale_linear", 0.0));
  const double start = pairs.number("rope.scaling.original_context_length", static_cast<double>(context));
  const double attention = pairs.number("rope.scaling.attn_factor", 1.0);
  const double yarn_attention = pairs.number("rope.scaling.yarn_attn_factor", 0.0);
  const double beta_fast = pairs.positive("rope.scaling.yarn_beta_fast", 32.0);
  const double beta_slow = pairs.positive("rope.scaling.yarn_beta_slow", 1.0);
  const double log_multiplier = 10 * pairs.number("rope.scaling.yarn_log_multiplier", 0.0);
  if (factor < 0) pairs.fail("rope.scaling.factor", "a number above zero");
  if (const double extends = pairs.number("rope.scaling.yarn_ext_factor", 1.0); extends != 1.0 && extends >= 0)
    pairs.fail("rope.scaling.yarn_ext_factor", "1");
  const bool stretched = factor != 0.0 && factor != 1.0;
  if (pairs.holds(longer) && pairs.holds(shorter)) type = "longrope";
  if (pairs.holds(divisors)) {
    if (type == "yarn" || (type == "linear" && stretched))
      pairs.refuse(fmt::format("tensor {} and {} both scale RoPE; expected one of them", quote(divisors),
                               pairs.key("rope.scaling.type")));
    if (type != "longrope") return divided(pairs.values(divisors, pairs.rotated / 2), theta, pairs.rotated, context);
  }
  if (type == "none" || (type == "linear" && !stretched)) return nullptr;
  if (type == "linear") return {{"rope_type", "linear"}, {"factor", factor}};
  Json scaling{{"rope_type", type}, {"original_max_position_embeddings", start}};
  if (type == "yarn") {
    if (factor == 0) pairs.fail("rope.scaling.factor", "a number above zero");
    scaling.update({{"factor", factor}, {"beta_fast", beta_fast}, {"beta_slow", beta_slow}});
    if (log_multiplier != 0) scaling.update({{"mscale", log_multiplier}, {"mscale_all_dim", log_multiplier}});
    if (yarn_attention > 0 || attention != 1)
      scaling["attention_factor"] = yarn_attention > 0 ? yarn_attention : attention * yarn_mscale(factor, 1.0);
    return scaling;
  }
  if (type != "longrope") pairs.fail("rope.scaling.type", "none, linear, yarn or longrope");
  for (const std::string& name : {longer, shorter})
    if (!pairs.holds(name))
      pairs.refuse(
          fmt::format("{} is \"longrope\", but there is no tensor {}", pairs.key("rope.scaling.type"), quote(name)));
  scaling["long_factor"] = pairs.values(longer, pairs.rotated / 2);
  scaling["short_factor"] = pairs.values(shorter, pairs.rotated / 2);
  scaling["attention_factor"] = attention;
  return scaling;
}

}  // namespace reckon
