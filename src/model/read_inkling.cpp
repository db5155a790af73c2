// Inkling: no rotation, but numbers that queries add by distance; short convolutions of keys, values and of what each
// sublayer makes; experts that every token takes, which the router weighs with the others.
#include <fmt/format.h>

#include "model/forms.h"

namespace reckon {

std::vector<bool> read_words(Fields& config, const char* field, const char* yes, const char* no,
                             std::vector<bool> usual) {
  const nlohmann::json* words = config.array(field);
  if (words == nullptr) return usual;
  if (words->size() != usual.size()) config.fail(field, fmt::format("{} entries, one per layer", usual.size()));
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if ((*words)[i] != yes && (*words)[i] != no) config.fail(field, fmt::format("an array of {} and {}", yes, no));
    usual[i] = (*words)[i] == yes;
  }
  return usual;
}

namespace {

// Which layers see a window: as `layer_types` says, those that are named by number, or all but every sixth.
std::vector<bool> read_sliding(Fields& config, std::size_t layers) {
  std::vector<bool> usual(layers);
  for (std::size_t i = 0; i < layers; ++i) usual[i] = (i + 1) % 6 != 0;
  if (const nlohmann::json* named = config.array("local_layer_ids")) {
    usual.assign(layers, false);
    for (const nlohmann::json& one : *named) {
      if (!one.is_number_unsigned() || one.get<std::size_t>() >= layers)
        config.fail("local_layer_ids", "an array of layer numbers");
      usual[one.get<std::size_t>()] = true;
    }
  }
  return read_words(config, "layer_types", "hybrid_sliding", "hybrid", std::move(usual));
}

Model read_inkling_text(Fields& config) {
  config.rename("num_local_experts", {"n_routed_experts", "num_local_experts"});
  // The maker's files call the experts' width so, and have another field for the dense layers'.
  const bool both = config.has("dense_intermediate_size");
  const std::int64_t d_expert =
      config.size("moe_intermediate_size", both ? config.size("intermediate_size", 3072) : 3072);
  if (both) config.rename("intermediate_size", {"dense_intermediate_size"});
  config.rename("max_position_embeddings", {"max_position_embeddings", "model_max_length"});
  config.rename("sliding_window", {"sliding_window_size", "sliding_window"});
  config.rename("conv_kernel_size", {"conv_kernel_size", "sconv_kernel_size"});
  Form form;
  form.rotary = false;
  form.query_key_norm = true;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 131072;
  form.attention.scale = 1.0 / static_cast<double>(config.size("head_dim", 128));
  form.attention.conv_width = config.size("conv_kernel_size", 4);
  form.attention.relative = Relative{config.size("d_rel", 16), config.size("rel_extent", 1024)};
  Model model = read_form(config, form);
  if (model.head.tied) config.fail("tie_word_embeddings", "false");
  model.embedding_norm = model.final_norm;
  model.head.scale = 1.0 / config.positive("logits_mup_width_multiplier", 24.0);
  if (const std::int64_t rows = config.count("unpadded_vocab_size", 0, 0); rows > 0 && rows < model.vocab_size) {
    model.padding_rows = model.vocab_size - rows;
    model.vocab_size = rows;
  }
  const std::size_t layers = model.layers.size();
  const std::vector<bool> slides = read_sliding(config, layers);
  std::optional<PositionScale> by_position;
  const double beta = config.number("log_scaling_alpha", 0.1);
  if (config.has("log_scaling_n_floor"))
    by_position = PositionScale{beta, config.positive("log_scaling_n_floor", 1.0), 1, true};
  Attention local = first_attention(model);
  local.n_heads = config.size("swa_num_attention_heads", 64);
  local.n_kv_heads = config.size("swa_num_key_value_heads", 16);
  local.d_head = local.d_value = config.size("swa_head_dim", 128);
  local.scale = 1.0 / static_cast<double>(local.d_head);
  local.window = local.relative->extent = config.size("sliding_window", 512);
  if (local.n_heads % local.n_kv_heads != 0)
    config.fail("swa_num_key_value_heads", fmt::format("a divisor of {}", local.n_heads));

  Mixture mixture = read_experts(config, model, 256, 6);
  if (!config.flag("shared_expert_sink", true)) config.fail("shared_expert_sink", "true");
  mixture.n_always = config.size("n_shared_experts", 2);
  mixture.n_experts += mixture.n_always;
  mixture.n_active += mixture.n_always;
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = mixture.normalize = mixture.scaled = true;
  mixture.scale = config.positive("route_scale", 8.0);
  mixture.expert.d_ff = d_expert;
  std::vector<bool> sparse(layers);
  const auto dense = static_cast<std::size_t>(config.count("dense_mlp_idx", 0));
  for (std::size_t i = 0; i < layers; ++i) sparse[i] = i >= dense;
  sparse = read_words(config, "mlp_layer_types", "sparse", "dense", std::move(sparse));
  for (std::size_t i = 0; i < layers; ++i)
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      sublayer.conv_width = first_attention(model).conv_width;
      if (auto* attention = std::get_if<Attention>(&sublayer.kind)) {
        attention->position_scale = by_position;
        if (slides[i]) *attention = local;
      } else if (sparse[i]) {
        sublayer.kind = mixture;
      } else {
        std::get<FeedForward>(sublayer.kind).scaled = true;
      }
    });
  config.expect_word("gate_activation", "sigmoid", "sigmoid");
  for (const char* on : {"norm_after_topk", "use_embed_norm", "use_gate_bias", "use_global_scale", "use_sconv"})
    config.expect_on(on, "true");
  for (const char* off : {"q_bias", "o_bias"}) config.expect_off(off, "false: this family has no such biases");
  // How many convolutions there are, an epsilon that nothing reads, and what predicts further tokens.
  config.ignore({"number_of_conv_states", "rms_norm_eps_moe_gate", "chain_hidden_post_norm", "mtp_hidden_states_first",
                 "mtp_local_layer_ids", "local_layer_ids", "dense_mlp_idx"});
  return model;
}

void name_inkling_text(FamilyNames& names) {
  names.embedding_norm = "embed_norm";
  names.mixtures = {{"mlp.gate", {.down = "mlp.experts.down_proj", .gate_up = "mlp.experts.gate_up_proj"}}};
  names.correction = "mlp.gate.e_score_correction_bias";
  names.shared = {.gate = "mlp.shared_experts.gate_proj",
                  .up = "mlp.shared_experts.up_proj",
                  .down = "mlp.shared_experts.down_proj"};
  names.relative = "self_attn.r_proj";
  names.profile = "self_attn.rel_logits_proj.proj";
  names.key_convolution = "self_attn.k_sconv.conv1d";
  names.value_convolution = "self_attn.v_sconv.conv1d";
  names.attention_convolution = "attn_sconv.conv1d";
  names.feed_forward_convolution = "mlp_sconv.conv1d";
  names.factor = "mlp.global_scale";
  names.mixture_factor = "mlp.gate.global_scale";
}

}  // namespace

std::vector<Family> inkling_families() {
  return {{"inkling_text", read_inkling_text, {201024, 6144, 24576, 66, 64}, name_inkling_text}};
}

}  // namespace reckon
