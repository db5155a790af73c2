// The families of models: one form that nearly all of them have, and the table of what is different in each.
#pragma once

#include <reckon/model.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fields.h"
#include "model/stored_names.h"
#include "model/sublayers.h"

namespace reckon {

// Rotary positions as a config.json gives them: the older `rope_theta` + `rope_scaling`, and the newer
// `rope_parameters`, which may hold one set for each type of layer.
struct RopeDefaults {
  double theta = 10000.0;
  double fraction = 1.0;       // of a head that is rotated
  double sliding_theta = 0.0;  // of the sliding layers; 0 = the same
  bool interleaved = false;
  double sliding_fraction = 0.0;  // of the sliding layers; 0 = the same
  bool of_whole_head = false;     // latent attention: a fraction is of the whole head, not of its rotated part
  // What `rope_parameters` calls those of each type of layer.
  Text full_key = "full_attention", sliding_key = "sliding_attention";
};

struct Ropes {
  Rope full, sliding;
};

// `d_head` is what a fraction is taken of; `context` stands in where the scaling does not say what it starts from.
Ropes read_rope(Fields& config, const RopeDefaults& defaults, std::int64_t d_head, std::int64_t context);

// YaRN's factor on what the rotation yields: 0.1·m·ln(factor) + 1 (Peng et al. 2023, eq. 22).
double yarn_mscale(double factor, double mscale);

// The form of most decoders: embedding, blocks of attention and feed-forward with a norm before each, final norm, head.
// The values are LLaMA's; a family's reader sets what is different. Defaults are those of Hugging Face transformers.
struct Form {
  Norm norm{Norm::Kind::rms, 1e-6, true, false, false};
  Text epsilon_field = "rms_norm_eps";  // where the config has the norm's epsilon; empty: nowhere
  bool norm_before = true, norm_after = false, norm_residual = false;  // where norms stand around a sublayer
  bool query_key_norm = false;  // on queries and keys too: over attention.norm_span, without a bias if own_head
  // What the sizes do not say: window, ALiBi, sinks, soft cap, a latent … (scale 0: 1/√d_head; d_value 0: d_head)
  Attention attention;
  bool attention_bias = false;   // on all four projections
  std::optional<bool> qkv_bias;  // …but of query, key and value, where it is another
  bool rotary = true;
  RopeDefaults rope;
  std::int64_t n_kv_heads = 0;  // where num_key_value_heads is missing; 0 = as many as heads
  std::int64_t d_head = 0;      // where head_dim is missing; 0 = d_model / heads
  Text activation = "silu";     // where hidden_act is missing
  bool gated = true;
  bool feed_forward_bias = false;
  std::int64_t widening = 0;  // d_ff = widening · d_model where intermediate_size is missing; 0 = it is required
  std::int64_t d_ff = 0;      // where the family itself says it; 0: intermediate_size does
  // What the feed-forward reads. Not the stream: a parallel block, behind a norm of its own or attention's.
  Sublayer::Reads feed_forward_reads = Sublayer::Reads::stream;
  double residual_scale = 1.0;
  std::int64_t context = 2048;  // where max_position_embeddings is missing
  bool tied = false;            // where tie_word_embeddings is missing
};

// Reads what the form covers. Field names are LLaMA's; a family that calls them otherwise renames them first.
Model read_form(Fields& config, const Form& form);

// One field of this name says whether all projections have biases.
void read_bias(Fields& config, Form& form, Text name, bool fallback);

using LayerRule = std::function<bool(std::int64_t layer)>;

// Which layers attend to a window only: `layer_types` if the config has it, else `slides(layer)`.
// Those layers take the window and, where the family has one, the sliding RoPE.
void read_windows(Fields& config, Model& model, std::int64_t window, const LayerRule& slides,
                  const Ropes* ropes = nullptr);

// The window of a config whose windows hold only where use_sliding_window says so; else 0.
std::int64_t read_used_window(Fields& config);

// What to know of a model_type: how its config is read, and what its tensors are called in files.
struct Family {
  // The sizes of transformers' class, for a config that is nested in another: transformers writes there only what
  // differs from them. All 0: nobody nests it.
  struct Sizes {
    std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads;
  };
  std::string_view type;
  Model (*read)(Fields&);
  Sizes sizes{};
  void (*name)(FamilyNames&) = [](FamilyNames&) {};  // changes LLaMA's names to its own
  std::string_view network{};  // the family whose network this is under another name; empty: its own
};

std::vector<Family> gpt_families(), later_gpt_families(), llama_families(), dense_families(), mixture_families(),
    more_mixture_families(), gated_families(), latent_families(), recurrent_families(), wrapped_families(),
    stream_families(), routed_families(), sparse_families(), zamba_families(), step_families(), inkling_families(),
    zaya_families(), deepseek_v4_families();

// A config.json without a model_type, of the package mamba_ssm: it has the field `ssm_cfg`.
Model read_state_spaces(Fields& config);

// What a maker's own files call a type that transformers has under another name.
struct OtherName {
  std::string_view name, type;
};
const std::vector<OtherName>& other_names();

// nullptr where there is none of that model_type, or other name of one.
const Family* find_family(std::string_view type);

// What may stand in any family's config, and is read or refused before the family reads its own.
void read_common(Fields& fields);

// An error that says which types this config resembles, where its own is not known.
[[noreturn]] void refuse_type(const Fields& fields, const std::string& type);

}  // namespace reckon
