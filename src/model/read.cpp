#include "model/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <map>

#include "model/families.h"
#include "model/nested.h"
#include "model/read_predictors.h"
#include "model/types.h"
#include "model/validate.h"

namespace reckon {

namespace {

// By model_type.
const std::map<std::string_view, Family>& families() {
  static const std::map<std::string_view, Family> all = [] {
    std::map<std::string_view, Family> table;
    for (const std::vector<Family>& some :
         {gpt_families(), later_gpt_families(), llama_families(), dense_families(), mixture_families(),
          more_mixture_families(), gated_families(), latent_families(), recurrent_families(), wrapped_families(),
          stream_families(), routed_families(), sparse_families(), zamba_families(), step_families(),
          inkling_families(), zaya_families(), deepseek_v4_families()})
      for (const Family& family : some) table.emplace(family.type, family);
    return table;
  }();
  return all;
}

// Fields that may stand in any config.json and never change what the network is: those of transformers' base class
// (PreTrainedConfig, in all its versions) and what common tools add.
const std::initializer_list<Text> harmless = {
    // what the file is and who wrote it
    "auto_map", "transformers_version", "_name_or_path", "_commit_hash", "name_or_path", "license", "tokenizer_class",
    "is_composition", "is_llama_config", "unsloth_version", "unsloth_fixed", "unsloth_training",
    "transformers.js_config", "custom_pipelines", "reckon_about",
    // how weights are stored or computed: their number stays the same
    "torch_dtype", "dtype", "use_bfloat16", "torchscript", "fp16", "bf16", "xla_device", "_attn_implementation",
    "_attn_implementation_autoset", "_attn_implementation_internal", "attn_implementation", "_experts_implementation",
    "_experts_implementation_internal", "experts_implementation", "_flash_attn_2_enabled", "use_flash_attn",
    "use_flash_attention", "flash_attn", "fused_dense", "fused_bias_fc", "use_cache", "pretraining_tp",
    "cache_implementation",
    // how weights were made
    "initializer_range", "init_std", "layerdrop", "gradient_checkpointing", "initializer_factor",
    "router_aux_loss_coef", "router_z_loss_coef", "router_jitter_noise", "neftune_noise_alpha",
    // what calls return
    "output_attentions", "_output_attentions", "output_hidden_states", "output_past", "output_router_logits",
    "return_dict", "return_dict_in_generate", "keys_to_ignore_at_inference",
    // generation
    "max_length", "min_length", "max_new_tokens", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
    "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
    "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens",
    "task_specific_params", "prefix", "model_max_length", "max_sequence_length",
    // other tasks' heads, and encoders, of which there is none
    "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task", "chunk_size_feed_forward",
    "tf_legacy_loss", "is_decoder", "tie_encoder_decoder", "cross_attention_hidden_size"};

void expect_decoder(Fields& fields) { fields.expect_off("is_encoder_decoder", "false: only decoders are supported"); }

}  // namespace

void read_common(Fields& fields) {
  fields.ignore(harmless);
  expect_decoder(fields);
  fields.expect_off("pruned_heads", "empty: pruned heads are not supported");
  if (fields.number("rope_ratio", 1.0) != 1.0) fields.fail("rope_ratio", "1");
  fields.expect_off("use_mrope", "false: positions have one axis");
}

namespace {

Model read_network(Fields& fields) {
  const bool state_spaces = !fields.has("model_type") && fields.has("ssm_cfg");
  if (!fields.has("model_type") && !state_spaces)
    fields.fail("model_type", fmt::format("one of the {} that are known", model_types().size()));
  const std::string type = state_spaces ? "mamba" : fields.word("model_type", "");
  const Family* family = find_family(type);
  if (family == nullptr) refuse_type(fields, type);
  read_common(fields);
  Model model = state_spaces ? read_state_spaces(fields) : family->read(fields);
  if (!state_spaces) model.family = family->network.empty() ? family->type : family->network;
  fields.refuse_unread(type);
  return model;
}

// `nest` is null where the language model's fields are at the top.
void note_nesting(const nlohmann::json& config, const char* nest, std::vector<std::string>& notes) {
  std::vector<std::string> others;
  for (const auto& [name, value] : config.items()) {
    const bool model = nest == nullptr ? name == "vision_config"
                                       : name.ends_with("_config") && name != nest && name != "quantization_config" &&
                                             name != "transformers.js_config" && name != "compression_config" &&
                                             name != "mtp_config";
    if (model && value.is_object()) others.push_back(name);
  }
  if (nest == nullptr && others.empty()) return;
  const std::string read = fmt::format("only the language model{} is read", nest ? fmt::format(", {},", nest) : "");
  notes.push_back(others.empty()
                      ? read
                      : fmt::format("{}: {} and what joins it to that are left out", read, fmt::join(others, ", ")));
}

// GPT2LMHeadModel, LlamaForCausalLM, Gemma3ForConditionalGeneration; not LlamaForSequenceClassification or LlamaModel.
bool predicts_tokens(const std::string& architecture) {
  constexpr std::array heads{"LMHead", "CausalLM", "ConditionalGeneration", "ImageTextToText", "DoubleHeads", "Chat"};
  return std::any_of(heads.begin(), heads.end(),
                     [&](const char* head) { return architecture.find(head) != std::string::npos; });
}

void note_head(Fields& fields, std::vector<std::string>& notes) {
  const nlohmann::json* found = fields.value("architectures");
  if (found == nullptr || !found->is_array()) return;
  std::string other;
  for (const nlohmann::json& name : *found) {
    if (!name.is_string()) continue;
    if (predicts_tokens(name.get<std::string>())) return;
    other = describe(name);
  }
  if (other.empty()) return;
  notes.push_back(
      other.find("For") == std::string::npos
          ? fmt::format("{} has no head; that of a language model is taken all the same", other)
          : fmt::format("the head of {} is left out; that of a language model is taken in its place", other));
}

void note_quantization(Fields& fields, std::vector<std::string>& notes) {
  for (const char* name : quantization_fields) fields.ignore({name});
  for (const char* name : quantization_fields) {
    const nlohmann::json* found = fields.value(name);
    if (found == nullptr) continue;
    if (!found->is_object()) fields.fail(name, "an object");
    if (found->empty()) continue;
    const auto method = found->find("quant_method");
    notes.push_back(
        fmt::format("its files are quantized ({}{}); parameters are counted as plain numbers, without scales", name,
                    method != found->end() && method->is_string() ? ": " + describe(*method) : ""));
    return;
  }
}

// Engines keep states of recurrences in the type that these name; reckon, as transformers, in float32.
void note_states(Fields& network, std::vector<std::string>& notes) {
  for (const char* name : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}) {
    const std::string type = network.word(name, "float32");
    if (type != "float32")
      notes.push_back(fmt::format("{} is {}; states of recurrences are counted in float32", name, describe(type)));
  }
}

// What the file says beyond the network, a sentence each: another head, quantized weights, parts that are left
// out. `nest` is the field that holds the language model, or null. Marks what it reads.
std::vector<std::string> config_notes(const char* nest, Fields& file, Fields& network) {
  std::vector<std::string> notes;
  note_nesting(file.json(), nest, notes);
  note_head(file, notes);
  note_quantization(file, notes);
  if (nest != nullptr) note_quantization(network, notes);
  return notes;
}

// Sizes that a wrapper has at the top, too, are those of its language model.
void expect_same_sizes(Fields& file, const Fields& network, const char* nest) {
  for (const char* name :
       {"hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size", "num_attention_heads"}) {
    const nlohmann::json *outer = file.value(name), *inner = network.value(name);
    if (outer != nullptr && inner != nullptr && *outer != *inner)
      file.fail(name, fmt::format("{}, as in {}", describe(*inner), nest));
  }
}

}  // namespace

const std::vector<OtherName>& other_names() {
  static const std::vector<OtherName> names{
      {"AXK1", "axk1"}, {"aria_moe_lm", "aria_text"}, {"minimax_m1", "minimax"}, {"minimax_text_01", "minimax"}};
  return names;
}

const Family* find_family(std::string_view type) {
  for (const OtherName& other : other_names())
    if (other.name == type) type = other.type;
  const auto found = families().find(type);
  return found == families().end() ? nullptr : &found->second;
}

const std::vector<std::string>& model_types() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [type, family] : families()) all.emplace_back(type);
    return all;
  }();
  return names;
}

Model read_config(const nlohmann::json& config, const std::string& where) {
  Fields file(config, where);
  return read_config(file);
}

Model read_config(Fields& file) {
  const char* nest = nested_language_model(file.json());
  std::optional<Fields> inner;
  if (nest != nullptr) {
    if (const std::string_view why = why_not_read(file.word("model_type", "")); !why.empty())
      file.fail("model_type", fmt::format("one of the {} that are known: {}", model_types().size(), why));
    inner = file.object(nest);
    inner->assume(what_is_left_out(file.json(), nest));
    if (const std::string outer = file.word("model_type", ""); outer == "idefics3" || outer == "smolvlm") {
      inner->ignore({"perceiver_config", "pixel_shuffle_factor"});  // how pictures become tokens
      inner->expect_off("qk_layer_norms", "false");
    }
  }
  Fields& fields = inner ? *inner : file;
  std::vector<std::string> notes = config_notes(nest, file, fields);
  const FurtherLayers further = read_further_layers(file, fields);
  // The whole's architectures say what is there; how many tokens a picture is.
  if (nest != nullptr) fields.ignore({"architectures", "num_image_tokens"});
  Model model = read_network(fields);
  if (nest != nullptr) {
    expect_same_sizes(file, fields, nest);
    expect_decoder(file);
  }
  // A wrapper's own word on the head holds, whatever its language model says.
  if (nest != nullptr) model.head.tied = file.flag("tie_word_embeddings", model.head.tied);
  model.name = file.where();
  model.about = fields.word("reckon_about", "");
  note_states(fields, notes);
  if (further.layers > 0) notes.push_back(add_predictors(file, fields, further, model));
  model.notes = std::move(notes);
  validate(model);
  return model;
}

}  // namespace reckon
