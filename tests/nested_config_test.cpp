// The language model inside a multimodal config.json, and what is said of what is left out.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <nlohmann/json.hpp>

#include "family_references.h"
#include "model/changed_config.h"
#include "model/families.h"
#include "model/read.h"

namespace reckon {
namespace {

using nlohmann::json;
using Notes = std::vector<std::string>;

// As published, the image processor's ids and the rest of the vision tower aside.
const char* const gemma3_4b = R"({"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999,
    "eoi_token_index": 256000, "eos_token_id": [1, 106], "image_token_index": 262144, "initializer_range": 0.02,
    "mm_tokens_per_image": 256, "model_type": "gemma3", "text_config": {"hidden_size": 2560,
    "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0,
    "rope_type": "linear"}, "sliding_window": 1024}, "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0",
    "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,
    "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14}})";

Model read_nested(const std::string& text) { return read_config(json::parse(text), "config.json"); }

json small_llama() {
  return {{"model_type", "llama"},    {"hidden_size", 64},        {"num_hidden_layers", 2}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"intermediate_size", 128}, {"vocab_size", 100}};
}

std::string complaint(const json& config) {
  try {
    read_config(config, "config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

Notes notes(const json& changes) {
  json config = small_llama();
  config.merge_patch(changes);
  return read_config(config, "config.json").notes;
}

TEST(NestedConfig, GemmaThreesLanguageModelIsReadWithTheSizesThatAreLeftOut) {
  const Model model = read_nested(gemma3_4b);
  EXPECT_EQ(model.family, "gemma3_text");
  EXPECT_EQ(model.vocab_size, 262208);  // Gemma3TextConfig's
  EXPECT_EQ(model.layers.size(), 34u);
  // Layer: 2·2,560·2,048 + 2·2,560·1,024 + 3·2,560·10,240 + 4·2,560 + 2·256. The technical report (table 1) has 3,209M
  // outside the embedding.
  EXPECT_EQ(count_parameters(model), std::int64_t{34} * 94'382'592 + 2560 + 262'208 * 2560);
  EXPECT_EQ(model.notes, Notes{"only the language model, text_config, is read: vision_config and what joins it to that "
                               "are left out"});
}

TEST(NestedConfig, TheLanguageModelsOfTodaysWrappersAreRead) {
  const std::pair<const char*, const char*> wrappers[] = {
      {"llama4", "llama4_text"},
      {"qwen3_vl", "qwen3_vl_text"},
      {"qwen3_vl_moe", "qwen3_vl_moe_text"},
      {"qwen2_vl", "qwen2_vl_text"},
      {"mistral3", "mistral"},
      {"qwen2_5_vl", "qwen2_5_vl_text"},
      {"mistral3", "ministral3"},
      {"kimi_k25", "deepseek_v3"},
      {"glm4v", "glm4v_text"},
      {"exaone4_5", "exaone4"},
      {"glm4v_moe", "glm4v_moe_text"},
      {"cohere_compass", "cohere_compass_text"},
      {"gemma3", "gemma3_text"},
      {"aria", "aria_text"},
      {"gemma4", "gemma4_text"},
      {"gemma3n", "gemma3n_text"},
      {"gemma4_unified", "gemma4_unified_text"},
  };
  for (const auto& [outer, type] : wrappers) {
    json text = small_llama();
    text["model_type"] = type;
    if (std::string_view(type) == "deepseek_v3") text.erase("num_key_value_heads");
    const json config = {{"model_type", outer}, {"text_config", text}, {"vision_config", json::object({{"depth", 2}})}};
    const Model model = read_config(config, "config.json");
    const std::string_view network = find_family(type)->network;
    EXPECT_EQ(model.family, network.empty() ? type : network) << outer;
    EXPECT_EQ(model.notes.front(),
              "only the language model, text_config, is read: vision_config and what joins it to "
              "that are left out");
  }
}

TEST(NestedConfig, AWrappersTieHoldsWhateverItsLanguageModelSays) {
  json text = small_llama();
  text["model_type"] = "qwen3_vl_text";
  json config = {{"model_type", "qwen3_vl"}, {"text_config", text}, {"tie_word_embeddings", true}};
  EXPECT_TRUE(read_config(config, "config.json").head.tied);
  config["text_config"]["tie_word_embeddings"] = false;
  EXPECT_TRUE(read_config(config, "config.json").head.tied);
  config.erase("tie_word_embeddings");
  EXPECT_FALSE(read_config(config, "config.json").head.tied);
}

// SmolVLM's text_config says how pictures become tokens, too.
TEST(NestedConfig, SmolVLMsLanguageModelIsLlama) {
  json text = small_llama();
  const json config = {{"model_type", "smolvlm"}, {"text_config", text}};
  const Model model = read_config(config, "config.json");
  text.update({{"neftune_noise_alpha", 0.0},
               {"perceiver_config", {{"resampler_depth", 6}}},
               {"pixel_shuffle_factor", 4},
               {"qk_layer_norms", false},
               {"use_resampler", false}});
  json with_word = config;
  with_word["transformers.js_config"] = json::object();  // which is no other model
  EXPECT_EQ(read_config(with_word, "config.json").notes, model.notes);
  for (const char* outer : {"smolvlm", "idefics3"})
    EXPECT_EQ(read_config({{"model_type", outer}, {"text_config", text}}, "config.json"), model) << outer;
  EXPECT_NE(complaint({{"model_type", "llava"}, {"text_config", text}}).find("perceiver_config"), std::string::npos);
  text["qk_layer_norms"] = true;
  EXPECT_NE(complaint({{"model_type", "smolvlm"}, {"text_config", text}}).find("qk_layer_norms is true"),
            std::string::npos);
}

TEST(NestedConfig, SizesAtTheTopAreThoseOfTheLanguageModel) {
  json text = small_llama();
  text["model_type"] = "qwen3_vl_text";
  const json config = {{"model_type", "qwen3_vl"}, {"text_config", text}};
  const Model model = read_config(config, "config.json");
  for (const char* size :
       {"hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size", "num_attention_heads"}) {
    json other = config;
    other[size] = text[size];
    EXPECT_EQ(read_config(other, "config.json"), model) << size;
    other[size] = 77;
    EXPECT_EQ(complaint(other),
              fmt::format("config.json: {} is 77; expected {}, as in text_config", size, text[size].dump()));
  }
  json none = config;  // then it is 151936, as transformers' class has it
  none["text_config"].erase("vocab_size");
  none["vocab_size"] = 128;
  EXPECT_EQ(complaint(none), "config.json: vocab_size is 128; expected 151936, as in text_config");
}

TEST(NestedConfig, QwenTwoVLMayHaveItsLanguageModelAtTheTop) {
  json config = small_llama();
  config.update({{"model_type", "qwen2_5_vl"},
                 {"vision_config", {{"depth", 32}}},
                 {"rope_scaling", {{"type", "mrope"}, {"mrope_section", {16, 24, 24}}}}});
  const Model flat = read_config(config, "config.json");
  EXPECT_TRUE(find<Attention>(flat)->query_bias);
  EXPECT_EQ(find<Attention>(flat)->rope->scaling, Rope::Scaling::none);
  const Notes left{"only the language model is read: vision_config and what joins it to that are left out"};
  EXPECT_EQ(flat.notes, left);
  for (const char* name : {"qwen2_5_vl", "qwen2_vl", "qwen2_vl_2b"})
    EXPECT_EQ(read_config(family_references::read_json(family_references::folder() / "published" /
                                                       (name + std::string(".json"))),
                          name)
                  .notes,
              left);
  config.erase("vision_config");
  EXPECT_EQ(read_config(config, "config.json").notes, Notes{});
}

TEST(NestedConfig, LlavasLanguageModelHasTheSizesOfVicuna) {
  const Model model = read_nested(R"({"architectures": ["LlavaForConditionalGeneration"], "ignore_index": -100,
    "image_token_index": 32000, "model_type": "llava", "pad_token_id": 32001, "projector_hidden_act": "gelu",
    "text_config": {"_name_or_path": "lmsys/vicuna-7b-v1.5", "architectures": ["LlamaForCausalLM"],
    "max_position_embeddings": 4096, "model_type": "llama", "rms_norm_eps": 1e-05, "torch_dtype": "float16",
    "vocab_size": 32064}, "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.36.0.dev0",
    "vision_config": {"hidden_size": 1024, "model_type": "clip_vision_model"}, "vision_feature_layer": -2,
    "vision_feature_select_strategy": "default", "vocab_size": 32064})");
  EXPECT_EQ(count_parameters(model), 6'738'415'616 + 2 * 64 * 4096);  // LLaMA 2 7B with 64 tokens more
}

TEST(NestedConfig, MayCarryEveryFieldOfTransformersBaseClass) {
  const Model model = read_nested(R"({"model_type": "mistral3", "text_config": {"_attn_implementation_autoset": true,
    "_name_or_path": "", "add_cross_attention": false, "architectures": null, "attention_dropout": 0.0,
    "bad_words_ids": null, "begin_suppress_tokens": null, "bos_token_id": 1, "chunk_size_feed_forward": 0,
    "cross_attention_hidden_size": null, "decoder_start_token_id": null, "diversity_penalty": 0.0, "do_sample": false,
    "early_stopping": false, "encoder_no_repeat_ngram_size": 0, "eos_token_id": 2,
    "exponential_decay_length_penalty": null, "finetuning_task": null, "forced_bos_token_id": null,
    "forced_eos_token_id": null, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "initializer_range": 0.02, "intermediate_size": 32768,
    "is_composition": true, "is_decoder": false, "is_encoder_decoder": false, "label2id": {"LABEL_0": 0, "LABEL_1": 1},
    "length_penalty": 1.0, "max_length": 20, "max_position_embeddings": 131072, "min_length": 0,
    "model_type": "mistral", "no_repeat_ngram_size": 0, "num_attention_heads": 32, "num_beam_groups": 1,
    "num_beams": 1, "num_hidden_layers": 40, "num_key_value_heads": 8, "num_return_sequences": 1,
    "output_attentions": false, "output_hidden_states": false, "output_scores": false, "pad_token_id": null,
    "prefix": null, "problem_type": null, "pruned_heads": {}, "remove_invalid_values": false,
    "repetition_penalty": 1.0, "return_dict": true, "return_dict_in_generate": false, "rms_norm_eps": 1e-05,
    "rope_theta": 1000000000.0, "sep_token_id": null, "sliding_window": null, "suppress_tokens": null,
    "task_specific_params": null, "temperature": 1.0, "tf_legacy_loss": false, "tie_encoder_decoder": false,
    "tie_word_embeddings": false, "tokenizer_class": null, "top_k": 50, "top_p": 1.0, "torch_dtype": "bfloat16",
    "torchscript": false, "typical_p": 1.0, "use_bfloat16": false, "use_cache": true, "vocab_size": 131072},
    "vision_config": {}, "audio_config": {}})");
  EXPECT_EQ(model.d_model, 5120);
  EXPECT_EQ(model.notes, Notes{"only the language model, text_config, is read: audio_config, vision_config and what "
                               "joins it to that are left out"});
}

TEST(NestedConfig, ErrorsNameTheFieldInside) {
  json config = {{"model_type", "llava"}, {"text_config", small_llama()}};
  config["text_config"]["num_memory_blocks"] = 4;
  EXPECT_EQ(complaint(config),
            "config.json: text_config.num_memory_blocks is 4, which is not understood for llama and could change the "
            "count");
  config["text_config"] = {{"model_type", "llama9_text"}};
  EXPECT_NE(complaint(config).find("config.json: text_config.model_type is \"llama9_text\"; expected one of"),
            std::string::npos);
  config["text_config"] = json::object();
  EXPECT_NE(complaint(config).find("text_config.model_type is missing"), std::string::npos);
}

TEST(NestedConfig, IsNotLookedForInAFamilyThatIsKnown) {
  json config = small_llama();
  config["text_config"] = {{"model_type", "gpt2"}};
  EXPECT_NE(complaint(config).find("text_config is an object, which is not understood for llama"), std::string::npos);
}

TEST(NestedConfig, IsAConfigOfItsOwnOnceItsModelWasChanged) {
  const auto base = nlohmann::ordered_json::parse(gemma3_4b);
  Model model = read_config(base, "config.json");
  model.vocab_size = 512;
  const nlohmann::ordered_json changed = changed_config(base, model);
  EXPECT_EQ(changed["model_type"], "gemma3_text");
  EXPECT_EQ(changed["num_attention_heads"], 8);
  const Model again = read_config(changed, "config.json");
  EXPECT_EQ(again.vocab_size, 512);
  EXPECT_EQ(again.notes, Notes{});
}

TEST(ConfigNotes, SayThatAnotherHeadIsNotCounted) {
  EXPECT_EQ(notes({{"architectures", {"LlamaForCausalLM"}}}), Notes{});
  EXPECT_EQ(
      notes({{"architectures", {"LlamaForSequenceClassification"}}}),
      Notes{"the head of \"LlamaForSequenceClassification\" is left out; that of a language model is taken in its "
            "place"});
  EXPECT_EQ(notes({{"architectures", {"LlamaModel"}}}),
            Notes{"\"LlamaModel\" has no head; that of a language model is taken all the same"});
}

TEST(ConfigNotes, SayThatLayersThatPredictFurtherTokensOfAnotherFamilyAreNotCounted) {
  EXPECT_EQ(notes({{"num_nextn_predict_layers", 0}}), Notes{});
  EXPECT_EQ(notes({{"num_nextn_predict_layers", 1}}),
            Notes{"a further layer (num_nextn_predict_layers), which predicts a token after the next, is left out and "
                  "not counted"});
  EXPECT_EQ(notes({{"num_mtp_layers", 3}}),
            Notes{"3 further layers (num_mtp_layers), which predict tokens after the next, are left out and not "
                  "counted"});
}

TEST(ConfigNotes, SayThatQuantizedWeightsAreCountedAsPlainNumbers) {
  EXPECT_EQ(notes({{"quantization_config", nullptr}}), Notes{});
  const json bits = {{"group_size", 64}, {"bits", 4}};  // MLX writes both
  EXPECT_EQ(notes({{"quantization", bits}, {"quantization_config", bits}}),
            Notes{"its files are quantized (quantization_config); parameters are counted as plain numbers, without "
                  "scales"});
  EXPECT_EQ(notes({{"quantization_config", {{"quant_method", "fp8"}}}}),
            Notes{"its files are quantized (quantization_config: \"fp8\"); parameters are counted as plain numbers, "
                  "without scales"});
  json words = small_llama();
  words["quantization_config"] = "x";
  EXPECT_EQ(complaint(words), "config.json: quantization_config is \"x\"; expected an object");
}

}  // namespace
}  // namespace reckon
