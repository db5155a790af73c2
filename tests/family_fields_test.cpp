// Every field of a small model's config.json is given another value: reckon's logits move as far as transformers' do
// with the same weights, or reckon refuses the value. Fields that transformers does not read move none.
// (tests/data/families/report.json; scripts/references.py, switched_fields.)
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "family_references.h"
#include "model/read.h"
#include "tiny_models.h"

namespace reckon {
namespace {

using family_references::found;
using family_references::read_json;
using nlohmann::json;

// What reckon reads otherwise than transformers' class, and why.
struct Otherwise {
  const char* of;  // a pattern of "folder field"
  const char* why;
};
const Otherwise otherwise[] = {
    {"(glm|glm4|glm4_moe|minimax_m2|nemotron|persimmon|phi|qwen3_next|recurrent_gemma|stablelm(-parallel)?|"
     "deepseek_v4(-yarn)?) partial_rotary_factor|cohere2_moe rope_theta|deepseek_v4(-yarn)? (compress_)?rope_theta",
     "rope_parameters of the file has it too, and goes before it"},
    {"llama4 no_rope_layer_interval|llama4_text(-llama3)? no_rope_layer(s|_interval)|"
     "smollm3 (no_rope_layer(s|_interval)|use_sliding_window)",
     "the file has lists of all layers, which go before it"},
    {R"((axk1|kimi_k25|longcat_flash|mistral4|youtu) head_dim)",
     "transformers' RoPE has it alone, and makers write others"},
    {R"(hunyuan_v1_(dense|moe)-alpha max_position_embeddings|mpt max_seq_len)", "the text is longer than that"},
    {R"(phimoe-longrope-long rope_parameters\.(long|short)_factor)",
     "transformers takes the short factors beyond the original context, too"},
    {"falcon alibi", "transformers adds it twice, in its mask and to the scores; twice the slopes give its logits"},
};

std::string reason_for(const std::string& name) {
  for (const Otherwise& one : otherwise)
    if (std::regex_match(name, std::regex(one.of))) return one.why;
  return "";
}

// The value at the end of a dotted path, where the file has it.
json* at_path(json& holder, std::string path) {
  json* here = &holder;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string name = path.substr(0, dot);
    path.erase(0, dot + 1);
    if (!here->is_object() || !here->contains(name)) return nullptr;
    here = &(*here)[name];
  }
  return here;
}

// How far the logits are from those of the file as it is; nothing where the config or its weights are refused.
std::optional<double> moved(const json& config, const std::filesystem::path& folder, const json& io) {
  try {
    const Model model = read_config(config, "config.json");
    EngineOptions options;
    options.device = Device::reference64;
    options.capacity = static_cast<std::int64_t>(io["ids"][0].size());
    options.threads = 1;
    Engine engine(model, Weights::load(model, folder), options);
    double distance = 0;
    for (std::size_t row = 0; row < io["ids"].size(); ++row) {
      Session session = engine.session();
      const auto logits = session.run(io["ids"][row].get<std::vector<std::int32_t>>(), Logits::all);
      std::size_t i = 0;
      for (const json& position : io["logits"][row])
        for (const json& logit : position)
          distance = std::max(distance, std::fabs(static_cast<double>(logits[i++]) - logit.get<double>()));
    }
    return distance;
  } catch (const Error&) {
    return std::nullopt;
  }
}

class FamilyFields : public testing::TestWithParam<std::string> {};

TEST_P(FamilyFields, MoveTheLogitsAsFarAsTransformersDo) {
  const std::filesystem::path folder = family_references::folder() / "tiny" / GetParam();
  const json types = read_json(family_references::folder() / "report.json")["types"];
  const json config = read_json(folder / "config.json"), io = read_json(folder / "io.json");
  json report;
  for (const auto& [type, models] : types.items())
    for (const auto& [variant, model] : models["tiny"].items())
      if (type + (variant == "plain" ? "" : variant) == GetParam()) report = model;
  ASSERT_TRUE(report.contains("fields"));
  const double scale = report["scale"];
  std::size_t held = 0;
  for (const auto& [field, change] : report["fields"].items()) {
    if (!change.is_array()) continue;
    const double theirs = change[1];
    EXPECT_TRUE(theirs >= 1e-4 * scale || report["unfelt"].contains(field))
        << field << " moves nothing, and why is not said";
    json other = config;
    json* value = at_path(other.contains("text_config") ? other["text_config"] : other, field);
    if (value == nullptr || theirs > 1e6) continue;
    *value = change[0];
    const std::optional<double> ours = moved(other, folder, io);
    if (!ours) continue;
    ++held;
    const bool same = std::fabs(*ours - theirs) <= 1e-4 * std::max(scale, theirs);
    const std::string why = reason_for(GetParam() + " " + field);
    if (why.empty())
      EXPECT_TRUE(same) << field << " = " << change[0] << " moves the logits by " << *ours << ", transformers' by "
                        << theirs;
    else
      EXPECT_FALSE(same) << field << " is read alike, and yet: " << why;
  }
  EXPECT_GE(held, 3u);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyFields, testing::ValuesIn(found("tiny")), testing_models::tiny_test_name);

}  // namespace
}  // namespace reckon
