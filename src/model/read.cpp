#include "model/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "model/families.h"
#include "model/nearest.h"
#include "model/validate.h"

namespace reckon {

namespace {

const std::map<std::string, Reader>& families() {
  static const std::map<std::string, Reader> all = {
      {"arcee", read_arcee},
      {"bloom", read_bloom},
      {"cohere", read_cohere},
      {"deepseek_v2", read_deepseek_v2},
      {"deepseek_v3", read_deepseek_v3},
      {"falcon", read_falcon},
      {"gemma", read_gemma},
      {"gemma2", read_gemma2},
      {"gemma3_text", read_gemma3_text},
      {"gpt2", read_gpt2},
      {"gpt_neo", read_gpt_neo},
      {"gpt_neox", read_gpt_neox},
      {"gpt_oss", read_gpt_oss},
      {"gptj", read_gptj},
      {"granite", read_granite},
      {"llama", read_llama},
      {"mistral", read_mistral},
      {"mixtral", read_mixtral},
      {"olmo2", read_olmo2},
      {"opt", read_opt},
      {"phi", read_phi},
      {"phi3", read_phi3},
      {"qwen2", read_qwen2},
      {"qwen3", read_qwen3},
      {"qwen3_moe", read_qwen3_moe},
      {"stablelm", read_stablelm},
      {"starcoder2", read_starcoder2},
  };
  return all;
}

// Fields that may stand in any config.json and never change what the network is.
const std::vector<std::string> harmless = {
    // what the file is and who wrote it
    "architectures", "auto_map", "transformers_version", "_name_or_path", "_commit_hash", "name_or_path", "license",
    "tokenizer_class", "is_llama_config", "unsloth_version", "unsloth_fixed", "unsloth_training",
    "transformers.js_config", "custom_pipelines",
    // how weights are stored or computed: their number stays the same (a quantized file holds extra scales, which are
    // elements of the file and not parameters of the model)
    "torch_dtype", "dtype", "quantization_config", "compression_config", "use_bfloat16", "torchscript", "fp16", "bf16",
    "_attn_implementation", "_attn_implementation_internal", "attn_implementation", "_flash_attn_2_enabled",
    "use_flash_attn", "use_flash_attention", "flash_attn", "fused_dense", "fused_bias_fc", "use_cache",
    "pretraining_tp", "cache_implementation",
    // how weights were made
    "initializer_range", "init_std", "layerdrop", "gradient_checkpointing", "initializer_factor",
    "router_aux_loss_coef", "router_jitter_noise",
    // what calls return
    "output_attentions", "output_hidden_states", "output_router_logits", "return_dict", "return_dict_in_generate",
    "keys_to_ignore_at_inference",
    // generation
    "max_length", "min_length", "max_new_tokens", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
    "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
    "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens",
    "task_specific_params", "prefix", "model_max_length", "max_sequence_length",
    // other tasks' heads
    "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task", "chunk_size_feed_forward",
    "tf_legacy_loss"};

}  // namespace

const std::vector<std::string>& model_types() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, reader] : families()) all.push_back(name);
    return all;
  }();
  return names;
}

Model read_config(const nlohmann::json& config, const std::string& where) {
  Fields fields(config, where);
  if (!fields.has("model_type")) fields.fail("model_type", fmt::format("one of {}", fmt::join(model_types(), ", ")));
  const std::string type = fields.word("model_type", "");
  const auto family = families().find(type);
  if (family == families().end()) {
    const std::string near = nearest(type, model_types());
    fields.fail("model_type", fmt::format("one of {}{}", fmt::join(model_types(), ", "),
                                          near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
  }

  fields.ignore(harmless);
  fields.expect_off("is_encoder_decoder", "false: only decoders are supported");
  fields.expect_off("pruned_heads", "empty: pruned heads are not supported");
  if (fields.number("rope_ratio", 1.0) != 1.0) fields.fail("rope_ratio", "1");
  Model model = family->second(fields);
  model.name = where;
  model.family = type;

  const std::vector<std::string> unread = fields.unread();
  if (!unread.empty())
    fields.refuse(fmt::format("{} is {}, which is not understood for {} and could change the count", unread.front(),
                              describe(config.at(unread.front())), type));
  validate(model);
  return model;
}

}  // namespace reckon
