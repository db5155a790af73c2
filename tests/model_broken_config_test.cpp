// Configs that are broken, incomplete or not understood: each is an Error whose sentence names the place and the field.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <nlohmann/json.hpp>
#include <set>

#include "files/json_document.h"
#include "model/presets.h"
#include "model/read.h"

namespace reckon {
namespace {

using nlohmann::json;

json small_llama() {
  return {{"model_type", "llama"},    {"hidden_size", 64},        {"num_hidden_layers", 2}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"intermediate_size", 128}, {"vocab_size", 100}};
}

std::string complaint(const json& config) {
  try {
    read_config(config, "some/config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

struct Case {
  const char* change;                 // merged into a small llama; a null removes the field
  std::vector<std::string> mentions;  // parts of the sentence
};

TEST(BrokenConfig, NamesTheFieldWhatWasFoundAndWhatWasExpected) {
  const std::vector<Case> cases = {
      {R"({"num_attention_heads": "32"})", {"num_attention_heads is \"32\", a string", "expected a whole number"}},
      {R"({"hidden_size": null})", {"hidden_size is missing", "expected a whole number"}},
      {R"({"vocab_size": null})", {"vocab_size is missing"}},
      {R"({"num_hidden_layers": null})", {"num_hidden_layers is missing"}},
      {R"({"intermediate_size": null})", {"intermediate_size is missing"}},
      {R"({"hidden_size": 0})", {"hidden_size is 0", "at least 1"}},
      {R"({"hidden_size": -64})", {"hidden_size is -64", "at least 1"}},
      {R"({"hidden_size": 64.5})", {"hidden_size is 64.5", "whole number"}},
      {R"({"hidden_size": [64]})", {"hidden_size is an array of 1", "whole number"}},
      {R"({"hidden_size": {"a": 1}})", {"hidden_size is an object", "whole number"}},
      {R"({"hidden_size": true})", {"hidden_size is true", "whole number"}},
      {R"({"vocab_size": 99999999999})", {"vocab_size is 99999999999", "at most 1073741824"}},
      {R"({"vocab_size": 18446744073709551615})", {"vocab_size is 18446744073709551615", "at most"}},
      {R"({"vocab_size": 1e30})", {"vocab_size is 1e+30", "a whole number of at most 1073741824"}},
      {R"({"num_hidden_layers": 1e23})", {"num_hidden_layers is 1e+23", "a whole number of at most 100000"}},
      {R"({"num_hidden_layers": 99999999999})", {"num_hidden_layers is 99999999999", "at most 100000"}},
      {R"({"num_hidden_layers": 100001})", {"num_hidden_layers is 100001", "at most 100000"}},
      {R"({"num_attention_heads": 5, "num_key_value_heads": 5})",
       {"num_attention_heads is 5", "does not divide hidden_size, 64"}},
      {R"({"num_key_value_heads": 3})", {"num_key_value_heads is 3", "does not divide num_attention_heads, 4"}},
      {R"({"head_dim": 15})", {"RoPE would rotate 15 of 15 elements of a head (head_dim is 15)", "even"}},
      {R"({"hidden_size": 60})",
       {"RoPE would rotate 15 of 15 elements of a head (hidden_size is 60, num_attention_heads is 4)"}},
      {R"({"head_dim": 16, "partial_rotary_factor": 0.1})",
       {"RoPE would rotate 1 of 16 elements of a head (head_dim is 16, partial_rotary_factor is 0.1)"}},
      {R"({"hidden_act": "mish"})", {"hidden_act is \"mish\"", "gelu"}},
      {R"({"hidden_act": 3})", {"hidden_act is 3", "a word"}},
      {R"({"tie_word_embeddings": "yes"})", {"tie_word_embeddings is \"yes\"", "true or false"}},
      {R"({"rms_norm_eps": "small"})", {"rms_norm_eps is \"small\"", "a number"}},
      {R"({"rms_norm_eps": -1})", {"rms_norm_eps is -1", "above zero"}},
      {R"({"rope_theta": 0})", {"rope_theta is 0", "above zero"}},
      {R"({"rope_scaling": 5})", {"rope_scaling is 5", "an object"}},
      {R"({"rope_scaling": {"type": "ntk-by-parts", "factor": 2}})", {"rope_scaling.type is \"ntk-by-parts\"", "yarn"}},
      {R"({"rope_scaling": {"type": "linear"}})", {"rope_scaling.factor is missing"}},
      {R"({"rope_scaling": {"type": "linear", "factor": "two"}})", {"rope_scaling.factor is \"two\"", "a number"}},
      {R"({"rope_scaling": {"rope_type": "llama3", "factor": 8}})", {"rope_scaling.low_freq_factor is missing"}},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1]}})",
       {"rope_scaling.short_factor is an array of 1", "8 numbers"}},
      {R"({"rope_scaling": {"type": "longrope", "short_factor": ["x"], "long_factor": [1]}})",
       {"rope_scaling.short_factor", "an array of numbers"}},
      {R"({"partial_rotary_factor": 1.5})", {"partial_rotary_factor is 1.5", "at most 1"}},
      {R"({"num_memory_blocks": 4})", {"num_memory_blocks is 4", "not understood for llama", "could change the count"}},
      {R"({"use_extra_norm": true})", {"use_extra_norm is true", "not understood"}},
      {R"({"lm_head_bias": false})", {"lm_head_bias is false", "not understood"}},
      {R"({"is_encoder_decoder": true})", {"is_encoder_decoder is true", "only decoders"}},
      {R"({"pruned_heads": {"0": [1]}})", {"pruned_heads is an object", "empty"}},
      {R"({"model_type": null})", {"model_type is missing", "that are known"}},
      {R"({"model_type": 7})", {"model_type is 7", "a word"}},
      {R"({"model_type": "lama"})", {"model_type is \"lama\"; expected one of the ", "did you mean llama?"}},
      {R"({"model_type": "gemma3", "text_config": {}})", {"text_config.model_type is missing", "that are known"}},
      {R"({"model_type": "gemma3", "text_config": 3})", {"text_config is 3; expected an object"}},
      {R"({"model_type": "llama4"})",
       {"model_type is \"llama4\"", "did you mean llama4_text?",
        "nests its language model (llama4_text) as text_config"}},
      {R"({"model_type": "step3p7"})", {"nests its language model (step3p5) as text_config"}},
      {R"({"model_type": "gemma4_assistant", "text_config": {"model_type": "gemma4_text"}})",
       {"model_type is \"gemma4_assistant\"", "it drafts tokens"}},
      {R"({"model_type": "qwen4"})", {"did you mean qwen3?"}},
      {R"({"model_type": "deepseek_v5"})", {"did you mean deepseek_v4?"}},
      {R"({"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3})",
       {"num_experts_per_tok is 3", "at most num_local_experts, 2"}},
      {R"({"model_type": "gemma2", "head_dim": 16, "layer_types": ["full_attention"]})",
       {"layer_types is an array of 1", "2 entries"}},
      {R"({"model_type": "gemma2", "head_dim": 16, "layer_types": ["full_attention", "chunked_attention"]})",
       {"layer_types[1] is \"chunked_attention\"", "sliding_attention"}},
      {R"({"model_type": "gemma2", "head_dim": 16, "layer_types": [1, [[]]]})", {"layer_types[0] is 1"}},
      {R"({"model_type": "gemma2", "use_bidirectional_attention": true})",
       {"use_bidirectional_attention is true", "causal"}},
      {R"({"model_type": "gpt2", "n_embd": 32})", {"n_embd is 32 but hidden_size is 64"}},
      {R"({"model_type": "gpt_neo", "attention_types": [["global", 2]]})", {"attention_types", "an array like"}},
      {R"({"model_type": "gpt_neo", "attention_types": [[["global"], 9000000000000]]})",
       {"attention_types", "one per layer"}},
      {R"({"model_type": "gpt_neo", "attention_types": [[[], 9000000000000]]})", {"attention_types", "an array like"}},
      {R"({"model_type": "bloom", "apply_residual_connection_post_layernorm": true, "intermediate_size": null,
           "num_key_value_heads": null})",
       {"apply_residual_connection_post_layernorm is true", "not supported"}},
      {R"({"model_type": "deepseek_v2", "num_experts_per_tok": 2, "num_key_value_heads": 4, "topk_method": "best"})",
       {"topk_method is \"best\"", "greedy"}},
      {R"({"model_type": "deepseek_v2", "num_key_value_heads": 4})", {"num_experts_per_tok is missing"}},
      {R"({"model_type": "deepseek_v3", "num_key_value_heads": 4, "n_group": 7})", {"n_group is 7", "a divisor"}},
      {R"({"model_type": "deepseek_v3", "num_key_value_heads": 4, "moe_layer_freq": 2})", {"moe_layer_freq is 2", "1"}},
      {R"({"model_type": "deepseek_v3", "num_key_value_heads": 2})", {"num_key_value_heads is 2", "latent"}},
      {R"({"model_type": "falcon", "num_key_value_heads": null, "intermediate_size": null,
           "new_decoder_architecture": true, "parallel_attn": false})",
       {"parallel_attn is false"}},
  };
  for (const Case& broken : cases) {
    json config = small_llama();
    config.merge_patch(json::parse(broken.change));
    const std::string sentence = complaint(config);
    EXPECT_EQ(sentence.rfind("some/config.json: ", 0), 0u) << broken.change << "\n" << sentence;
    for (const std::string& part : broken.mentions)
      EXPECT_NE(sentence.find(part), std::string::npos) << broken.change << "\n" << sentence << "\nlacks: " << part;
  }
}

TEST(BrokenConfig, IsNotSeenInAWholeNumberThatIsWrittenWithAPoint) {
  json config = small_llama();
  config["hidden_size"] = 64.0;
  EXPECT_EQ(read_config(config, "some/config.json").d_model, 64);
}

TEST(BrokenConfig, IsRefusedWhenItIsNoObject) {
  for (const json& value : {json(nullptr), json(3), json("text"), json::array({1, 2}), json(true)})
    EXPECT_NE(complaint(value).find("expected an object"), std::string::npos) << value;
}

TEST(BrokenConfig, NestedAHundredThousandDeepIsAnErrorAndNoCrash) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const std::pair<const char*, const char*> cases[] = {
      {"llama", "rope_scaling"},        {"gemma2", "layer_types"}, {"gpt_neo", "attention_types"},
      {"qwen3_moe", "mlp_only_layers"}, {"gpt2", "n_embd"},        {"llama", "unknown"}};
  for (const auto& [type, field] : cases) {
    json config = small_llama();
    config["model_type"] = type;
    config[field] = json::parse(deep);
    EXPECT_NE(complaint(config).find("some/config.json: "), std::string::npos) << field;
  }
}

TEST(BrokenConfig, NestedDeeperThanAnyConfigIsRefusedWhileItIsRead) {
  const std::string text = "{\"x\": " + std::string(50000, '[') + std::string(50000, ']') + "}";
  try {
    parse_json(text, "some/config.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "some/config.json: nested more than 256 deep");
  }
}

// Every field of a working config is replaced by every kind of wrong value: the reader accepts or throws an Error.
TEST(BrokenConfig, NeverEscapesWithAnotherExceptionWhateverTheValue) {
  const std::vector<json> values = {nullptr,
                                    true,
                                    false,
                                    0,
                                    -1,
                                    1,
                                    7,
                                    1e300,
                                    -1e300,
                                    0.5,
                                    "",
                                    "text",
                                    json::array(),
                                    json::array({1}),
                                    json::object(),
                                    json::object({{"a", json::array({nullptr})}}),
                                    18446744073709551615u,
                                    std::int64_t{-9223372036854775807}};
  std::set<std::string> fields = {"rope_parameters", "layer_types", "num_ln_in_parallel_attn",
                                  "ff_factor"};  // and all of the presets
  for (const Preset& preset : presets()) {
    const json config = json::parse(preset.config);
    for (const auto& [name, value] : config.items()) fields.insert(name);
  }
  for (const std::string& type : model_types())
    for (const std::string& field : fields)
      for (const json& value : values) {
        json config = small_llama();
        config["model_type"] = type;
        for (const char* own : {"n_embd", "n_layer", "n_head", "num_layers", "num_heads"}) config.erase(own);
        config[field] = value;
        try {
          read_config(config, "config.json");
        } catch (const Error&) {
        }
      }
}

}  // namespace
}  // namespace reckon
