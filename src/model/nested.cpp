#include "model/nested.h"

#include "model/families.h"

namespace reckon {
namespace {

template <class Json>
const char* nest_of(const Json& config) {
  if (!config.is_object()) return nullptr;
  const auto type = config.find("model_type");
  const std::string word = type != config.end() && type->is_string() ? type->template get<std::string>() : "";
  // These have it nested in some files, and at the top in others.
  const bool both = word == "qwen2_vl" || word == "qwen2_5_vl";
  if (!both && find_family(word)) return nullptr;
  for (const char* name : {"text_config", "llm_config", "language_config"}) {
    const auto nested = config.find(name);
    if (nested != config.end() && nested->is_object()) return name;
  }
  return nullptr;
}

}  // namespace

const char* nested_language_model(const nlohmann::json& config) { return nest_of(config); }

nlohmann::json sizes_left_out(const std::string& model_type) {
  const Family* family = find_family(model_type);
  if (family == nullptr || family->sizes.vocab_size == 0) return nlohmann::json::object();
  return {{"vocab_size", family->sizes.vocab_size},
          {"hidden_size", family->sizes.hidden_size},
          {"intermediate_size", family->sizes.intermediate_size},
          {"num_hidden_layers", family->sizes.num_hidden_layers},
          {"num_attention_heads", family->sizes.num_attention_heads}};
}

nlohmann::ordered_json language_model_config(const nlohmann::ordered_json& config) {
  const char* nest = nest_of(config);
  if (nest == nullptr) return config;
  nlohmann::ordered_json inner = config[nest];
  const auto type = inner.find("model_type");
  if (type == inner.end() || !type->is_string()) return inner;
  const nlohmann::json sizes = sizes_left_out(type->get<std::string>());
  for (const auto& [name, size] : sizes.items())
    if (!inner.contains(name)) inner[name] = size.get<std::int64_t>();
  return inner;
}

}  // namespace reckon
