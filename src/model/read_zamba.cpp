// Zamba: a block of attention and feed-forward that several layers share, beside Mamba in every layer. The block reads
// the stream and what was embedded, and what it makes is added to what its layer's Mamba reads, not to the stream.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

// Which layers have the block: as the field says, or by `usual`.
std::vector<bool> read_hybrids(Fields& config, std::size_t layers, const LayerRule& usual) {
  const nlohmann::json* newer = config.array("layer_types");  // transformers' name of all families
  if (!config.has("layers_block_type")) config.rename("layers_block_type", {"layer_types"});
  std::vector<bool> hybrids;
  if (const nlohmann::json* words = config.array("layers_block_type")) {
    for (const nlohmann::json& word : *words) {
      if (word != "hybrid" && word != "linear_attention" && word != "mamba")
        config.fail("layers_block_type", "an array of hybrid and linear_attention");
      hybrids.push_back(word == "hybrid");
    }
    if (hybrids.size() != layers) config.fail("layers_block_type", fmt::format("{} entries, one per layer", layers));
    if (newer != nullptr && *newer != *words) config.fail("layer_types", "what layers_block_type says");
    return hybrids;
  }
  for (std::size_t i = 0; i < layers; ++i) hybrids.push_back(usual(static_cast<std::int64_t>(i)));
  return hybrids;
}

Form zamba_form(Fields& config) {
  config.rename("head_dim", {"attention_head_dim"});
  const std::int64_t heads = config.size("num_attention_heads"), width = config.size("hidden_size");
  Form form;
  form.norm.epsilon = 1e-5;
  form.activation = "gelu";
  form.rotary = false;
  form.d_head = 2 * width / heads;
  form.attention.scale = 1.0 / std::sqrt(static_cast<double>(config.size("head_dim", form.d_head, form.d_head)) / 2.0);
  form.context = 4096;
  form.tied = true;
  config.expect_size("attention_hidden_size", 2 * width, fmt::format("{}, twice hidden_size", 2 * width));
  // How the scan is run, and how weights began.
  config.ignore({"use_mamba_kernels", "num_logits_to_keep", "time_step_max", "time_step_floor"});
  return form;
}

// The numbers of the layers that have the block, which a file may repeat.
void expect_hybrid_ids(Fields& config, const std::vector<bool>& hybrids) {
  const nlohmann::json* found = config.array("hybrid_layer_ids");
  nlohmann::json ids = nlohmann::json::array();
  for (std::size_t i = 0; i < hybrids.size(); ++i)
    if (hybrids[i]) ids.push_back(i);
  if (found != nullptr && *found != ids)
    config.fail("hybrid_layer_ids", fmt::format("the {} layers that are hybrid, in order", ids.size()));
}

// The layers: Mamba in each, and in front of it, in some of them, one of `blocks` shared blocks in turn.
void set_layers(Model& model, const std::vector<bool>& hybrids, const Recurrence& recurrence, std::size_t blocks) {
  const Layer form = model.layers.front();
  Sublayer attention = form.sublayers[0], feed_forward = form.sublayers[1], mamba = form.sublayers[0];
  attention.reads = Sublayer::Reads::embedded;
  feed_forward.reads = Sublayer::Reads::made;
  attention.adds = feed_forward.adds = false;
  feed_forward.projects = true;
  mamba.kind = recurrence;
  std::vector<std::size_t> owners;  // of each block
  std::size_t count = 0;
  for (std::size_t i = 0; i < hybrids.size(); ++i) {
    model.layers[i].sublayers = {mamba};
    if (!hybrids[i]) continue;
    if (owners.size() < blocks) owners.push_back(i);
    // transformers ties the blocks where it ties the head.
    attention.shares = feed_forward.shares =
        model.head.tied ? static_cast<std::int64_t>(i - owners[count++ % blocks]) : 0;
    mamba.reads = Sublayer::Reads::sum;
    model.layers[i].sublayers = {attention, feed_forward, mamba};
    mamba.reads = Sublayer::Reads::stream;
  }
}

// A number, or "auto" for a sixteenth of the width.
std::int64_t read_rank(Fields& config, std::int64_t d_model) {
  const nlohmann::json* found = config.value("mamba_dt_rank");
  if (found != nullptr && *found != "auto") return config.size("mamba_dt_rank");
  config.ignore({"mamba_dt_rank"});
  return (d_model + 15) / 16;
}

Model read_zamba(Fields& config) {
  Form form = zamba_form(config);
  form.n_kv_heads = 16;
  Model model = read_form(config, form);
  Recurrence r;
  r.rule = Recurrence::Rule::mamba;
  r.n_heads = config.size("mamba_expand", 2) * model.d_model;
  r.n_groups = config.size("n_mamba_heads", 2);
  r.d_head = 1;
  if (r.n_heads % r.n_groups != 0)
    config.fail("n_mamba_heads", fmt::format("a divisor of the inner width, {}", r.n_heads));
  r.d_state = config.size("mamba_d_state", 16);
  r.step_rank = read_rank(config, model.d_model);
  r.conv_width = config.size("mamba_d_conv", 4);
  r.conv_bias = config.flag("mamba_conv_bias", true);
  r.bias = r.output_bias = config.flag("mamba_proj_bias", false);
  config.expect_word("hidden_mamba_act", "silu", "silu");
  config.ignore({"time_step_min", "rope_theta"});  // it has no rotary positions
  const std::int64_t period = config.size("attn_layer_period", 6), offset = config.count("attn_layer_offset", 4);
  set_layers(
      model,
      read_hybrids(config, model.layers.size(),
                   [=](std::int64_t layer) { return layer == 2 || (layer > 2 && (layer - 3) % period == offset); }),
      r, 1);
  return model;
}

void name_shared_block(FamilyNames& names, std::string_view attention_norm) {
  names.final_norm = "final_layernorm";
  names.attention_norm = attention_norm;
  names.projection = "linear";
  names.recurrence.module = "mamba.";
  names.recurrence.norm = "input_layernorm";
  names.recurrence.beside_attention = "mamba_decoder.";
  names.recurrence.convolutions = {{"conv1d", {Part::value_convolution}}};
  names.recurrence.output = "out_proj";
  names.recurrence.decay = "A_log";
  names.recurrence.skip = "D";
}

void name_zamba(FamilyNames& names) {
  name_shared_block(names, "shared_transf.input_layernorm");
  names.query = "shared_transf.self_attn.q_proj";
  names.key = "shared_transf.self_attn.k_proj";
  names.value = "shared_transf.self_attn.v_proj";
  names.output = "shared_transf.self_attn.o_proj";
  names.feed_forward_norm = "shared_transf.pre_ff_layernorm";
  names.feed_forward = {.gate = "shared_transf.feed_forward.gate_proj",
                        .up = "shared_transf.feed_forward.up_proj",
                        .down = "shared_transf.feed_forward.down_proj"};
  RecurrenceNames& mamba = names.recurrence;
  mamba.linears = {{.module = "in_proj", .parts = {Part::value, Part::gate}, .alternate = true},
                   {.module = "x_proj_weight", .parts = {Part::step_down, Part::key, Part::query}, .by_head = true},
                   {.module = "dt_proj_weight", .parts = {Part::step}, .by_head = true}};
  mamba.step_bias = "dt_proj_bias";
  mamba.heads_apart = true;
}

Model read_zamba2(Fields& config) {
  config.rename("intermediate_size", {"intermediate_size", "ffn_hidden_size"});
  if (!config.flag("use_shared_mlp_adapter", true)) config.fail("use_shared_mlp_adapter", "true");
  Form form = zamba_form(config);
  form.widening = 4;
  form.feed_forward_bias = config.flag("add_bias_linear", false);
  form.rotary = config.flag("use_mem_rope", false);
  if (!form.rotary) config.ignore({"rope_parameters", "rope_theta", "rope_scaling"});
  Model model = read_form(config, form);
  if (config.flag("use_long_context", false)) model.context = 16384;
  const std::int64_t rank = config.size("adapter_rank", 128);
  const bool adapts = config.flag("use_shared_attention_adapter", false);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.adapter_rank = adapts ? rank : 0; });
  for_each<FeedForward>(model.layers, [&](FeedForward& feed_forward) { feed_forward.adapter_rank = rank; });
  const std::int64_t inner = config.size("mamba_expand", 2) * model.d_model;
  Recurrence r;
  r.rule = Recurrence::Rule::mamba2;
  r.n_heads = config.size("n_mamba_heads", 8);
  if (inner % r.n_heads != 0) config.fail("n_mamba_heads", fmt::format("a divisor of the inner width, {}", inner));
  r.d_head = inner / r.n_heads;
  r.n_groups = config.size("mamba_ngroups", 1);
  r.d_state = config.size("mamba_d_state", 64);
  r.conv_width = config.size("mamba_d_conv", 4);
  r.conv_bias = true;
  config.ignore({"use_conv_bias"});  // whatever it says: transformers' network always has one
  r.bias = r.output_bias = form.feed_forward_bias;
  r.step_low = config.number("time_step_min", 0.001);
  r.norm = Norm{Norm::Kind::rms, 1e-5, true, false, false};
  r.norm_parts = r.n_groups;
  const std::int64_t heads = config.size("num_attention_heads"), part = model.d_model / heads;
  config.expect_size("mamba_headdim", r.d_head, fmt::format("{}, the inner width over n_mamba_heads", r.d_head));
  config.expect_size("kv_channels", part, fmt::format("{}, hidden_size over num_attention_heads", part));
  config.expect_size("num_query_groups", heads, fmt::format("{}, as num_attention_heads", heads));
  config.ignore({"chunk_size", "use_mem_eff_path"});  // how the scan is run
  const std::int64_t blocks = config.size("num_mem_blocks", 1);
  const std::vector<bool> hybrids = read_hybrids(config, model.layers.size(), [](std::int64_t layer) {
    return (layer > 0 && layer <= 42 && layer % 6 == 0) || layer == 47 || layer == 51;
  });
  expect_hybrid_ids(config, hybrids);
  set_layers(model, hybrids, r, static_cast<std::size_t>(blocks));
  return model;
}

void name_zamba2(FamilyNames& names) {
  name_shared_block(names, "shared_transformer.input_layernorm");
  names.query = "shared_transformer.self_attn.q_proj";
  names.key = "shared_transformer.self_attn.k_proj";
  names.value = "shared_transformer.self_attn.v_proj";
  names.output = "shared_transformer.self_attn.o_proj";
  names.query_adapter = "shared_transformer.self_attn.linear_q_adapter_list.{}";
  names.key_adapter = "shared_transformer.self_attn.linear_k_adapter_list.{}";
  names.value_adapter = "shared_transformer.self_attn.linear_v_adapter_list.{}";
  names.feed_forward_norm = "shared_transformer.pre_ff_layernorm";
  names.feed_forward = {.down = "shared_transformer.feed_forward.down_proj",
                        .gate_up = "shared_transformer.feed_forward.gate_up_proj"};
  names.feed_forward_adapter = "shared_transformer.feed_forward.gate_up_proj_adapter_list.{}";
  RecurrenceNames& mamba = names.recurrence;
  mamba.linears = {{"in_proj", {Part::gate, Part::value, Part::key, Part::query, Part::step}}};
  mamba.convolutions = {{"conv1d", {Part::value_convolution, Part::key_convolution, Part::query_convolution}}};
  mamba.gate_norm = "norm";
  mamba.step_bias = "dt_bias";
}

}  // namespace

std::vector<Family> zamba_families() {
  return {
      {"zamba", read_zamba, {32000, 3712, 14848, 76, 16}, name_zamba},
      {"zamba2", read_zamba2, {32000, 2560, 10240, 54, 32}, name_zamba2},
  };
}

}  // namespace reckon
