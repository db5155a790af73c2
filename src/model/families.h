// What the readers of the families share: one form that nearly all of them have, which each then adjusts.
#pragma once

#include <reckon/model.h>

#include <functional>
#include <string>
#include <vector>

#include "model/fields.h"
#include "model/read_rope.h"
#include "model/sublayers.h"

namespace reckon {

// The form of most decoders: embedding, blocks of attention and feed-forward with a norm before each, final norm, head.
// The values are LLaMA's; a family's reader sets what is different. Defaults are those of Hugging Face transformers.
struct Form {
  Norm norm{Norm::Kind::rms, 1e-6, true, false, false};
  std::string epsilon = "rms_norm_eps";  // the field with the norm's epsilon
  std::string activation = "silu";       // where hidden_act is missing
  bool gated = true;
  bool attention_bias = false;  // on all four projections
  bool feed_forward_bias = false;
  bool rotary = true;
  RopeDefaults rope;
  std::int64_t n_kv_heads = 0;  // where num_key_value_heads is missing; 0 = as many as heads
  std::int64_t d_head = 0;      // where head_dim is missing; 0 = d_model / heads
  std::int64_t widening = 0;    // d_ff = widening · d_model where intermediate_size is missing; 0 = it is required
  std::int64_t context = 2048;  // where max_position_embeddings is missing
  bool tied = false;            // where tie_word_embeddings is missing
};

// Reads what the form covers. Field names are LLaMA's; a family that calls them otherwise renames them first.
Model read_form(Fields& config, const Form& form);

void set_attention_bias(Attention& attention, bool query_key_value, bool output);

// Every sublayer reads what entered its layer: behind a norm of its own, or all behind the first one's.
void set_parallel(Model& model, bool one_norm);

// The layer's feed-forward becomes this mixture.
void set_mixture(Layer& layer, const Mixture& mixture);

// Which layers attend to a window only: `layer_types` if the config has it, else `slides(layer)`.
// Those layers take the window and, where the family has one, the sliding RoPE.
void read_windows(Fields& config, Model& model, std::int64_t window, const std::function<bool(std::int64_t)>& slides,
                  const Ropes* ropes = nullptr);

Activation read_activation(Fields& config, const std::string& field, const std::string& fallback);

using Reader = Model (*)(Fields&);

// One per model_type.
Model read_gpt2(Fields& config);
Model read_gpt_neo(Fields& config);
Model read_gptj(Fields& config);
Model read_gpt_neox(Fields& config);
Model read_opt(Fields& config);
Model read_bloom(Fields& config);
Model read_falcon(Fields& config);
Model read_phi(Fields& config);

Model read_llama(Fields& config);
Model read_arcee(Fields& config);
Model read_mistral(Fields& config);
Model read_qwen2(Fields& config);
Model read_qwen3(Fields& config);
Model read_gemma(Fields& config);
Model read_gemma2(Fields& config);
Model read_gemma3_text(Fields& config);
Model read_phi3(Fields& config);
Model read_olmo2(Fields& config);
Model read_starcoder2(Fields& config);
Model read_stablelm(Fields& config);
Model read_cohere(Fields& config);
Model read_granite(Fields& config);

Model read_mixtral(Fields& config);
Model read_qwen3_moe(Fields& config);
Model read_deepseek_v2(Fields& config);
Model read_deepseek_v3(Fields& config);
Model read_gpt_oss(Fields& config);

}  // namespace reckon
