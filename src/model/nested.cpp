#include "model/nested.h"

#include <algorithm>
#include <array>
#include <map>

#include "model/read.h"

namespace reckon {
namespace {

template <class Json>
const char* nest_of(const Json& config) {
  if (!config.is_object()) return nullptr;
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string()) {
    const std::vector<std::string>& known = model_types();
    if (std::find(known.begin(), known.end(), type->template get<std::string>()) != known.end()) return nullptr;
  }
  for (const char* name : {"text_config", "llm_config", "language_config"}) {
    const auto nested = config.find(name);
    if (nested != config.end() && nested->is_object()) return name;
  }
  return nullptr;
}

struct Sizes {
  const char* model_type;
  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads;
};

// As in transformers' configuration_*.py; families that nobody nests are not here.
constexpr std::array classes{
    Sizes{"cohere", 256000, 8192, 22528, 40, 64},
    Sizes{"deepseek_v2", 102400, 4096, 11008, 32, 32},
    Sizes{"deepseek_v3", 129280, 7168, 18432, 61, 128},
    Sizes{"gemma", 256000, 3072, 24576, 28, 16},
    Sizes{"gemma2", 256000, 2304, 9216, 26, 8},
    Sizes{"gemma3_text", 262208, 2304, 9216, 26, 8},
    Sizes{"gpt_oss", 201088, 2880, 2880, 36, 64},
    Sizes{"granite", 32000, 4096, 11008, 32, 32},
    Sizes{"llama", 32000, 4096, 11008, 32, 32},
    Sizes{"mistral", 32000, 4096, 14336, 32, 32},
    Sizes{"mixtral", 32000, 4096, 14336, 32, 32},
    Sizes{"olmo2", 50304, 4096, 11008, 32, 32},
    Sizes{"phi", 51200, 2048, 8192, 24, 32},
    Sizes{"phi3", 32064, 3072, 8192, 32, 32},
    Sizes{"qwen2", 151936, 4096, 22016, 32, 32},
    Sizes{"qwen3", 151936, 4096, 22016, 32, 32},
    Sizes{"qwen3_moe", 151936, 2048, 6144, 24, 32},
    Sizes{"stablelm", 50304, 2560, 6912, 32, 32},
    Sizes{"starcoder2", 49152, 3072, 12288, 30, 24},
};

}  // namespace

const char* nested_language_model(const nlohmann::json& config) { return nest_of(config); }

const nlohmann::json& sizes_left_out(const std::string& model_type) {
  static const std::map<std::string, nlohmann::json> all = [] {
    std::map<std::string, nlohmann::json> sizes;
    for (const Sizes& one : classes) {
      sizes[one.model_type] = {{"vocab_size", one.vocab_size},
                               {"hidden_size", one.hidden_size},
                               {"intermediate_size", one.intermediate_size},
                               {"num_hidden_layers", one.num_hidden_layers},
                               {"num_attention_heads", one.num_attention_heads}};
    }
    return sizes;
  }();
  static const nlohmann::json none = nlohmann::json::object();
  const auto found = all.find(model_type);
  return found == all.end() ? none : found->second;
}

nlohmann::ordered_json language_model_config(const nlohmann::ordered_json& config) {
  const char* nest = nest_of(config);
  if (nest == nullptr) return config;
  nlohmann::ordered_json inner = config[nest];
  const auto type = inner.find("model_type");
  if (type == inner.end() || !type->is_string()) return inner;
  const nlohmann::json& sizes = sizes_left_out(type->get<std::string>());
  for (const auto& [name, size] : sizes.items()) {
    if (!inner.contains(name)) inner[name] = size.get<std::int64_t>();
  }
  return inner;
}

}  // namespace reckon
