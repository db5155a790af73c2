// Rotary positions, and how their angles are scaled to longer contexts.
#include <fmt/format.h>

#include <cmath>

#include "model/families.h"

namespace reckon {

namespace {

// What stands outside of the RoPE object, and holds unless the object says otherwise.
struct Outside {
  double theta;
  double fraction;
  bool interleaved;
  std::int64_t d_head;
  std::int64_t context;
  std::string from;               // what the file says of the elements of a head
  double original_context = 0.0;  // not said
};

// `named`, and the fields that say how many elements of a head are rotated: "head_dim is 15", or what it follows from.
std::string named_sizes(std::string named, const Fields& config) {
  const auto add = [&](Text name) {
    if (const nlohmann::json* found = config.value(name))
      named += fmt::format("{}{} is {}", named.empty() ? "" : ", ", config.spelled(name), describe(*found));
  };
  add(config.has("qk_rope_head_dim") ? "qk_rope_head_dim" : "head_dim");
  if (named.empty())
    for (const char* name : {"hidden_size", "num_attention_heads"}) add(name);
  for (const char* name : {"partial_rotary_factor", "rotary_dim"}) add(name);
  return named;
}

Rope read_one(Fields& fields, const Outside& outside) {
  Rope rope;
  rope.theta = fields.positive("rope_theta", outside.theta);
  rope.interleaved = outside.interleaved;
  const double fraction = fields.positive("partial_rotary_factor", outside.fraction);
  if (fraction > 1) fields.fail("partial_rotary_factor", "at most 1");
  std::string type = fields.word("rope_type", fields.word("type", "default"));
  const bool proportional = type == "proportional";  // all pairs have their angle, of which the later ones are 0
  rope.dims = static_cast<std::int64_t>(static_cast<double>(outside.d_head) * (proportional ? 1.0 : fraction));
  if (rope.dims < 2 || rope.dims % 2 != 0)
    fields.refuse(fmt::format("RoPE would rotate {} of {} elements of a head ({}); expected an even number", rope.dims,
                              outside.d_head, named_sizes(outside.from, fields)));
  // Phi-3's first files call LongRoPE by other names.
  if (type == "su" || (type == "yarn" && fields.has("short_factor"))) type = "longrope";
  if (type == "mrope") type = "default";  // several axes are one on text
  const bool starts_somewhere = type == "llama3" || type == "yarn" || type == "longrope";
  const double inner_start = fields.positive("original_max_position_embeddings", static_cast<double>(outside.context));
  if (starts_somewhere) rope.original_context = outside.original_context > 0 ? outside.original_context : inner_start;
  const double extension = starts_somewhere ? static_cast<double>(outside.context) / rope.original_context : 1.0;

  if (type == "default" || type == "none") {
    rope.scaling = Rope::Scaling::none;
  } else if (proportional) {
    rope.turned = static_cast<std::int64_t>(static_cast<double>(outside.d_head) * fraction) / 2;
    if (rope.turned == 0) fields.fail("partial_rotary_factor", "enough to rotate a pair");
    rope.factor = fields.positive("factor", 1.0);
    if (rope.factor != 1.0) rope.scaling = Rope::Scaling::linear;
  } else if (type == "dynamic" && fields.has("alpha")) {
    // Hunyuan: one base for all lengths.
    const double dims = static_cast<double>(rope.dims);
    rope.theta *= std::pow(fields.positive("alpha", 1.0), dims / (dims - 2));
  } else if (type == "linear" || type == "dynamic") {
    rope.scaling = type == "linear" ? Rope::Scaling::linear : Rope::Scaling::dynamic;
    if (!fields.has("factor")) fields.fail("factor", "a number");
    rope.factor = fields.positive("factor", 1.0);
    if (type == "dynamic") rope.original_context = static_cast<double>(outside.context);
  } else if (type == "llama3") {
    rope.scaling = Rope::Scaling::llama3;
    for (const char* needed : {"factor", "low_freq_factor", "high_freq_factor"})
      if (!fields.has(needed)) fields.fail(needed, "a number");
    rope.factor = fields.positive("factor", 1.0);
    rope.low_frequency_factor = fields.positive("low_freq_factor", 1.0);
    rope.high_frequency_factor = fields.positive("high_freq_factor", 4.0);
    // Llama 4 Scout has them equal: nothing is blended.
    if (rope.high_frequency_factor < rope.low_frequency_factor)
      fields.fail("high_freq_factor", fmt::format("at least low_freq_factor, {}", rope.low_frequency_factor));
  } else if (type == "yarn") {
    rope.scaling = Rope::Scaling::yarn;
    rope.factor = fields.positive("factor", extension);
    rope.beta_fast = fields.positive("beta_fast", 32.0);
    rope.beta_slow = fields.positive("beta_slow", 1.0);
    rope.truncate = fields.flag("truncate", true);
    rope.attention_factor = fields.number("attention_factor", 0.0);
    rope.mscale = fields.number("mscale", 0.0);
    rope.mscale_all_dim = fields.number("mscale_all_dim", 0.0);
  } else if (type == "longrope") {
    rope.scaling = Rope::Scaling::longrope;
    rope.factor = fields.positive("factor", extension);
    rope.attention_factor = fields.number("attention_factor", 0.0);
    const auto factors = [&](const char* name) {
      std::vector<double> numbers = fields.numbers(name);
      const auto pairs = static_cast<std::size_t>(rope.dims / 2);
      if (numbers.size() != pairs) fields.fail(name, fmt::format("{} numbers, one per rotated pair", pairs));
      return numbers;
    };
    rope.short_factors = factors("short_factor");
    rope.long_factors = factors("long_factor");
    if (fields.has("short_mscale")) {  // Phi MoE
      rope.short_magnitude = fields.positive("short_mscale", 1.0);
      rope.long_magnitude = fields.positive("long_mscale", 1.0);
    }
  } else {
    fields.fail(fields.has("rope_type") ? "rope_type" : "type",
                "default, linear, dynamic, llama3, yarn, longrope or proportional");
  }
  // Parameters of the kinds that are not in use change nothing; "finetuned" tells how the weights were made; several
  // axes (mrope) are one on text; what scales queries by position is the attention's.
  fields.ignore({"type",
                 "factor",
                 "low_freq_factor",
                 "high_freq_factor",
                 "beta_fast",
                 "beta_slow",
                 "truncate",
                 "attention_factor",
                 "mscale",
                 "mscale_all_dim",
                 "short_factor",
                 "long_factor",
                 "finetuned",
                 "alpha",
                 "short_mscale",
                 "long_mscale",
                 "mrope_section",
                 "mrope_interleaved",
                 "llama_4_scaling_beta",
                 "max_position_embeddings"});
  const std::vector<Fields::Unread> unread = fields.unread();
  if (!unread.empty())
    fields.refuse(fmt::format("{} is not understood and could change how positions are rotated", unread.front().name));
  return rope;
}

}  // namespace

double yarn_mscale(double factor, double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; }

Ropes read_rope(Fields& config, const RopeDefaults& defaults, std::int64_t d_head, std::int64_t context) {
  Outside outside;
  outside.theta = config.positive("rope_theta", defaults.theta);
  outside.fraction = config.positive("partial_rotary_factor", defaults.fraction);
  if (outside.fraction > 1) config.fail("partial_rotary_factor", "at most 1");
  outside.interleaved = defaults.interleaved;
  if (outside.interleaved)
    config.expect_on("rope_interleaved", "true: this family rotates neighbours together");
  else
    config.expect_off("rope_interleaved", "false: this family rotates elements half a head apart together");
  outside.d_head = d_head;
  outside.context = context;
  outside.from = named_sizes("", config);
  if (config.has("original_max_position_embeddings"))
    outside.original_context = config.positive("original_max_position_embeddings", 1.0);
  Outside sliding = outside;
  if (defaults.sliding_fraction > 0) sliding.fraction = defaults.sliding_fraction;
  if (defaults.sliding_theta > 0) sliding.theta = config.positive("rope_local_base_freq", defaults.sliding_theta);

  static const nlohmann::json nothing = nlohmann::json::object();
  Fields plain(nothing, config.where(), "rope_parameters.");
  Ropes ropes;
  std::optional<Fields> parameters = config.object("rope_parameters");
  if (parameters && (parameters->present(defaults.full_key) || parameters->present(defaults.sliding_key))) {
    std::optional<Fields> full = parameters->object(defaults.full_key);
    std::optional<Fields> local = parameters->object(defaults.sliding_key);
    ropes.full = read_one(full ? *full : plain, outside);
    ropes.sliding = read_one(local ? *local : plain, sliding);
    // What transformers writes beside the types of layers, and what says the same again.
    parameters->expect_word("rope_type", "default", "default beside types of layers");
    if (const double start = parameters->number("original_max_position_embeddings", 0.0); start > 0)
      for (const Rope* rope : {&ropes.full, &ropes.sliding})
        if (rope->original_context > 0 && rope->original_context != start)
          parameters->fail("original_max_position_embeddings",
                           fmt::format("{}, as a type of layer has it", rope->original_context));
    // A base beside them is nobody's where each has its own, or no RoPE.
    const auto has_a_base = [](const std::optional<Fields>& one) { return !one || one->has("rope_theta"); };
    if (has_a_base(full) && has_a_base(local)) parameters->ignore({"rope_theta"});
    const std::vector<Fields::Unread> unread = parameters->unread();
    if (!unread.empty())
      parameters->refuse(fmt::format("{} is not a type of layer; expected {} or {}", unread.front().name,
                                     defaults.full_key.c_str(), defaults.sliding_key.c_str()));
    config.ignore({"rope_scaling"});
    return ropes;
  }
  std::optional<Fields> scaling = config.object("rope_scaling");
  ropes.full = read_one(scaling ? *scaling : parameters ? *parameters : plain, outside);
  // A family with a RoPE base of its own for sliding layers scales only the full ones.
  ropes.sliding = defaults.sliding_theta > 0 ? read_one(plain, sliding) : ropes.full;
  return ropes;
}

}  // namespace reckon
