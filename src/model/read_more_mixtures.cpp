// Later families with a mixture of experts.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

void expect_rotary_dim(Fields& config, const Model& model) {
  const std::int64_t dims = first_attention(model).rope->dims;
  if (config.count("rotary_dim", 0) > 0)
    config.expect_size("rotary_dim", dims, fmt::format("{}, as partial_rotary_factor says", dims));
}

namespace {

void name_shared(FamilyNames& names, const FeedForwardNames& shared) { names.shared = shared; }

Model read_olmoe(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.attention.norm_span = Attention::NormSpan::all_heads;
  form.attention.clip = config.number("clip_qkv", 0.0);
  form.context = 4096;
  Model model = read_form(config, form);
  Mixture mixture = read_experts(config, model, 64, 8);
  mixture.normalize = config.flag("norm_topk_prob", false);
  set_mixture(model, mixture);
  return model;
}

Model read_flex_olmo(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.rope.theta = 5e5;
  form.context = 4096;
  Model model = read_olmo2_form(config, form);
  Mixture mixture = read_experts(config, model, 7, 5);
  mixture.normalize = config.flag("norm_topk_prob", false);
  set_mixture(model, mixture);
  return model;
}

void name_flex_olmo(FamilyNames& names) {
  name_norms_after(names);
  name_experts(names);
}

Model read_qwen2_moe(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.qkv_bias = config.flag("qkv_bias", true);
  form.n_kv_heads = 16;
  form.context = 32768;
  Model model = read_form(config, form);
  const std::int64_t window = read_used_window(config), below = config.count("max_window_layers", 28);
  read_windows(config, model, window,
               [=](std::int64_t layer) { return window > 0 && layer % 2 == 0 && layer < below; });
  Mixture mixture = read_experts(config, model, 60, 4);
  mixture.normalize = config.flag("norm_topk_prob", false);
  mixture.shared = mixture.expert;
  mixture.shared->d_ff = config.size("shared_expert_intermediate_size", 5632);
  mixture.shared_gate = true;
  mixture.expert.d_ff = config.size("moe_intermediate_size", 1408);
  set_mixture(model, mixture, read_sparse_steps(config));
  return model;
}

void name_qwen2_moe(FamilyNames& names) {
  name_experts(names);
  name_shared(names, {.gate = "mlp.shared_expert.gate_proj",
                      .up = "mlp.shared_expert.up_proj",
                      .down = "mlp.shared_expert.down_proj"});
}

Model read_mellum(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.rope = {5e5, 1.0, 1e4, false};
  form.n_kv_heads = 4;
  form.d_head = 128;
  form.context = 131072;
  Model model = read_form(config, form);
  const Ropes ropes = read_rope(config, form.rope, first_attention(model).d_head, model.context);
  read_windows(
      config, model, config.count("sliding_window", 1024, 0), [](std::int64_t) { return false; }, &ropes);
  Mixture mixture = read_experts(config, model, 64, 8);
  mixture.normalize = config.flag("norm_topk_prob", true);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 896);
  set_mixture(model, mixture, read_sparse_layers(config, model, 0));
  return model;
}

Model read_dots1(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.n_kv_heads = 32;
  Model model = read_form(config, form);
  const std::int64_t window = config.count("sliding_window", 4096, 0), first = config.count("max_window_layers", 62);
  read_windows(config, model, window, [=](std::int64_t layer) { return window > 0 && layer >= first; });
  set_mixture(model, read_sigmoid_mixture(config, model, {0, 0, 0, 1408, 1, 1, 1.0, false}),
              read_sparse_layers(config, model, 0));
  config.ignore({"use_sliding_window"});
  return model;
}

Model without_output_bias(Model model) {
  for_each<Attention>(model.layers, [](Attention& attention) { attention.output_bias = false; });
  return model;
}

Model read_glm4_moe(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = config.flag("use_qk_norm", false);
  form.rope.fraction = 0.5;
  form.n_kv_heads = 8;
  form.context = 131072;
  Model model = without_output_bias(read_form(config, form));
  set_mixture(model, read_sigmoid_mixture(config, model, {128, 8, 1, 1408, 1, 1, 1.0, true}),
              read_sparse_layers(config, model, 1));
  return model;
}

Model read_solar_open(Fields& config) {
  config.rename("intermediate_size", {"moe_intermediate_size"});
  config.ignore({"intermediate_size"});  // of dense layers, of which there is none
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 131072;
  config.expect_off("use_qk_norm", "false: this family has no such norms");
  Model model = without_output_bias(read_form(config, form));
  config.expect_size("moe_layer_freq", 1, "1: every layer");
  set_mixture(model, read_sigmoid_mixture(config, model, {128, 8, 1, 1280, 1, 1, 1.0, true}));
  config.expect_size("first_k_dense_replace", 0, "0: every layer has experts");
  return model;
}

Model read_exaone_moe(Fields& config) {
  Form form = exaone4_form(config);
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  config.rename("n_shared_experts", {"num_shared_experts"});
  form.n_kv_heads = 32;
  Model model = read_form(config, form);
  read_exaone4_windows(config, model);
  const LayerRule sparse = read_sparse_layers(config, model, 1);
  if (const nlohmann::json* again = config.array("is_moe_layer"))
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      if (again->size() != model.layers.size() || (*again)[i] != sparse(static_cast<std::int64_t>(i)))
        config.fail("is_moe_layer",
                    fmt::format("for each of the {} layers whether it has experts, as the rest of the file says",
                                model.layers.size()));
  set_mixture(model, read_sigmoid_mixture(config, model, {64, 8, 1, 1024, 1, 1, 2.5, true}), sparse);
  return model;
}

void name_exaone_moe(FamilyNames& names) {
  name_deepseek(names);
  names.correction = "mlp.e_score_correction_bias";
}

Model read_hy_v3(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  config.rename("n_shared_experts", {"num_shared_experts"});
  config.rename("routed_scaling_factor", {"router_scaling_factor"});
  config.rename("moe_intermediate_size", {"moe_intermediate_size", "expert_hidden_dim"});
  for (const char* on : {"moe_router_enable_expert_bias", "moe_router_use_sigmoid", "qk_norm", "route_norm"})
    config.expect_on(on, "true");
  Form form = llama_form(config);
  form.norm.epsilon = 1e-5;
  form.query_key_norm = true;
  form.rope.theta = 11158840.0;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 131072;
  Model model = read_form(config, form);
  set_mixture(model, read_sigmoid_mixture(config, model, {192, 8, 1, 1536, 1, 1, 2.826, true}),
              read_sparse_layers(config, model, 1));
  // About precision, and how experts are run.
  config.ignore({"enable_moe_fp32_combine", "enable_lm_head_fp32", "enable_attention_fp32_softmax", "use_grouped_mm"});
  return model;
}

void name_hy_v3(FamilyNames& names) {
  name_deepseek(names);
  for (MixtureNames& form : names.mixtures) form.router = "mlp.router.gate";
  names.correction = "mlp.expert_bias";
  name_shared(names,
              {.gate = "mlp.shared_mlp.gate_proj", .up = "mlp.shared_mlp.up_proj", .down = "mlp.shared_mlp.down_proj"});
}

Model read_minimax_m2(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  Form form;
  form.query_key_norm = true;
  form.attention.norm_span = Attention::NormSpan::all_heads;
  form.rope.theta = 5e6;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 196608;
  if (!config.flag("use_qk_norm", true)) config.fail("use_qk_norm", "true");
  if (!config.flag("use_routing_bias", true)) config.fail("use_routing_bias", "true");
  config.expect_word("qk_norm_type", "per_layer", "per_layer");
  config.expect_word("scoring_func", "sigmoid", "sigmoid");
  config.expect_off("shared_intermediate_size", "0: this family has no shared experts");
  if (const std::int64_t dims = config.count("rotary_dim", 0); dims > 0)
    form.rope.fraction = static_cast<double>(dims) / static_cast<double>(config.size("head_dim", 128));
  Model model = read_form(config, form);
  expect_rotary_dim(config, model);
  Mixture mixture = read_experts(config, model, 256, 8);
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = mixture.normalize = true;
  set_mixture(model, mixture);
  for (const char* of : {"full_attention", "linear_attention", "mlp"})
    if (const std::string name = fmt::format("layernorm_{}_beta", of); config.number(name, 1.0) != 1.0)
      config.fail(name, "1");
  if (const nlohmann::json* types = config.array("attn_type_list"))
    if (*types != nlohmann::json(model.layers.size(), 1))
      config.fail("attn_type_list", fmt::format("1 for every one of the {} layers: lightning attention is minimax's",
                                                model.layers.size()));
  // It has no dense feed-forward or expert for all; what predicts further tokens is left out.
  config.ignore({"mlp_intermediate_size", "shared_moe_mode", "mtp_transformer_layers", "use_mtp"});
  return model;
}

void name_minimax_m2(FamilyNames& names) {
  name_mixtral(names);
  names.correction = "block_sparse_moe.e_score_correction_bias";
}

Model read_ernie4_5_moe(Fields& config) {
  config.rename("num_local_experts", {"moe_num_experts", "num_experts"});
  config.rename("num_experts_per_tok", {"moe_k", "num_experts_per_tok"});
  Form form;
  form.norm.epsilon = 1e-5;
  read_bias(config, form, "use_bias", false);
  form.rope.theta = 5e5;
  form.rope.interleaved = true;
  form.n_kv_heads = 4;
  form.context = 131072;
  form.tied = true;
  Model model = read_form(config, form);
  model.head.bias = form.attention_bias;
  Mixture mixture = read_experts(config, model, 64, 6);
  mixture.normalize = true;
  mixture.correction_bias = mixture.correction_counted = true;
  const std::int64_t d_expert = config.size("moe_intermediate_size", 1536);
  const std::int64_t shared = config.count("moe_num_shared_experts", 2, 0);
  if (shared > 0) {
    mixture.shared = mixture.expert;
    mixture.shared->d_ff = shared * d_expert;
  }
  mixture.expert.d_ff = d_expert;
  mixture.expert.bias = false;
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t first = config.count("moe_layer_start_index", 1), interval = config.size("moe_layer_interval", 1);
  const double end = config.number("moe_layer_end_index", -1);
  if (end < -1 || end != std::floor(end))
    config.fail("moe_layer_end_index", "a whole number, or -1 for the last layer");
  const double last = end == -1 ? static_cast<double>(layers - 1) : end;
  set_mixture(model, mixture, [=](std::int64_t layer) {
    return (layer + 1) % interval == 0 && layer >= first && static_cast<double>(layer) <= last;
  });
  // A guard of the division; of its training.
  if (config.number("moe_norm_min", 1e-12) > 1e-6) config.fail("moe_norm_min", "at most 1e-6, a guard of a division");
  config.ignore({"moe_capacity", "moe_gate", "moe_use_aux_free", "moe_layer_start_index"});
  return model;
}

void name_ernie4_5_moe(FamilyNames& names) {
  name_deepseek(names);
  names.correction = "mlp.moe_statics.e_score_correction_bias";
  names.correction_rows = true;
}

// A whole number, or one for each layer.
std::vector<std::int64_t> read_each(Fields& config, Text name, std::int64_t fallback, std::size_t layers) {
  const nlohmann::json* found = config.value(name);
  if (found == nullptr || !found->is_array()) return std::vector(layers, config.size(name, fallback));
  if (found->size() != layers) config.fail(name, fmt::format("{} entries, one per layer", layers));
  std::vector<std::int64_t> each;
  for (std::size_t i = 0; i < layers; ++i) {
    if (!(*found)[i].is_number_integer() || (*found)[i] < 1) config.fail(name, "an array of whole numbers");
    each.push_back((*found)[i].get<std::int64_t>());
  }
  return each;
}

Model read_hunyuan_v1_moe(Fields& config) {
  config.rename("num_experts_per_tok", {"moe_topk", "num_experts_per_tok"});
  Model model = read_form(config, hunyuan_form(config));
  const std::vector<std::int64_t> experts = read_each(config, "num_experts", 1, model.layers.size());
  const std::vector<std::int64_t> active = read_each(config, "num_experts_per_tok", 1, model.layers.size());
  const std::vector<std::int64_t> d_expert =
      read_each(config, "moe_intermediate_size", first_feed_forward(model).d_ff, model.layers.size());
  const std::vector<std::int64_t> shared = read_each(config, "num_shared_expert", 1, model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Mixture mixture;
    mixture.expert = first_feed_forward(model);
    mixture.n_experts = experts[i];
    mixture.n_active = active[i];
    if (d_expert[i] != mixture.expert.d_ff || shared[i] != 1)
      config.refuse("its experts are not of intermediate_size, or it has not one that is shared, in every layer");
    mixture.normalize = true;
    mixture.shared = mixture.expert;
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      if (std::holds_alternative<FeedForward>(sublayer.kind)) sublayer.kind = mixture;
    });
  }
  config.expect_size("moe_layer_num_skipped", 0, "0: every layer has experts");
  if (!config.flag("use_mixed_mlp_moe", true)) config.fail("use_mixed_mlp_moe", "true");
  if (!config.flag("norm_topk_prob", true)) config.fail("norm_topk_prob", "true");
  if (config.number("routed_scaling_factor", 1.0) != 1.0) config.fail("routed_scaling_factor", "1");
  config.expect_off("group_limited_greedy", "false: experts are chosen from all groups");
  config.ignore({"moe_drop_tokens",
                 "moe_random_routing_dropped_token",
                 "capacity_factor",
                 "n_group",
                 "topk_group",
                 "anyres_pooling_size",
                 "skip_cls_token",
                 "vit_input_resolution",
                 "vit_patch",
                 "vit_token",
                 "vit_used_rms_norm",
                 "anyres_vit_max_image_size",
                 "anyres_vit_two_views",
                 "max_image_size",
                 "min_image_size",
                 "num_media_embeds",
                 "video_end_id",
                 "video_start_id",
                 "vit_norm_type",
                 "vit_mapping_type",
                 "vit_add_patchemb_bias",
                 "vit_remove_prenorm"});
  return model;
}

void name_hunyuan_v1_moe(FamilyNames& names) {
  name_experts(names);
  name_hunyuan(names);
  for (MixtureNames& form : names.mixtures) form.router = "mlp.gate.wg";
  name_shared(names,
              {.gate = "mlp.shared_mlp.gate_proj", .up = "mlp.shared_mlp.up_proj", .down = "mlp.shared_mlp.down_proj"});
}

// Granite's form with experts; `shared_intermediate_size` is that of an expert for all, 0: there is none.
Model read_granitemoe_form(Fields& config, bool windows) {
  Form form = granite_form(config);
  form.feed_forward_bias = false;
  form.attention.sinks = windows;
  Model model = read_form(config, form);
  const std::string activation = config.word("hidden_act", form.activation);
  config.expect_word("activation_function", activation, fmt::format("{}, as hidden_act", activation));
  read_multipliers(config, model);
  if (windows) read_granite_windows(config, model);
  Mixture mixture = read_experts(config, model, 8, 2);
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  if (const std::int64_t shared = config.count("shared_intermediate_size", 0); shared > 0) {
    mixture.shared = mixture.expert;
    mixture.shared->d_ff = shared;
  }
  set_mixture(model, mixture);
  return model;
}

Model read_granitemoe(Fields& config) { return read_granitemoe_form(config, false); }
Model read_granitemoe_swa(Fields& config) { return read_granitemoe_form(config, true); }

void name_granitemoe(FamilyNames& names) {
  names.all_experts_weight = ".weight";
  names.mixtures = {{"block_sparse_moe.router.layer",
                     {.down = "block_sparse_moe.output_linear", .gate_up = "block_sparse_moe.input_linear"}}};
  names.shared = {.down = "shared_mlp.output_linear", .gate_up = "shared_mlp.input_linear"};
}

void name_granitemoe_swa(FamilyNames& names) {
  names.sinks = "self_attn.sinks";
  names.mixtures = {
      {"block_sparse_moe.router",
       {.down = "block_sparse_moe.experts.down_proj", .gate_up = "block_sparse_moe.experts.gate_up_proj"}}};
  names.shared = {.down = "shared_mlp.output_linear", .gate_up = "shared_mlp.input_linear"};
}

Model read_phimoe(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  Form form = layer_norm_form("rms_norm_eps", true);
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.context = 131072;
  form.attention.window = config.count("sliding_window", 0);
  Model model = read_form(config, form);
  model.head.bias = config.flag("lm_head_bias", false);
  Mixture mixture = read_experts(config, model, 16, 2);
  if (mixture.n_active != 2) config.fail("num_experts_per_tok", "2: a sparsemixer chooses two");
  mixture.scores = Mixture::Scores::sparsemixer;
  mixture.jitter = config.positive("router_jitter_noise", 0.01);
  set_mixture(model, mixture);
  config.ignore({"input_jitter_noise"});  // of training
  return model;
}

void name_phimoe(FamilyNames& names) {
  name_mixtral(names);
  names.mixtures.back().router = "mlp.router";
}

Model read_dbrx(Fields& config) {
  config.rename("hidden_size", {"d_model", "hidden_size"});
  config.rename("num_attention_heads", {"n_heads", "num_attention_heads"});
  config.rename("num_hidden_layers", {"n_layers", "num_hidden_layers"});
  config.rename("max_position_embeddings", {"max_seq_len", "max_position_embeddings"});
  static const nlohmann::json nothing = nlohmann::json::object();
  const auto part = [&](const char* name) {
    std::optional<Fields> found = config.object(name);
    Fields fields = found ? *found : Fields(nothing, config.where(), std::string(name) + ".");
    fields.ignore({"model_type",
                   "attn_pdrop",
                   "moe_loss_weight",
                   "moe_jitter_eps",
                   "initializer_range",
                   "transformers_version",
                   "_name_or_path",
                   "architectures",
                   "dtype",
                   "torch_dtype",
                   "is_encoder_decoder",
                   "tie_word_embeddings",
                   "output_hidden_states",
                   "return_dict",
                   "chunk_size_feed_forward",
                   "id2label",
                   "label2id",
                   "problem_type",
                   "output_attentions",
                   "moe_normalize_expert_weights"});
    return fields;
  };
  Fields attention = part("attn_config"), experts = part("ffn_config");
  Form form;
  form.norm = {Norm::Kind::layer, 1e-5, true, false, false};
  form.epsilon_field = "";
  form.attention.clip = attention.number("clip_qkv", 0.0);
  form.rope.theta = attention.positive("rope_theta", 10000.0);
  form.n_kv_heads = attention.size("kv_n_heads", 1);
  form.widening = 1;  // the experts' own width follows
  Model model = read_form(config, form);
  experts.expect_size("hidden_size", model.d_model,
                      fmt::format("{}, as {}", model.d_model, config.spelled("hidden_size")));
  Mixture mixture;
  mixture.expert = first_feed_forward(model);
  mixture.expert.d_ff = experts.size("ffn_hidden_size", 3584);
  if (std::optional<Fields> act = experts.object("ffn_act_fn")) {
    if (act->word("name", "silu") != "silu") act->fail("name", "silu");
  }
  mixture.n_experts = experts.size("moe_num_experts", 4);
  mixture.n_active = experts.size("moe_top_k", 1);
  const bool present = experts.present("moe_normalize_expert_weights");
  mixture.normalize = !present || experts.has("moe_normalize_expert_weights");
  if (experts.number("moe_normalize_expert_weights", 1.0) != 1.0)
    experts.fail("moe_normalize_expert_weights", "1 or null");
  experts.expect_off("uniform_expert_assignment", "false: the router chooses experts");
  set_mixture(model, mixture);
  for (const Fields* fields : {&attention, &experts}) fields->refuse_unread("dbrx");
  config.ignore({"num_key_value_heads", "num_experts", "emb_pdrop", "resid_pdrop"});
  return model;
}

void name_dbrx(FamilyNames& names) {
  names.prefixes = {"transformer.", ""};
  names.heads = {"lm_head"};
  names.layer = "blocks.{}.";
  names.token_embedding = "wte";
  names.final_norm = "norm_f";
  names.attention_norm = "norm_attn_norm.norm_1";
  names.feed_forward_norm = "norm_attn_norm.norm_2";
  names.query_key_value = "norm_attn_norm.attn.Wqkv";
  names.output = "norm_attn_norm.attn.out_proj";
  names.mixtures = {
      {"ffn.router.layer", {.gate = "ffn.experts.mlp.w1", .up = "ffn.experts.mlp.v1", .down = "ffn.experts.mlp.w2"}}};
  names.mixtures.front().flat = names.mixtures.front().down_transposed = true;
}

Model read_aria_text(Fields& config) {
  config.expect_word("hidden_act", "silu", "silu: experts have it whatever is said");
  config.rename("num_local_experts", {"moe_num_experts"});
  config.rename("num_experts_per_tok", {"moe_topk", "num_experts_per_tok"});
  if (config.word("model_type", "") == "aria_moe_lm") {  // the maker's own: no layer is as wide as intermediate_size
    config.rename("intermediate_size", {"moe_intermediate_size"});
    config.ignore({"intermediate_size", "moe_grouped_gemm"});
  }
  Model model = read_form(config, llama_form(config));
  Mixture mixture = read_experts(config, model, 8, 2);
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  mixture.shared = mixture.expert;
  mixture.shared->d_ff = mixture.expert.d_ff * config.size("moe_num_shared_experts", 2);
  mixture.expert.bias = false;
  set_mixture(model, mixture);
  config.ignore({"moe_z_loss_coeff", "moe_aux_loss_coeff"});
  return model;
}

void name_aria_text(FamilyNames& names) {
  name_deepseek(names);
  names.all_experts_weight = ".weight";
  names.mixtures = {{"mlp.router", {.down = "mlp.experts.fc2", .gate_up = "mlp.experts.fc1"}}};
  names.mixtures.front().transposed = true;
}

Model read_cohere2_moe(Fields& config) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Form form = cohere2_form(config);
  form.d_head = 128;
  if (config.has("rms_norm_eps")) {
    form.norm = {Norm::Kind::rms, 1e-6, true, false, false};
    form.epsilon_field = "rms_norm_eps";
    config.ignore({"layer_norm_eps"});
  } else {
    config.ignore({"rms_norm_eps"});
  }
  Model model = read_form(config, form);
  const LayerRule sparse = read_sparse_layers(config, model, 0);
  const std::int64_t dense = config.count("first_k_dense_replace", 0);
  const std::int64_t prefix = config.size("prefix_dense_sliding_window_pattern", 1);
  const std::int64_t pattern = config.size("sliding_window_pattern", 4);
  const std::int64_t window = config.count("sliding_window", 4096, 0);
  read_windows(config, model, window, [=](std::int64_t layer) {
    return layer < dense ? (layer + 1) % prefix != 0 : (layer - dense + 1) % pattern != 0;
  });
  const std::int64_t d_dense = config.size("prefix_dense_intermediate_size", first_feed_forward(model).d_ff);
  Mixture mixture = read_experts(config, model, 8, 2);
  const std::string selection = config.word("expert_selection_fn", "softmax");
  if (selection != "softmax" && selection != "sigmoid") config.fail("expert_selection_fn", "softmax or sigmoid");
  const bool normalize = config.flag("norm_topk_prob", true);
  mixture.scores = selection == "softmax" ? Mixture::Scores::softmax_of_chosen : Mixture::Scores::sigmoid;
  mixture.normalize = selection == "sigmoid" && normalize;
  if (const std::int64_t shared = config.count("num_shared_experts", 0); shared > 0) {
    mixture.shared = mixture.expert;
    mixture.shared->d_ff = shared * mixture.expert.d_ff;
  }
  const std::string combined = config.word("shared_expert_combination_strategy", "average");
  if (combined != "average" && combined != "sum") config.fail("shared_expert_combination_strategy", "average or sum");
  if (mixture.shared && combined == "average") mixture.output_scale = 0.5;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    const bool plain = !sparse(static_cast<std::int64_t>(i));
    Attention& attention = *find<Attention>(layer);
    if (attention.window == 0 && !(plain && prefix == 1)) attention.rope.reset();
    if (plain) find<FeedForward>(layer)->d_ff = d_dense;
  }
  set_mixture(model, mixture, sparse);
  model.head.scale = config.positive("logit_scale", 0.0625);
  return model;
}

// A flag; in files of transformers' first version a number, whose value nothing else reads.
bool read_tuning(Fields& config) {
  const nlohmann::json* found = config.value("attn_temperature_tuning");
  if (found != nullptr && found->is_number()) return config.count("attn_temperature_tuning", 0) != 0;
  return config.flag("attn_temperature_tuning", true);
}

Model read_llama4_text(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.theta = 5e5;
  form.rope.interleaved = true;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 131072;
  Model model = read_form(config, form);
  read_rope_layers(config, model);
  const std::int64_t chunk = config.count("attention_chunk_size", 8192, 0);
  const bool norms = config.flag("use_qk_norm", !config.present("use_qk_norm")), tuned = read_tuning(config);
  const PositionScale scale{config.positive("attn_scale", 0.1), config.positive("floor_scale", 8192), 1};
  const nlohmann::json* types = config.array("layer_types");
  if (types && types->size() != model.layers.size())
    config.fail("layer_types", fmt::format("{} entries, one per layer", model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Attention& attention = *find<Attention>(model.layers[i]);
    bool chunked = attention.rope.has_value();
    if (types) {
      const nlohmann::json& type = (*types)[i];
      if (type != "full_attention" && type != "chunked_attention")
        config.fail("layer_types", "an array of full_attention and chunked_attention");
      chunked = type == "chunked_attention";
    }
    if (chunked && chunk > 0) {
      attention.window = chunk;
      attention.chunked = true;
    }
    if (attention.rope && norms) {
      attention.query_key_norm = Norm{Norm::Kind::rms, model.final_norm->epsilon, false, false, false};
      attention.norm_after_rope = true;
    }
    if (!attention.rope && tuned) attention.position_scale = scale;
  }
  Mixture mixture = read_experts(config, model, 16, 1);
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.weigh_inputs = true;
  mixture.shared = mixture.expert;
  const std::int64_t d_dense = config.size("intermediate_size_mlp", 16384);
  for_each<FeedForward>(model.layers, [&](FeedForward& feed_forward) { feed_forward.d_ff = d_dense; });
  const std::int64_t step = config.size("interleave_moe_layer_step", 1);
  std::vector<bool> sparse(model.layers.size());
  if (const nlohmann::json* layers = config.array("moe_layers")) {
    for (const nlohmann::json& layer : *layers) {
      if (!layer.is_number_unsigned()) config.fail("moe_layers", "an array of layer numbers");
      if (layer < model.layers.size()) sparse[layer.get<std::size_t>()] = true;
    }
  } else {
    for (std::size_t i = 0; i < sparse.size(); ++i) sparse[i] = (static_cast<std::int64_t>(i) + 1) % step == 0;
  }
  set_mixture(model, mixture, [&](std::int64_t layer) { return sparse[static_cast<std::size_t>(layer)]; });
  config.ignore({"for_llm_compressor"});
  return model;
}

void name_llama4_text(FamilyNames& names) {
  names.feed_forward = {
      .gate = "feed_forward.gate_proj", .up = "feed_forward.up_proj", .down = "feed_forward.down_proj"};
  names.mixtures = {{"feed_forward.router",
                     {.down = "feed_forward.experts.down_proj", .gate_up = "feed_forward.experts.gate_up_proj"}}};
  names.mixtures.front().transposed = true;
  names.shared = {.gate = "feed_forward.shared_expert.gate_proj",
                  .up = "feed_forward.shared_expert.up_proj",
                  .down = "feed_forward.shared_expert.down_proj"};
}

}  // namespace

std::vector<Family> more_mixture_families() {
  return {
      {"aria_text", read_aria_text, {32000, 4096, 4096, 32, 32}, name_aria_text},
      {"cohere2_moe", read_cohere2_moe, {256000, 8192, 22528, 40, 64}, name_deepseek},
      {"dbrx", read_dbrx, {32000, 2048, 3584, 24, 16}, name_dbrx},
      {"dots1", read_dots1, {152064, 4608, 10944, 62, 32}, name_deepseek},
      {"ernie4_5_moe", read_ernie4_5_moe, {103424, 2560, 12288, 28, 20}, name_ernie4_5_moe},
      {"exaone_moe", read_exaone_moe, {102400, 4096, 16384, 32, 32}, name_exaone_moe},
      {"flex_olmo", read_flex_olmo, {100352, 4096, 11008, 32, 32}, name_flex_olmo},
      {"glm4_moe", read_glm4_moe, {151552, 4096, 10944, 46, 96}, name_deepseek},
      {"granitemoe", read_granitemoe, {32000, 4096, 11008, 32, 32}, name_granitemoe},
      {"granitemoe_swa", read_granitemoe_swa, {32000, 4096, 11008, 32, 32}, name_granitemoe_swa},
      {"granitemoeshared", read_granitemoe, {32000, 4096, 11008, 32, 32}, name_granitemoe},
      {"hunyuan_v1_moe", read_hunyuan_v1_moe, {290943, 4096, 11008, 32, 32}, name_hunyuan_v1_moe},
      {"hy_v3", read_hy_v3, {120832, 4096, 13312, 80, 64}, name_hy_v3},
      {"llama4_text", read_llama4_text, {202048, 5120, 8192, 48, 40}, name_llama4_text},
      {"mellum", read_mellum, {98304, 2304, 7168, 28, 32}, name_experts},
      {"minimax_m2", read_minimax_m2, {200064, 3072, 1536, 62, 48}, name_minimax_m2},
      {"olmoe", read_olmoe, {50304, 2048, 2048, 16, 16}, name_experts},
      {"phimoe", read_phimoe, {32064, 4096, 6400, 32, 32}, name_phimoe},
      {"qwen2_moe", read_qwen2_moe, {151936, 2048, 5632, 24, 16}, name_qwen2_moe},
      {"solar_open", read_solar_open, {196608, 4096, 10240, 48, 64}, name_deepseek},
  };
}

}  // namespace reckon
