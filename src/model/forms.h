// What the readers of several families share beyond the common form (families.h).
#pragma once

#include <map>
#include <string>

#include "model/families.h"

namespace reckon {

// read_llama.cpp
Form llama_form(Fields& config);
Form layer_norm_form(Text epsilon_field, bool bias);
Form gemma_form(Fields& config, std::int64_t n_kv_heads);
struct Caps {
  double scores, logits;  // defaults of the soft caps
};
Model read_gemma2_form(Fields& config, Form form, Caps caps);
void read_multipliers(Fields& config, Model& model);  // Granite's, of embedding and logits
Form granite_form(Fields& config);
void name_norms_after(FamilyNames& names);  // norms on both sides of each sublayer, or only after it
void name_phi3(FamilyNames& names);         // fused gate and up, and query, key and value

// read_gpt.cpp
Form gpt_form();
void rename_sizes(Fields& config);  // GPT-2's names
extern const std::initializer_list<Text> summary_fields;
Model read_gpt2(Fields& config);
void expect_gptj(Fields& config);  // what GPT-J's code could leave out
void name_gpt(FamilyNames& names);
void name_gpt2(FamilyNames& names);
void name_gptj(FamilyNames& names);
void name_opt(FamilyNames& names);
void name_megatron(FamilyNames& names);

// read_more_mixtures.cpp
// MiniMax says in two ways how many elements of a head are rotated.
void expect_rotary_dim(Fields& config, const Model& model);

// read_mixture.cpp
// A mixture with the form's feed-forward as each expert, and so many experts where the config does not say how many
// there are and how many a token takes (0: it must say).
Mixture read_experts(Fields& config, const Model& model, std::int64_t experts, std::int64_t active);
// The feed-forwards of these layers become this mixture.
void set_mixture(
    Model& model, const Mixture& mixture, const LayerRule& sparse = [](std::int64_t) { return true; });
// Which layers have experts: `mlp_only_layers` and `decoder_sparse_step` (Qwen).
LayerRule read_sparse_steps(Fields& config);
extern const MixtureNames fused_experts;
Model read_mixtral(Fields& config);
void name_experts(FamilyNames& names);  // one by one, mlp.experts.N.gate_proj
void name_mixtral(FamilyNames& names);
void name_deepseek(FamilyNames& names);

// read_latent.cpp
struct LatentDefaults {
  std::int64_t query_rank = 1536, kv_rank = 512, d_nope = 128, d_rope = 64, d_value = 128;
};
// Latent attention; what is different in a family's form is changed afterwards.
Form latent_form(Fields& config, const LatentDefaults& defaults);
Model read_latent_form(Fields& config, const Form& form);
// DeepSeek V3's mixture: sigmoids that a correction moves, and shared experts. These are a family's defaults; its names
// of the fields are DeepSeek's, or renamed before.
struct SigmoidMixture {
  std::int64_t experts = 0, active = 0, shared = 1, d_expert = 0, groups = 1, active_groups = 1;
  double scale = 1.0;
  bool normalize = true;
};
Mixture read_sigmoid_mixture(Fields& config, const Model& model, const SigmoidMixture& defaults);
// V3's network: latent attention, and that mixture in the layers from `first` on.
Model read_third(Fields& config, Form form, const SigmoidMixture& defaults, std::int64_t first);
// Which layers are sparse: `mlp_layer_types` if the config has it, else those from `first_k_dense_replace` on.
LayerRule read_sparse_layers(Fields& config, const Model& model, std::int64_t first);

// read_streams.cpp
// Where `per_layer_config` says something of a layer: under its number, which may begin with zeros.
std::map<std::size_t, std::string> read_layer_names(const Fields& each, std::size_t layers);

// read_inkling.cpp
// A word for each layer, of two; `usual` where the config has none.
std::vector<bool> read_words(Fields& config, const char* field, const char* yes, const char* no,
                             std::vector<bool> usual);

// read_dense.cpp
// Layers that keep their rotary positions: where the window is, or where `no_rope_layers` says so.
void keep_rope_where_windowed(Model& model);
void read_rope_layers(Fields& config, Model& model);
void read_granite_windows(Fields& config, Model& model);  // and a RoPE base for each layer
Model read_olmo2_form(Fields& config, Form form);         // norms after each sublayer
Form exaone4_form(Fields& config);
void read_exaone4_windows(Fields& config, Model& model);
Form hunyuan_form(Fields& config);
void name_hunyuan(FamilyNames& names);
Form cohere2_form(Fields& config);
// Every `pattern`-th layer, as `sliding_window_pattern` or the family says, sees all; the others a window.
void read_pattern_windows(Fields& config, Model& model, std::int64_t window, std::int64_t pattern,
                          const Ropes* ropes = nullptr);

}  // namespace reckon
