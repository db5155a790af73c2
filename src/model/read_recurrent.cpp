// The families with recurrences, alone or between layers of attention.
#include <fmt/format.h>

#include <cmath>

#include "files/float_types.h"
#include "model/forms.h"

namespace reckon {

namespace {

// What a layer does before its feed-forward, or instead of one.
enum class Kind { recurrence, attention, feed_forward, mixture };

Kind kind_of(Fields& config, Text field, std::size_t i, const nlohmann::json& word) {
  if (word == "linear_attention" || word == "mamba" || word == "conv") return Kind::recurrence;
  if (word == "full_attention" || word == "attention") return Kind::attention;
  if (word == "mlp") return Kind::feed_forward;
  if (word == "moe") return Kind::mixture;
  config.refuse(fmt::format("{}[{}] is {}; expected linear_attention or full_attention", config.spelled(field), i,
                            describe(word)));
}

// The kind of each layer: as the field says, or by `usual`.
std::vector<Kind> read_kinds(Fields& config, Text field, std::size_t layers, const LayerRule& recurrent) {
  std::vector<Kind> kinds;
  if (const nlohmann::json* words = config.array(field)) {
    for (std::size_t i = 0; i < words->size(); ++i) kinds.push_back(kind_of(config, field, i, (*words)[i]));
    if (kinds.size() != layers) config.fail(field, fmt::format("{} entries, one per layer", layers));
    return kinds;
  }
  for (std::size_t i = 0; i < layers; ++i)
    kinds.push_back(recurrent(static_cast<std::int64_t>(i)) ? Kind::recurrence : Kind::attention);
  return kinds;
}

// A list that says the kinds again, in words.
void expect_kinds(Fields& config, Text field, const std::vector<Kind>& kinds) {
  const auto none = [](std::int64_t) { return false; };
  if (config.has(field) && read_kinds(config, field, kinds.size(), none) != kinds)
    config.fail(field, "what the other list of the layers says");
}

// Which layers an array of their numbers names, counted from `first`; nothing where there is no array.
std::optional<std::vector<bool>> read_numbers(Fields& config, Text field, std::size_t layers, std::int64_t first = 0) {
  const nlohmann::json* numbers = config.array(field);
  if (numbers == nullptr) return std::nullopt;
  const std::int64_t last = first + static_cast<std::int64_t>(layers) - 1;
  std::vector<bool> named(layers);
  for (const nlohmann::json& number : *numbers) {
    if (!number.is_number_integer() || number < first || number > last)
      config.fail(field, fmt::format("an array of layer numbers, {} to {}", first, last));
    named[static_cast<std::size_t>(number.get<std::int64_t>() - first)] = true;
  }
  return named;
}

// The kind of each layer: as the words of one field say, or by the numbers of those that attend, or else `usual`. Where
// both are there, they agree.
std::vector<Kind> read_attending(Fields& config, Text words, Text numbers, std::size_t layers, Kind usual) {
  const std::optional<std::vector<bool>> attends = read_numbers(config, numbers, layers);
  std::vector<Kind> kinds = read_kinds(config, words, layers, [&](std::int64_t layer) {
    return attends ? !(*attends)[static_cast<std::size_t>(layer)] : usual == Kind::recurrence;
  });
  for (std::size_t i = 0; attends && i < layers; ++i)
    if ((*attends)[i] != (kinds[i] == Kind::attention))
      config.fail(numbers, fmt::format("the layers that attend, as {} has them", config.spelled(words)));
  return kinds;
}

// The attention of these layers becomes this recurrence, norms and all else as they are.
void set_recurrence(Model& model, const std::vector<Kind>& kinds, const Recurrence& recurrence) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != Kind::recurrence) continue;
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      if (std::holds_alternative<Attention>(sublayer.kind)) sublayer.kind = recurrence;
    });
  }
}

// A network without attention: what read_form() would read of it.
Model read_stack(Fields& config, const Norm& norm, bool tied) {
  Model model;
  model.d_model = config.size("hidden_size");
  model.d_embedding = model.d_model;
  model.vocab_size = config.size("vocab_size");
  // Nothing limits it; this is what such models were first trained with.
  model.context = config.size("max_position_embeddings", 2048);
  model.head.tied = config.flag("tie_word_embeddings", tied);
  model.final_norm = norm;
  model.layers.resize(static_cast<std::size_t>(config.size_up_to("num_hidden_layers", most_layers)));
  return model;
}

void set_layers(Model& model, const Recurrence& recurrence, const Norm& norm) {
  Sublayer sublayer{.kind = recurrence, .norms = {}};
  sublayer.norms.before = norm;
  model.layers.assign(model.layers.size(), Layer{.sublayers = {sublayer}});
}

// How many elements Δ is projected by way of: a number, or "auto" for a sixteenth of the width.
std::int64_t read_rank(Fields& config, Text field, std::int64_t d_model) {
  const nlohmann::json* found = config.value(field);
  if (found == nullptr || *found == "auto") {
    config.ignore({field});
    return (d_model + 15) / 16;
  }
  return config.size(field);
}

// A pair of numbers, the second of which may be without limit.
void read_limits(Fields& config, Text field, Recurrence& recurrence) {
  const nlohmann::json* found = config.array(field);
  if (found == nullptr) return;
  const auto limit = [&](const nlohmann::json& value) {
    if (value == nlohmann::json{{"__float__", "Infinity"}}) return 0.0;
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
      config.fail(field, "two numbers, or a number and Infinity");
    return value.get<double>();
  };
  if (found->size() != 2) config.fail(field, "two numbers, or a number and Infinity");
  recurrence.step_low = limit((*found)[0]);
  recurrence.step_high = limit((*found)[1]);
  if ((*found)[1] == 0) config.fail(field, "a number and a greater one, or Infinity");
}

// Of how weights begin, and how the scan is run.
void ignore_start(Fields& config) {
  config.ignore({"time_step_min", "time_step_max", "time_step_floor", "time_step_scale", "time_step_init_scheme",
                 "rescale_prenorm_residual", "residual_in_fp32", "use_mambapy", "use_falcon_mambapy",
                 "use_associative_scan", "use_mamba_kernels", "chunk_size", "mamba_chunk_size", "num_logits_to_keep",
                 "z_loss_coefficient"});
}

void check_inner(Fields& config, const char* heads, const char* each, const Recurrence& r, std::int64_t inner) {
  if (r.n_heads * r.d_head == inner) return;
  config.refuse(fmt::format("{} · {} is {}; expected the inner width, {}", config.spelled(heads), config.spelled(each),
                            r.n_heads * r.d_head, inner));
}

// √n, rounded to bfloat16.
double bfloat16_root(std::int64_t n) {
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(n)));
  return static_cast<double>(from_bfloat16(to_bfloat16(root)));
}

// ---- short convolutions

// LFM2's feed-forward is two thirds of what the config says, times a factor, rounded up to a multiple.
std::int64_t adjusted_width(Fields& config, std::int64_t width) {
  const bool adjusts = config.flag("block_auto_adjust_ff_dim", true);
  const double factor = config.number("block_ffn_dim_multiplier", 1.0, 0.0);
  const std::int64_t multiple = config.size("block_multiple_of", 256);
  if (!adjusts) return width;
  width = 2 * width / 3;
  if (factor == 0.0) return width;
  width = static_cast<std::int64_t>(factor * static_cast<double>(width));
  return (width + multiple - 1) / multiple * multiple;
}

Model read_lfm2_form(Fields& config) {
  config.rename("tie_word_embeddings", {"tie_embedding", "tie_word_embeddings"});
  config.rename("intermediate_size", {"block_ff_dim", "intermediate_size"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.epsilon_field = "norm_eps";
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.query_key_norm = true;
  form.context = 128000;
  form.tied = true;
  Model model = read_form(config, form);
  // transformers asks for none of these: what they repeat of other fields must be the same.
  config.expect_on("block_use_swiglu", "true: this family's feed-forward is gated");
  config.expect_on("use_pos_enc", "true: positions are rotary in this family");
  const std::int64_t heads = first_attention(model).n_heads;
  config.expect_size("num_heads", heads, fmt::format("{}, as num_attention_heads", heads));
  for (const char* width : {"block_dim", "conv_dim", "conv_dim_out"})
    config.expect_size(width, model.d_model, fmt::format("{}, as hidden_size", model.d_model));
  config.ignore({"block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_xavier_init",
                 "conv_use_xavier_init", "theta"});
  return model;
}

void set_convolutions(Fields& config, Model& model) {
  Recurrence recurrence;
  recurrence.n_heads = 1;
  recurrence.d_head = model.d_model;
  recurrence.conv_width = config.size("conv_L_cache", 3);
  recurrence.bias = recurrence.output_bias = recurrence.conv_bias = config.flag("conv_bias", false);
  set_recurrence(model, read_attending(config, "layer_types", "full_attn_idxs", model.layers.size(), Kind::attention),
                 recurrence);
}

Model read_lfm2(Fields& config) {
  Model model = read_lfm2_form(config);
  const std::int64_t width = adjusted_width(config, first_feed_forward(model).d_ff);
  for_each<FeedForward>(model.layers, [&](FeedForward& each) { each.d_ff = width; });
  set_convolutions(config, model);
  return model;
}

Model read_lfm2_moe(Fields& config) {
  Model model = read_lfm2_form(config);
  config.rename("num_local_experts", {"num_experts"});
  Mixture mixture = read_experts(config, model, 32, 4);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 1792);
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = config.flag("use_expert_bias", true);
  mixture.normalize = config.flag("norm_topk_prob", true);
  mixture.scale = config.positive("routed_scaling_factor", 1.0);
  const std::int64_t dense = config.count("num_dense_layers", 2);
  set_mixture(model, mixture, [=](std::int64_t layer) { return layer >= dense; });
  set_convolutions(config, model);
  return model;
}

void name_lfm2(FamilyNames& names) {
  names.final_norm = "embedding_norm";
  names.attention_norm = "operator_norm";
  names.feed_forward_norm = "ffn_norm";
  names.output = "self_attn.out_proj";
  names.query_norm = "self_attn.q_layernorm";
  names.key_norm = "self_attn.k_layernorm";
  names.feed_forward = {.gate = "feed_forward.w1", .up = "feed_forward.w3", .down = "feed_forward.w2"};
  names.recurrence.module = "conv.";
  names.recurrence.linears = {{"in_proj", {Part::key, Part::query, Part::value}}};
  names.recurrence.convolutions = {{"conv", {Part::value_convolution}}};
  names.recurrence.output = "out_proj";
}

void name_lfm2_moe(FamilyNames& names) {
  name_lfm2(names);
  names.correction = "feed_forward.expert_bias";
  names.mixtures = {{"feed_forward.gate",
                     {.gate = "feed_forward.experts.{}.w1",
                      .up = "feed_forward.experts.{}.w3",
                      .down = "feed_forward.experts.{}.w2"}},
                    {"feed_forward.gate",
                     {.down = "feed_forward.experts.down_proj", .gate_up = "feed_forward.experts.gate_up_proj"}}};
}

// ---- Mamba

Recurrence mamba(std::int64_t inner, std::int64_t d_state) {
  Recurrence r;
  r.rule = Recurrence::Rule::mamba;
  r.n_heads = inner;
  r.n_groups = 1;
  r.d_head = 1;
  r.d_state = d_state;
  return r;
}

Model read_mamba_stack(Fields& config, bool normed) {
  const Norm norm{Norm::Kind::rms, config.positive("layer_norm_epsilon", 1e-5), true, false, false};
  Model model = read_stack(config, norm, true);
  // falcon-mamba-7b's own file has an `expand` that is not in use.
  const std::int64_t inner = config.size("intermediate_size", config.size("expand", 2) * model.d_model);
  Recurrence r = mamba(inner, config.size("state_size", 16));
  r.step_rank = read_rank(config, "time_step_rank", model.d_model);
  r.conv_width = config.size("conv_kernel", 4);
  r.conv_bias = config.flag("use_conv_bias", true);
  r.bias = r.output_bias = config.flag("use_bias", false);
  if (normed) r.inner_norm = Norm{Norm::Kind::rms, config.positive("mixer_rms_eps", 1e-6), false, false, false};
  config.expect_word("hidden_act", "silu", "silu");
  config.expect_on("rms_norm", "true: its norms are RMS norms");
  // Sizes under the names that the weights were converted from, which transformers does not ask for: some files have
  // others there than the model.
  config.ignore({"d_inner", "d_model", "dt_rank", "fused_add_norm", "n_layer", "pad_vocab_size_multiple", "ssm_cfg"});
  ignore_start(config);
  set_layers(model, r, norm);
  return model;
}

Model read_mamba(Fields& config) { return read_mamba_stack(config, false); }
Model read_falcon_mamba(Fields& config) { return read_mamba_stack(config, true); }

RecurrenceNames mamba_names(std::string_view module) {
  RecurrenceNames names;
  names.module = module;
  names.linears = {{"in_proj", {Part::value, Part::gate}},
                   {"x_proj", {Part::step_down, Part::key, Part::query}},
                   {"dt_proj", {Part::step}}};
  names.convolutions = {{"conv1d", {Part::value_convolution}}};
  names.output = "out_proj";
  names.step_norm = "dt_layernorm";
  names.key_norm = "b_layernorm";
  names.query_norm = "c_layernorm";
  names.decay = "A_log";
  names.step_bias = "dt_proj.bias";
  names.skip = "D";
  return names;
}

// What Mamba's and Nemotron-H's files call what stands around a mixer.
void name_backbone(FamilyNames& names) {
  names.prefixes = {"backbone.", "model.", ""};
  names.token_embedding = "embeddings";
  names.final_norm = "norm_f";
  names.attention_norm = names.feed_forward_norm = "norm";
}

void name_mamba(FamilyNames& names) {
  name_backbone(names);
  names.recurrence = mamba_names("mixer.");
}

Model read_jamba(Fields& config) {
  config.expect_word("hidden_act", "silu", "silu: it is what is behind the convolutions too");
  Form form;
  form.rotary = false;
  form.n_kv_heads = 8;
  form.context = 262144;
  Model model = read_form(config, form);
  Recurrence r = mamba(config.size("mamba_expand", 2) * model.d_model, config.size("mamba_d_state", 16));
  r.step_rank = read_rank(config, "mamba_dt_rank", model.d_model);
  r.conv_width = config.size("mamba_d_conv", 4);
  r.conv_bias = config.flag("mamba_conv_bias", true);
  r.bias = r.output_bias = config.flag("mamba_proj_bias", false);
  r.inner_norm = model.final_norm;
  const std::int64_t period = config.size("attn_layer_period", 8), offset = config.count("attn_layer_offset", 4);
  if (offset >= period) config.fail("attn_layer_offset", fmt::format("less than attn_layer_period, {}", period));
  const std::vector<Kind> kinds = read_kinds(config, "layers_block_type", model.layers.size(),
                                             [=](std::int64_t layer) { return layer % period != offset; });
  expect_kinds(config, "layer_types", kinds);
  set_recurrence(model, kinds, r);
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  const Mixture mixture = read_experts(config, model, 16, 2);
  const std::int64_t step = config.size("expert_layer_period", 2), first = config.count("expert_layer_offset", 1);
  if (first >= step) config.fail("expert_layer_offset", fmt::format("less than expert_layer_period, {}", step));
  const bool dense = mixture.n_experts == 1;
  set_mixture(model, mixture, [=](std::int64_t layer) { return !dense && layer % step == first; });
  ignore_start(config);
  if (const nlohmann::json* counts = config.array("layers_num_experts")) {  // what the periods make
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      if (counts->size() != model.layers.size() ||
          (*counts)[i] != (find<Mixture>(model.layers[i]) ? mixture.n_experts : 1))
        config.fail("layers_num_experts", fmt::format("1, or {} where expert_layer_period says it", mixture.n_experts));
  }
  return model;
}

// Hybrids whose feed-forward is called so.
void name_feed_forward(FamilyNames& names) {
  names.final_norm = "final_layernorm";
  names.feed_forward_norm = "pre_ff_layernorm";
  names.feed_forward = {
      .gate = "feed_forward.gate_proj", .up = "feed_forward.up_proj", .down = "feed_forward.down_proj"};
}

void name_jamba(FamilyNames& names) {
  name_feed_forward(names);
  names.recurrence = mamba_names("mamba.");
  names.mixtures = {{"feed_forward.router",
                     {.gate = "feed_forward.experts.{}.gate_proj",
                      .up = "feed_forward.experts.{}.up_proj",
                      .down = "feed_forward.experts.{}.down_proj"}},
                    {"feed_forward.router",
                     {.down = "feed_forward.experts.down_proj", .gate_up = "feed_forward.experts.gate_up_proj"}}};
}

// ---- Mamba-2

Recurrence mamba2(std::int64_t heads, std::int64_t d_head, std::int64_t groups, std::int64_t d_state) {
  Recurrence r;
  r.rule = Recurrence::Rule::mamba2;
  r.n_heads = heads;
  r.d_head = d_head;
  r.n_groups = groups;
  r.d_state = d_state;
  return r;
}

RecurrenceNames mamba2_names(std::string_view module) {
  RecurrenceNames names;
  names.module = module;
  names.linears = {{"in_proj", {Part::gate, Part::value, Part::key, Part::query, Part::step}}};
  names.convolutions = {{"conv1d", {Part::value_convolution, Part::key_convolution, Part::query_convolution}}};
  names.output = "out_proj";
  names.gate_norm = "norm";
  names.decay = "A_log";
  names.step_bias = "dt_bias";
  names.skip = "D";
  return names;
}

Model read_mamba2(Fields& config) {
  const Norm norm{Norm::Kind::rms, config.positive("layer_norm_epsilon", 1e-5), true, false, false};
  Model model = read_stack(config, norm, false);
  Recurrence r = mamba2(config.size("num_heads", 128), config.size("head_dim", 64), config.size("n_groups", 8),
                        config.size("state_size", 128));
  check_inner(config, "num_heads", "head_dim", r, config.size("expand", 2) * model.d_model);
  r.conv_width = config.size("conv_kernel", 4);
  r.conv_bias = config.flag("use_conv_bias", true);
  r.bias = r.output_bias = config.flag("use_bias", false);
  r.norm = norm;
  read_limits(config, "time_step_limit", r);
  config.expect_word("hidden_act", "silu", "silu");
  // What `expand` makes, what Mamba had, and what transformers does not ask for: its norm always follows the gate.
  config.ignore({"intermediate_size", "time_step_rank", "norm_before_gate", "rms_norm"});
  ignore_start(config);
  set_layers(model, r, norm);
  return model;
}

void name_mamba2(FamilyNames& names) {
  name_backbone(names);
  names.recurrence = mamba2_names("mixer.");
}

// The fields of Mamba-2 in a hybrid stack.
Recurrence read_mamba2_part(Fields& config, std::int64_t inner, const Norm& norm) {
  config.expect_word("hidden_act", "silu", "silu: it is what is behind the convolutions too");
  Recurrence r =
      mamba2(config.size("mamba_n_heads", 128), 0, config.size("mamba_n_groups", 1), config.size("mamba_d_state", 256));
  const nlohmann::json* each = config.value("mamba_d_head");
  if (each == nullptr || *each == "auto") {
    config.ignore({"mamba_d_head"});
    r.d_head = std::max<std::int64_t>(1, inner / r.n_heads);
  } else {
    r.d_head = config.size("mamba_d_head");
  }
  check_inner(config, "mamba_n_heads", "mamba_d_head", r, inner);
  r.conv_width = config.size("mamba_d_conv", 4);
  r.conv_bias = config.flag("mamba_conv_bias", true);
  r.bias = r.output_bias = config.flag("mamba_proj_bias", false);
  r.norm = norm;
  read_limits(config, "time_step_limit", r);
  config.ignore({"mamba_dt_rank"});  // Mamba's: steps are projected at once here
  ignore_start(config);
  return r;
}

Model read_bamba(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.rope.fraction = 0.5;
  form.n_kv_heads = 8;
  form.context = 262144;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  Model model = read_form(config, form);
  const Recurrence r = read_mamba2_part(config, config.size("mamba_expand", 2) * model.d_model, *model.final_norm);
  const std::int64_t rotated = first_attention(model).rope->dims;
  config.expect_size("attn_rotary_emb", rotated, fmt::format("{}, the elements of a head that are rotated", rotated));
  const std::vector<Kind> kinds =
      read_attending(config, "layers_block_type", "attn_layer_indices", model.layers.size(), Kind::recurrence);
  expect_kinds(config, "layer_types", kinds);
  set_recurrence(model, kinds, r);
  return model;
}

void name_bamba(FamilyNames& names) {
  name_feed_forward(names);
  names.recurrence = mamba2_names("mamba.");
}

Model read_granitemoehybrid(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", false);
  form.attention.scale = config.positive("attention_multiplier", 1.0);
  form.residual_scale = config.positive("residual_multiplier", 1.0);
  const std::string positions = config.word("position_embedding_type", "");
  form.rotary = positions == "rope";
  if (!form.rotary && !positions.empty() && positions != "nope")
    config.fail("position_embedding_type", "rope, nope or null");
  if (!form.rotary) config.ignore({"rope_theta", "rope_scaling", "rope_parameters"});
  Model model = read_form(config, form);
  model.embedding_scale = config.positive("embedding_multiplier", 1.0);
  model.head.scale = 1.0 / config.positive("logits_scaling", 1.0);
  const Recurrence r = read_mamba2_part(config, config.size("mamba_expand", 2) * model.d_model, *model.final_norm);
  config.rename("layer_types", {"layer_types", "layers_block_type"});
  const std::vector<Kind> kinds =
      read_kinds(config, "layer_types", model.layers.size(), [](std::int64_t) { return true; });
  expect_kinds(config, "layers_block_type", kinds);
  set_recurrence(model, kinds, r);
  config.expect_word("normalization_function", "rmsnorm", "rmsnorm");
  config.ignore({"init_method"});
  FeedForward shared = first_feed_forward(model);
  shared.d_ff = config.size("shared_intermediate_size", 1024);
  if (config.count("num_local_experts", 8) == 0) {
    for_each<FeedForward>(model.layers, [&](FeedForward& each) { each = shared; });
    config.ignore({"num_experts_per_tok"});
    return model;
  }
  Mixture mixture = read_experts(config, model, 8, 2);
  mixture.scores = Mixture::Scores::softmax_of_chosen;
  mixture.shared = shared;
  set_mixture(model, mixture);
  return model;
}

void name_granitemoehybrid(FamilyNames& names) {
  names.recurrence = mamba2_names("mamba.");
  names.feed_forward = {.down = "shared_mlp.output_linear", .gate_up = "shared_mlp.input_linear"};
  names.shared = names.feed_forward;
  names.all_experts_weight = ".weight";
  names.mixtures = {{"block_sparse_moe.router.layer",
                     {.down = "block_sparse_moe.output_linear", .gate_up = "block_sparse_moe.input_linear"}}};
}

// Multipliers of nearly everything; attention and Mamba-2 side by side.
Model read_falcon_h1(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.n_kv_heads = 8;
  form.context = 8192;
  form.attention_bias = config.flag("attention_bias", false);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  Model model = read_form(config, form);
  model.embedding_scale = config.positive("embedding_multiplier", 1.0);
  model.head.scale = config.positive("lm_head_multiplier", 1.0);
  const auto multipliers = [&](Text field, std::size_t count) {
    std::vector<double> found(count, 1.0);
    if (config.has(field)) found = config.numbers(field);
    if (found.size() != count) config.fail(field, fmt::format("{} numbers", count));
    return found;
  };
  const std::int64_t expanded = config.size("mamba_expand", 2) * model.d_model;
  Recurrence r = read_mamba2_part(config, config.size("mamba_d_ssm", 1024, expanded), *model.final_norm);
  r.output_bias = config.flag("projectors_bias", false);
  const std::vector<double> scales = multipliers("ssm_multipliers", 5);
  std::copy(scales.begin(), scales.end(), r.scales.begin());
  r.norm_before_gate = config.flag("mamba_norm_before_gate", true);
  r.norm_parts = r.n_groups;
  if (!config.flag("mamba_rms_norm", false)) r.norm.reset();
  const double attention_in = config.positive("attention_in_multiplier", 1.0);
  const double attention_out = config.positive("attention_out_multiplier", 1.0);
  const double key = config.positive("key_multiplier", 1.0);
  const double recurrence_in = config.positive("ssm_in_multiplier", 1.0);
  const double recurrence_out = config.positive("ssm_out_multiplier", 1.0);
  const std::vector<double> mlp = multipliers("mlp_multipliers", 2);
  for (Layer& layer : model.layers) {
    Sublayer recurrence{.kind = r, .norms = layer.sublayers[0].norms};
    recurrence.read_scale = recurrence_in;
    recurrence.residual_scale = recurrence_out;
    Sublayer& attention = layer.sublayers[0];
    attention.reads = Sublayer::Reads::first;
    attention.norms = {};
    attention.read_scale = attention_in;
    attention.residual_scale = attention_out;
    std::get<Attention>(attention.kind).scale *= key;
    layer.sublayers[1].residual_scale = mlp[1];
    std::get<FeedForward>(layer.sublayers[1].kind).gate_scale = mlp[0];
    layer.sublayers.insert(layer.sublayers.begin(), recurrence);
  }
  config.expect_on("mamba_use_mlp", "true: every layer has a feed-forward");
  config.expect_off("attn_layer_indices", "null: every layer attends");
  for (const char* field : {"layers_block_type", "layer_types"})
    if (const nlohmann::json* words = config.array(field))
      for (const nlohmann::json& word : *words)
        if (words->size() != model.layers.size() || (word != "hybrid" && word != "attention"))
          config.fail(field, "hybrid for every layer");
  config.number("mlp_expansion_factor", 1.0);  // nobody's: the files' own is not intermediate_size / hidden_size
  return model;
}

void name_falcon_h1(FamilyNames& names) {
  name_feed_forward(names);
  names.recurrence = mamba2_names("mamba.");
}

// One sublayer a layer, of four kinds.
Model read_nemotron_h(Fields& config) {
  config.rename("layers_block_type", {"layers_block_type", "layer_types"});
  config.rename("hidden_act", {"mlp_hidden_act"});
  config.rename("layer_norm_epsilon", {"layer_norm_epsilon", "norm_eps"});
  config.rename("n_groups", {"mamba_n_groups", "n_groups", "mamba_num_groups"});
  config.rename("ssm_state_size", {"ssm_state_size", "mamba_state_dim", "mamba_d_state"});
  config.rename("num_key_value_heads", {"num_key_value_heads", "num_query_groups"});
  config.rename("head_dim", {"head_dim", "attention_head_dim"});
  config.rename("conv_kernel", {"mamba_d_conv", "conv_kernel"});
  config.rename("use_conv_bias", {"mamba_conv_bias", "use_conv_bias"});
  Form form;
  form.norm.epsilon = 1e-5;
  form.epsilon_field = "layer_norm_epsilon";
  form.rotary = false;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 4096;
  form.activation = "relu2";
  form.gated = false;
  form.feed_forward_bias = config.flag("mlp_bias", false);
  // transformers has no such biases whatever these say, and its head is never tied.
  for (const char* name : {"attention_bias", "mamba_proj_bias"}) config.flag(name, false);
  config.rename("attention_bias", {"no_attention_bias"});
  std::vector<Kind> kinds, lettered;
  for (const char letter : config.word("hybrid_override_pattern", "ME*-")) {
    const std::string_view letters = "M*-E";
    if (letters.find(letter) == std::string_view::npos)
      config.fail("hybrid_override_pattern", "a word of M, E, * and -");
    lettered.push_back(static_cast<Kind>(letters.find(letter)));
  }
  if (const nlohmann::json* words = config.array("layers_block_type")) {
    for (std::size_t i = 0; i < words->size(); ++i)
      kinds.push_back(kind_of(config, "layers_block_type", i, (*words)[i]));
    if (config.has("hybrid_override_pattern") && lettered != kinds)
      config.fail("hybrid_override_pattern", fmt::format("what {} says", config.spelled("layers_block_type")));
  } else {
    kinds = lettered;
  }
  if (kinds.empty() || std::ssize(kinds) > most_layers)
    config.fail("layers_block_type", fmt::format("1 to {} entries", most_layers));
  // The list says how many there are.
  config.expect_size("num_hidden_layers", std::ssize(kinds), fmt::format("{}, one per entry", kinds.size()));
  config.assume({{"num_hidden_layers", kinds.size()}});
  Model model = read_form(config, form);
  model.head.tied = false;
  const Layer both_kinds = model.layers.front();
  model.layers.assign(kinds.size(), both_kinds);

  Recurrence r = mamba2(config.size("mamba_num_heads", 128), config.size("mamba_head_dim", 64),
                        config.size("n_groups", 8), config.size("ssm_state_size", 128));
  r.conv_width = config.size("conv_kernel", 4);
  r.conv_bias = config.flag("use_conv_bias", true);
  r.bias = r.output_bias = config.flag("use_bias", false);
  r.norm = model.final_norm;
  r.norm_parts = r.n_groups;
  // transformers holds its steps above this, whatever time_step_limit says.
  config.rename("time_step_min", {"mamba_dt_min", "time_step_min"});
  r.step_low = config.number("time_step_min", 0.001);
  config.ignore({"time_step_limit", "mamba_dt_limit", "mamba_dt_max", "mamba_dt_init_floor"});
  config.expect_word("mamba_hidden_act", "silu", "silu");

  config.rename("num_local_experts", {"n_routed_experts", "num_local_experts"});
  Mixture mixture = read_experts(config, model, 8, 2);
  mixture.shared = mixture.expert;
  mixture.shared->d_ff = config.size("moe_shared_expert_intermediate_size", 7688);
  mixture.expert.d_ff = config.size("moe_intermediate_size", 7688);
  mixture.expert.bias = false;
  mixture.d_latent = config.size("moe_latent_size", 0, 0);
  mixture.latent_bias = form.feed_forward_bias;
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = true;
  mixture.normalize = config.flag("norm_topk_prob", true);
  mixture.scale = config.positive("routed_scaling_factor", 1.0);
  mixture.n_groups = config.size("n_group", 1);
  mixture.n_active_groups = config.size("topk_group", 1);
  mixture.group_top = 2;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::vector<Sublayer>& both = model.layers[i].sublayers;  // attention, feed-forward
    const bool attends = kinds[i] == Kind::attention || kinds[i] == Kind::recurrence;
    both.erase(both.begin() + (attends ? 1 : 0));
    if (kinds[i] == Kind::recurrence) both[0].kind = r;
    if (kinds[i] == Kind::mixture) both[0].kind = mixture;
  }
  config.expect_off("sliding_window", "null: windows are not supported in this family");
  // The shared experts are one of the width that is said, however many there are (transformers).
  config.ignore({"expand", "mamba_expand", "mamba_ssm_cache_dtype", "n_shared_experts", "moe_shared_expert_overlap",
                 "hidden_dropout", "mtp_layers_block_type", "mtp_hybrid_override_pattern", "partial_rotary_factor",
                 "rope_theta", "rope_scaling", "rope_parameters", "rms_norm_eps", "time_step_rank"});
  ignore_start(config);
  return model;
}

void name_nemotron_h(FamilyNames& names) {
  name_backbone(names);
  names.query = "mixer.q_proj";
  names.key = "mixer.k_proj";
  names.value = "mixer.v_proj";
  names.output = "mixer.o_proj";
  names.feed_forward = {.up = "mixer.up_proj", .down = "mixer.down_proj"};
  names.shared = {.up = "mixer.shared_experts.up_proj", .down = "mixer.shared_experts.down_proj"};
  names.correction = "mixer.gate.e_score_correction_bias";
  names.mixtures = {{"mixer.gate", {.up = "mixer.experts.{}.up_proj", .down = "mixer.experts.{}.down_proj"}},
                    {"mixer.gate", {.up = "mixer.experts.up_proj", .down = "mixer.experts.down_proj"}}};
  for (MixtureNames& form : names.mixtures) {
    form.into = "mixer.fc1_latent_proj";
    form.out_of = "mixer.fc2_latent_proj";
  }
  names.recurrence = mamba2_names("mixer.");
}

// ---- linear attention

// Which layers attend to all: those that MiniMax's own field has a 1 for, or every other one.
std::vector<bool> read_full_layers(Fields& config, std::size_t layers) {
  std::vector<bool> full(layers);
  for (std::size_t i = 0; i < layers; ++i) full[i] = i % 2 == 0;
  const nlohmann::json* types = config.array("attn_type_list");
  if (types == nullptr) return full;
  if (types->size() != layers) config.fail("attn_type_list", fmt::format("{} entries, one per layer", layers));
  for (std::size_t i = 0; i < layers; ++i) {
    if ((*types)[i] != 0 && (*types)[i] != 1) config.fail("attn_type_list", "an array of 0 and 1");
    full[i] = (*types)[i] == 1;
  }
  return full;
}

// Mixtral, but norms take the place of the stream, and every other layer is lightning attention.
Model read_minimax(Fields& config) {
  config.expect_word("hidden_act", "silu", "silu: queries, keys and values of lightning attention have it too");
  // Its maker's own class: other names of the factors, and a list of the kinds that is always there.
  const std::string type = config.word("model_type", "");
  const bool in_makers_words = type == "minimax_text_01" || type == "minimax_m1";
  if (in_makers_words) {
    const std::pair<const char*, const char*> names[] = {{"full_attn", "layernorm_full_attention"},
                                                         {"linear_attn", "layernorm_linear_attention"},
                                                         {"mlp", "layernorm_mlp"}};
    for (const auto& [ours, makers] : names)
      for (const char* factor : {"alpha", "beta"})
        config.rename(fmt::format("{}_{}_factor", ours, factor), {fmt::format("{}_{}", makers, factor)});
    if (!config.has("attn_type_list")) config.fail("attn_type_list", "an array of 0 and 1, one per layer");
  }
  Model model = read_mixtral(config);
  const Attention& attention = first_attention(model);
  Recurrence r;
  r.rule = Recurrence::Rule::lightning;
  r.n_heads = r.n_groups = attention.n_heads;
  r.d_head = r.d_state = attention.d_head;
  r.norm = Norm{Norm::Kind::rms, 1e-6, true, false, false};  // its class's own epsilon, not the config's
  r.norm_before_gate = true;
  r.gate = Activation::sigmoid;
  const std::vector<bool> full = read_full_layers(config, model.layers.size());
  const std::vector<Kind> kinds = read_kinds(config, "layer_types", model.layers.size(), [&](std::int64_t layer) {
    return !full[static_cast<std::size_t>(layer)];
  });
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (config.has("attn_type_list") && full[i] != (kinds[i] == Kind::attention))
      config.refuse(fmt::format("layer_types[{}] and attn_type_list[{}] say different kinds of attention", i, i));
  // MiniMax's own code rotates so many elements of a head.
  if (config.has("rotary_dim")) {
    const std::int64_t dims = config.size("rotary_dim", attention.d_head);
    if (dims > attention.d_head || dims % 2 != 0)
      config.fail("rotary_dim", fmt::format("an even number of at most the {} elements of a head", attention.d_head));
    for_each<Attention>(model.layers, [&](Attention& each) { each.rope->dims = dims; });
  }
  // In the maker's own code it is off where a file does not say it.
  if (in_makers_words && !config.flag("postnorm", false))
    config.fail("postnorm", "true: norms take the stream's place");
  config.expect_on("postnorm", "true: norms take the stream's place");
  config.expect_off("shared_intermediate_size", "0: this family has no shared experts");
  config.ignore({"shared_moe_mode"});  // of shared experts
  set_recurrence(model, kinds, r);
  struct Factors {
    double alpha, beta;
  };
  const auto factors = [&](const std::string& of) {
    return Factors{config.positive(of + "_alpha_factor", 1.0), config.positive(of + "_beta_factor", 1.0)};
  };
  const Factors attending = factors("full_attn"), linear = factors("linear_attn"), mlp = factors("mlp");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::vector<Sublayer>& both = model.layers[i].sublayers;
    for (std::size_t k = 0; k < both.size(); ++k) {
      const Factors f = k == 1 ? mlp : kinds[i] == Kind::recurrence ? linear : attending;
      both[k].norms_stream = true;
      both[k].stream_scale = f.alpha;
      both[k].residual_scale = f.beta;
    }
  }
  config.ignore({"block_size"});  // of the way it is computed in
  return model;
}

void name_minimax(FamilyNames& names) {
  names.mixtures = {{"block_sparse_moe.gate",
                     {.gate = "block_sparse_moe.experts.{}.w1",
                      .up = "block_sparse_moe.experts.{}.w3",
                      .down = "block_sparse_moe.experts.{}.w2"}},
                    {"mlp.gate", {.down = "mlp.experts.down_proj", .gate_up = "mlp.experts.gate_up_proj"}}};
  names.recurrence.module = "self_attn.";
  names.recurrence.linears = {{"qkv_proj", {Part::query, Part::key, Part::value}, true}, {"output_gate", {Part::gate}}};
  names.recurrence.output = "out_proj";
  names.recurrence.gate_norm = "norm";
  names.recurrence.decay = "slope_rate";
}

// Griffin: gated linear recurrences, and attention to a window.
Model read_recurrent_gemma(Fields& config) {
  config.rename("hidden_act", {"hidden_activation"});
  Form form = gemma_form(config, 0);
  form.activation = "gelu_pytorch_tanh";
  config.expect_word("hidden_act", "gelu_pytorch_tanh", "gelu_pytorch_tanh: recurrences are gated by it too");
  form.d_head = 0;
  form.rope.fraction = 0.5;
  form.feed_forward_bias = true;
  config.rename("sliding_window", {"attention_window_size", "sliding_window"});
  form.attention.window = config.size("sliding_window", 2048);
  Model model = read_form(config, form);
  config.expect_on("embeddings_scale_by_sqrt_dim", "true");
  // transformers has this number in bfloat16.
  model.embedding_scale = bfloat16_root(model.d_model);
  model.head.softcap = config.positive("logits_soft_cap", 30.0);
  const std::int64_t heads = first_attention(model).n_heads;
  for_each<Attention>(model.layers, [](Attention& attention) { attention.output_bias = true; });
  for_each<FeedForward>(model.layers, [&](FeedForward& feed_forward) { feed_forward.d_ff /= 2; });
  Recurrence r;
  r.rule = Recurrence::Rule::rg_lru;
  r.n_heads = heads;
  const std::int64_t width = config.size("lru_width", model.d_model, model.d_model);
  if (width % heads != 0) config.fail("lru_width", fmt::format("a multiple of num_attention_heads, {}", heads));
  r.d_head = width / heads;
  r.conv_width = config.size("conv1d_width", 4);
  r.conv_bias = r.bias = r.output_bias = true;
  r.gate = Activation::gelu_tanh;
  const auto repeated = [&](const char* field) {
    static const nlohmann::json usual = {"recurrent", "recurrent", "attention"};
    const nlohmann::json* found = config.array(field);
    std::vector<Kind> pattern, kinds;
    for (const nlohmann::json& word : found != nullptr ? *found : usual) {
      if (word != "recurrent" && word != "attention") config.fail(field, "an array of recurrent and attention");
      pattern.push_back(word == "recurrent" ? Kind::recurrence : Kind::attention);
    }
    if (pattern.empty()) config.fail(field, "at least one of recurrent and attention");
    for (std::size_t i = 0; i < model.layers.size(); ++i) kinds.push_back(pattern[i % pattern.size()]);
    return kinds;
  };
  const std::vector<Kind> kinds = repeated(config.has("block_types") ? "block_types" : "_block_types");
  if (config.has("_block_types") && repeated("_block_types") != kinds)
    config.fail("_block_types", "what block_types says");
  set_recurrence(model, kinds, r);
  config.ignore({"w_init_variance_scale", "final_w_init_variance_scale"});
  return model;
}

void name_recurrent_gemma(FamilyNames& names) {
  names.final_norm = "final_norm";
  names.attention_norm = "temporal_pre_norm";
  names.feed_forward_norm = "channel_pre_norm";
  names.query = "temporal_block.q_proj";
  names.key = "temporal_block.k_proj";
  names.value = "temporal_block.v_proj";
  names.output = "temporal_block.o_proj";
  names.feed_forward = {.gate = "mlp_block.gate_proj", .up = "mlp_block.up_proj", .down = "mlp_block.down_proj"};
  RecurrenceNames& griffin = names.recurrence;
  griffin.module = "temporal_block.";
  griffin.linears = {{"linear_x", {Part::value}}, {"linear_y", {Part::gate}}};
  griffin.convolutions = {{"conv_1d", {Part::value_convolution}}};
  griffin.output = "linear_out";
  griffin.decay = "rg_lru.recurrent_param";
  griffin.step_gate = "rg_lru.recurrent_gate";
  griffin.beta_gate = "rg_lru.input_gate";
}

// ---- the gated delta rule

// Heads that are normalised by one weight, then gated.
Recurrence delta(std::int64_t heads, std::int64_t d_head, std::int64_t groups, std::int64_t d_state, double epsilon) {
  Recurrence r;
  r.rule = Recurrence::Rule::delta;
  r.n_heads = r.norm_parts = heads;
  r.d_head = d_head;
  r.n_groups = groups;
  r.d_state = d_state;
  r.norm = Norm{Norm::Kind::rms, epsilon, true, false, false};
  r.norm_shared = r.norm_before_gate = true;
  return r;
}

// Qwen3-Next and 3.5: gated attention with norms by 1 + w, between layers of the delta rule.
Model read_qwen_hybrid(Fields& config, std::int64_t n_kv_heads) {
  config.expect_word("hidden_act", "silu", "silu: it is what is behind the convolutions too");
  Form form;
  form.norm.weight_plus_one = true;
  form.rope.fraction = 0.25;
  form.n_kv_heads = n_kv_heads;
  form.d_head = 256;
  form.context = 32768;
  form.query_key_norm = true;
  form.attention_bias = config.flag("attention_bias", false);
  form.attention.gate = OutputGate{.bias = form.attention_bias};
  form.widening = 4;  // where all layers have experts, the config has no other width
  Model model = read_form(config, form);
  Recurrence r = delta(config.size("linear_num_value_heads", 32), config.size("linear_value_head_dim", 128),
                       config.size("linear_num_key_heads", 16), config.size("linear_key_head_dim", 128),
                       model.final_norm->epsilon);
  r.conv_width = config.size("linear_conv_kernel_dim", 4);
  const std::int64_t interval = config.size("full_attention_interval", 4);
  set_recurrence(model,
                 read_kinds(config, "layer_types", model.layers.size(),
                            [=](std::int64_t layer) { return (layer + 1) % interval != 0; }),
                 r);
  config.expect_on("attn_output_gate", "true: this family's attention is gated");
  config.expect_word("output_gate_type", "swish", "swish");
  config.expect_off("mtp_use_dedicated_embeddings", "false: layers that predict tokens read the model's embedding");
  config.ignore({"mamba_ssm_dtype"});
  return model;
}

Mixture read_qwen_mixture(Fields& config, const Model& model, std::int64_t experts, std::int64_t active) {
  config.rename("num_local_experts", {"num_experts", "num_local_experts"});
  Mixture mixture = read_experts(config, model, experts, active);
  mixture.normalize = config.flag("norm_topk_prob", true);
  mixture.shared = mixture.expert;
  mixture.shared->d_ff = config.size("shared_expert_intermediate_size", 512);
  mixture.shared_gate = true;
  mixture.expert.d_ff = config.size("moe_intermediate_size", 512);
  return mixture;
}

Model read_qwen3_next(Fields& config) {
  Model model = read_qwen_hybrid(config, 2);
  const Mixture mixture = read_qwen_mixture(config, model, 512, 10);
  set_mixture(model, mixture, read_sparse_steps(config));
  return model;
}

Model read_qwen3_5_text(Fields& config) { return read_qwen_hybrid(config, 4); }

Model read_qwen3_5_moe_text(Fields& config) {
  Model model = read_qwen_hybrid(config, 2);
  set_mixture(model, read_qwen_mixture(config, model, 256, 8));
  config.expect_off("mlp_only_layers", "an empty array: every layer has experts");
  return model;
}

void name_qwen_hybrid(FamilyNames& names) {
  name_experts(names);
  names.gate_with_query = true;
  names.shared = {
      .gate = "mlp.shared_expert.gate_proj", .up = "mlp.shared_expert.up_proj", .down = "mlp.shared_expert.down_proj"};
  RecurrenceNames& delta = names.recurrence;
  delta.module = "linear_attn.";
  delta.convolutions = {{"conv1d", {Part::query_convolution, Part::key_convolution, Part::value_convolution}}};
  delta.output = "out_proj";
  delta.gate_norm = "norm";
  delta.decay = "A_log";
  delta.step_bias = "dt_bias";
}

void name_qwen3_next(FamilyNames& names) {
  name_qwen_hybrid(names);
  names.recurrence.linears = {{"in_proj_qkvz", {Part::query, Part::key, Part::value, Part::gate}, true},
                              {"in_proj_ba", {Part::beta, Part::step}, true}};
}

void name_qwen3_5(FamilyNames& names) {
  name_qwen_hybrid(names);
  names.recurrence.linears = {{"in_proj_qkv", {Part::query, Part::key, Part::value}},
                              {"in_proj_z", {Part::gate}},
                              {"in_proj_b", {Part::beta}},
                              {"in_proj_a", {Part::step}}};
}

// OLMo 3's attention, with norms behind it; the delta rule with norms before it.
Model read_olmo_hybrid(Fields& config) {
  config.expect_word("hidden_act", "silu", "silu: it is what is behind the convolutions too");
  Form form;
  form.context = 65536;
  form.query_key_norm = true;
  form.attention.norm_span = Attention::NormSpan::all_heads;
  form.attention_bias = config.flag("attention_bias", false);
  // Without a base, nothing is rotated.
  form.rotary = config.has("rope_theta");
  if (std::optional<Fields> rope = config.object("rope_parameters"))
    form.rotary = form.rotary || rope->has("rope_theta");
  if (!form.rotary) config.ignore({"rope_parameters", "rope_scaling"});
  Model model = read_form(config, form);
  const std::int64_t heads = first_attention(model).n_heads;
  const std::int64_t groups = config.size("linear_num_key_heads", heads);
  const std::int64_t d_key =
      config.size("linear_key_head_dim", std::max<std::int64_t>(1, 3 * model.d_model / (4 * groups)));
  Recurrence r = delta(config.size("linear_num_value_heads", heads), config.size("linear_value_head_dim", 2 * d_key),
                       groups, d_key, 1e-5);
  r.conv_width = config.size("linear_conv_kernel_dim", 4);
  if (config.flag("linear_allow_neg_eigval", true)) r.beta_scale = 2.0;
  std::vector<Kind> kinds =
      read_kinds(config, "layer_types", model.layers.size(), [&](std::int64_t layer) { return layer % 4 != 3; });
  if (!config.has("layer_types") && kinds.size() < 4) kinds.back() = Kind::attention;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != Kind::attention) continue;
    for (Sublayer& sublayer : model.layers[i].sublayers) std::swap(sublayer.norms.before, sublayer.norms.after);
  }
  set_recurrence(model, kinds, r);
  config.ignore({"linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max", "linear_dt_init_floor"});
  return model;
}

void name_olmo_hybrid(FamilyNames& names) {
  names.attention_norm = "attention_layer_norm";
  names.attention_norm_after = "post_attention_layernorm";
  names.attention_norm_after_too = "feedforward_layer_norm";
  names.feed_forward_norm = "feedforward_layer_norm";
  names.feed_forward_norm_after = "post_feedforward_layernorm";
  RecurrenceNames& delta = names.recurrence;
  delta.module = "linear_attn.";
  delta.linears = {{"q_proj", {Part::query}}, {"k_proj", {Part::key}},  {"v_proj", {Part::value}},
                   {"g_proj", {Part::gate}},  {"b_proj", {Part::beta}}, {"a_proj", {Part::step}}};
  delta.convolutions = {{"q_conv1d", {Part::query_convolution}},
                        {"k_conv1d", {Part::key_convolution}},
                        {"v_conv1d", {Part::value_convolution}}};
  delta.output = "o_proj";
  delta.gate_norm = "o_norm";
  delta.decay = "A_log";
  delta.step_bias = "dt_bias";
}

// Kimi Linear: decays for each channel of a key, between layers of latent attention without positions. The fields are
// those of Moonshot's own class (configuration_kimi.py beside the weights).
Model read_kimi_linear(Fields& config) {
  config.expect_word("hidden_act", "silu", "silu: it is what is behind the convolutions too");
  Latent latent;
  latent.query_rank = config.size("q_lora_rank", 0, 0);
  latent.kv_rank = config.size("kv_lora_rank");
  latent.d_nope = config.size("qk_nope_head_dim");
  latent.d_rope = config.size("qk_rope_head_dim");
  latent.norm = {Norm::Kind::rms, 1e-6, true, false, false};
  if (!config.flag("mla_use_nope", false)) config.fail("mla_use_nope", "true: rotated latents are not supported");
  Form form;
  form.rotary = false;
  form.norm.epsilon = 1e-5;
  form.d_head = latent.d_nope + latent.d_rope;
  form.attention.latent = latent;
  form.attention.d_value = config.size("v_head_dim");
  config.rename("max_position_embeddings", {"model_max_length", "max_position_embeddings"});
  config.rename("head_dim", {"qk_head_dim"});  // what files call head_dim has no use
  config.ignore({"head_dim", "rope_theta", "rope_scaling"});
  Model model = read_form(config, form);

  std::optional<Fields> linear = config.object("linear_attn_config");
  if (!linear) config.fail("linear_attn_config", "an object");
  const std::int64_t heads = linear->size("num_heads"), width = linear->size("head_dim");
  Recurrence r = delta(heads, width, heads, width, model.final_norm->epsilon);
  r.conv_width = linear->size("short_conv_kernel_size", 4);
  r.channel_decay = true;
  r.step_rank = r.gate_rank = width;
  r.gate = Activation::sigmoid;
  // Moonshot's class asks for both lists, which count from 1.
  const std::size_t layers = model.layers.size();
  const auto recurrent = read_numbers(*linear, "kda_layers", layers, 1);
  const auto full = read_numbers(*linear, "full_attn_layers", layers, 1);
  if (!recurrent) linear->fail("kda_layers", fmt::format("an array of layer numbers, 1 to {}", layers));
  if (!full) linear->fail("full_attn_layers", fmt::format("an array of layer numbers, 1 to {}", layers));
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < layers; ++i) {
    if ((*recurrent)[i] == (*full)[i]) linear->fail("full_attn_layers", "the layers that kda_layers does not name");
    kinds.push_back((*recurrent)[i] ? Kind::recurrence : Kind::attention);
  }
  linear->refuse_unread("kimi_linear");
  set_recurrence(model, kinds, r);

  config.rename("num_local_experts", {"num_experts"});
  config.rename("num_experts_per_tok", {"num_experts_per_token", "num_experts_per_tok"});
  Mixture mixture = read_experts(config, model, 1, 1);
  const std::int64_t shared = config.count("num_shared_experts", 0, 0);
  const std::int64_t d_expert = config.size("moe_intermediate_size");
  if (shared > 0) {
    mixture.shared = mixture.expert;
    mixture.shared->d_ff = shared * d_expert;
  }
  mixture.expert.d_ff = d_expert;
  mixture.scores = Mixture::Scores::sigmoid;
  config.expect_word("moe_router_activation_func", "sigmoid", "sigmoid");
  mixture.correction_bias = true;
  mixture.normalize = config.flag("moe_renormalize", true);
  mixture.scale = config.positive("routed_scaling_factor", 1.0);
  mixture.n_groups = config.size("num_expert_group", 1);
  mixture.n_active_groups = config.size("topk_group", 1);
  mixture.group_top = 2;
  config.expect_size("moe_layer_freq", 1, "1: every layer after the dense ones");
  config.expect_on("use_grouped_topk", "true: experts are chosen from the best groups");
  const std::int64_t dense = config.count("first_k_dense_replace", 0);
  set_mixture(model, mixture, [=](std::int64_t layer) { return layer >= dense; });
  return model;
}

void name_kimi_linear(FamilyNames& names) {
  name_deepseek(names);
  names.mixtures = {{"block_sparse_moe.gate",
                     {.gate = "block_sparse_moe.experts.{}.w1",
                      .up = "block_sparse_moe.experts.{}.w3",
                      .down = "block_sparse_moe.experts.{}.w2"}}};
  names.correction = "block_sparse_moe.gate.e_score_correction_bias";
  names.shared = {.gate = "block_sparse_moe.shared_experts.gate_proj",
                  .up = "block_sparse_moe.shared_experts.up_proj",
                  .down = "block_sparse_moe.shared_experts.down_proj"};
  RecurrenceNames& delta = names.recurrence;
  delta.module = "self_attn.";
  delta.linears = {{"q_proj", {Part::query}},       {"k_proj", {Part::key}},    {"v_proj", {Part::value}},
                   {"f_a_proj", {Part::step_down}}, {"f_b_proj", {Part::step}}, {"b_proj", {Part::beta}},
                   {"g_a_proj", {Part::gate_down}}, {"g_b_proj", {Part::gate}}};
  delta.convolutions = {{"q_conv1d", {Part::query_convolution}},
                        {"k_conv1d", {Part::key_convolution}},
                        {"v_conv1d", {Part::value_convolution}}};
  delta.output = "o_proj";
  delta.gate_norm = "o_norm";
  delta.decay = "A_log";
  delta.decay_of_four = true;
  delta.step_bias = "dt_bias";
}

}  // namespace

std::vector<Family> recurrent_families() {
  return {
      {"bamba", read_bamba, {128000, 4096, 14336, 32, 32}, name_bamba},
      {"falcon_h1", read_falcon_h1, {128000, 4096, 14336, 32, 32}, name_falcon_h1},
      {"falcon_mamba", read_falcon_mamba, {}, name_mamba},
      {"granitemoehybrid", read_granitemoehybrid, {32000, 4096, 11008, 32, 32}, name_granitemoehybrid},
      {"jamba", read_jamba, {65536, 4096, 14336, 32, 32}, name_jamba},
      {"kimi_linear", read_kimi_linear, {}, name_kimi_linear},
      {"lfm2", read_lfm2, {65536, 2560, 12288, 32, 32}, name_lfm2},
      {"lfm2_moe", read_lfm2_moe, {65536, 2048, 7168, 32, 32}, name_lfm2_moe},
      {"mamba", read_mamba, {}, name_mamba},
      {"mamba2", read_mamba2, {}, name_mamba2},
      {"minimax", read_minimax, {32000, 4096, 14336, 32, 32}, name_minimax},
      {"nemotron_h", read_nemotron_h, {}, name_nemotron_h},
      {"recurrent_gemma", read_recurrent_gemma, {256000, 2560, 7680, 26, 10}, name_recurrent_gemma},
      {"olmo_hybrid", read_olmo_hybrid, {100352, 3840, 11008, 32, 30}, name_olmo_hybrid},
      {"qwen3_5_moe_text", read_qwen3_5_moe_text, {248320, 2048, 8192, 40, 16}, name_qwen3_5},
      {"qwen3_5_text", read_qwen3_5_text, {248320, 4096, 12288, 32, 16}, name_qwen3_5},
      {"qwen3_next", read_qwen3_next, {151936, 2048, 5632, 48, 16}, name_qwen3_next},
  };
}

}  // namespace reckon
