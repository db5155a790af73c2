#include "model/nested.h"

#include "model/families.h"

namespace reckon {
namespace {

// The model_type; nothing where there is none.
template <class Json>
std::string word_of(const Json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? type->template get<std::string>() : "";
}

template <class Json>
const char* nest_of(const Json& config) {
  if (!config.is_object()) return nullptr;
  const std::string word = word_of(config);
  // These have it nested in some files, and at the top in others.
  const bool both = word == "qwen2_vl" || word == "qwen2_5_vl";
  if (!both && find_family(word)) return nullptr;
  for (const char* name : {"text_config", "llm_config", "language_config"}) {
    const auto nested = config.find(name);
    if (nested != config.end() && !nested->is_null()) return name;
  }
  return nullptr;
}

}  // namespace

const char* nested_language_model(const nlohmann::json& config) { return nest_of(config); }

nlohmann::json what_is_left_out(const nlohmann::json& config, const char* nest) {
  nlohmann::json left_out = nlohmann::json::object();
  std::string type = word_of(config[nest]);
  if (type.empty() && config[nest].contains("hidden_size") && find_family(word_of(config) + "_text") != nullptr)
    left_out["model_type"] = type = word_of(config) + "_text";
  const Family* family = find_family(type);
  if (family == nullptr || family->sizes.vocab_size == 0) return left_out;
  left_out["vocab_size"] = family->sizes.vocab_size;
  left_out["hidden_size"] = family->sizes.hidden_size;
  left_out["intermediate_size"] = family->sizes.intermediate_size;
  left_out["num_hidden_layers"] = family->sizes.num_hidden_layers;
  left_out["num_attention_heads"] = family->sizes.num_attention_heads;
  return left_out;
}

nlohmann::ordered_json language_model_config(const nlohmann::ordered_json& config) {
  const char* nest = nest_of(config);
  if (nest == nullptr) return config;
  nlohmann::ordered_json inner = config[nest];
  const nlohmann::json left_out = what_is_left_out(nlohmann::json(config), nest);
  for (const auto& [name, value] : left_out.items())
    if (!inner.contains(name)) inner[name] = value;
  return inner;
}

}  // namespace reckon
