// Later members of the LLaMA line, with plain feed-forwards.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

void keep_rope_where_windowed(Model& model) {
  for_each<Attention>(model.layers, [](Attention& attention) {
    if (attention.window == 0) attention.rope.reset();
  });
}

// no_rope_layers has a 1 for each layer with RoPE.
void read_rope_layers(Fields& config, Model& model) {
  const std::int64_t interval = config.size("no_rope_layer_interval", 4);
  const nlohmann::json* layers = config.array("no_rope_layers");
  if (layers && layers->empty()) layers = nullptr;
  if (layers && layers->size() != model.layers.size())
    config.fail("no_rope_layers", fmt::format("{} entries, one per layer", model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    bool rotated = (static_cast<std::int64_t>(i) + 1) % interval != 0;
    if (layers) {
      const nlohmann::json& entry = (*layers)[i];
      if (entry != 0 && entry != 1) config.fail("no_rope_layers", "an array of 0 and 1");
      rotated = entry == 1;
    }
    if (!rotated) find<Attention>(model.layers[i])->rope.reset();
  }
}

void read_pattern_windows(Fields& config, Model& model, std::int64_t window, std::int64_t pattern, const Ropes* ropes) {
  if (config.spellings("sliding_window_pattern").size() == 1 &&
      config.spellings("sliding_window_pattern").front() == "sliding_window_pattern")
    config.rename("sliding_window_pattern", {"sliding_window_pattern", "_sliding_window_pattern"});
  pattern = config.count("sliding_window_pattern", pattern);
  read_windows(
      config, model, window,
      [=](std::int64_t layer) { return window > 0 && pattern > 0 && (layer + 1) % pattern != 0; }, ropes);
}

Model read_olmo2_form(Fields& config, Form form) {
  form.attention_bias = config.flag("attention_bias", false);
  form.norm_before = false;
  form.norm_after = true;
  form.query_key_norm = true;
  form.attention.norm_span = Attention::NormSpan::all_heads;
  return read_form(config, form);
}

// granite_swa: windows on three layers of four, and layers whose RoPE has a base of their own, or that have none.
void read_granite_windows(Fields& config, Model& model) {
  const std::int64_t window = config.count("sliding_window", 128, 0);
  read_windows(config, model, window, [](std::int64_t layer) { return layer % 4 != 0; });
  const nlohmann::json* thetas = config.array("layer_rope_theta");
  if (thetas == nullptr) return;
  if (thetas->size() != model.layers.size())
    config.fail("layer_rope_theta", fmt::format("{} entries, one per layer", model.layers.size()));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const nlohmann::json& theta = (*thetas)[i];
    Attention& attention = *find<Attention>(model.layers[i]);
    if (theta.is_null() || theta == 0) {
      attention.rope.reset();
      continue;
    }
    if (!theta.is_number() || theta.get<double>() < 0) config.fail("layer_rope_theta", "an array of numbers and nulls");
    attention.rope->theta = theta.get<double>();
  }
}

Form exaone4_form(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.query_key_norm = true;
  config.ignore({"sliding_window_pattern"});
  return form;
}

// Layers without a window have no RoPE, where others have one.
void read_exaone4_windows(Fields& config, Model& model) {
  if (const nlohmann::json* pattern = config.value("sliding_window_pattern"); pattern && pattern->is_string()) {
    // LLLG: a letter a layer, over and over.
    const std::string letters = pattern->get<std::string>();
    if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos)
      config.fail("sliding_window_pattern", "a whole number, or letters L and G");
    const std::int64_t window = config.count("sliding_window", 4096, 0);
    read_windows(config, model, window, [=](std::int64_t layer) {
      return window > 0 && letters[static_cast<std::size_t>(layer) % letters.size()] == 'L';
    });
  } else {
    read_pattern_windows(config, model, config.count("sliding_window", 4096, 0), 4);
  }
  if (config.has("sliding_window") || !config.present("sliding_window")) keep_rope_where_windowed(model);
}

Form hunyuan_form(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.attention.norm_after_rope = true;
  config.rename("head_dim", {"head_dim", "attention_head_dim"});
  config.expect_off("use_cla", "false: keys of other layers are not supported");
  config.expect_off("position_embedding_xdrope", "false: positions have one axis");
  if (!config.flag("use_qk_norm", true)) config.fail("use_qk_norm", "true");
  if (!config.flag("use_rotary_pos_emb", true)) config.fail("use_rotary_pos_emb", "true");
  config.expect_off("add_classification_head", "false: heads that classify are not supported");
  config.expect_word("norm_type", "rms", "rms");
  // Of that head and of keys of other layers, and of its training; d_head and d_ff again.
  config.ignore({"class_num", "cla_share_factor", "dense_list", "eod_token_id", "im_end_id", "im_newline_id",
                 "im_start_id", "image_token_id", "mask_init_id", "org_vocab_size", "pool_type", "sep_token_id",
                 "text_end_id", "text_start_id", "pad_id", "bos_id", "eos_id", "eod_id"});
  return form;
}

void name_hunyuan(FamilyNames& names) {
  names.query_norm = "self_attn.query_layernorm";
  names.key_norm = "self_attn.key_layernorm";
}

Form cohere2_form(Fields& config) {
  Form form = layer_norm_form("layer_norm_eps", false);
  form.attention_bias = config.flag("attention_bias", false);
  form.rope.interleaved = true;
  form.context = 8192;
  form.tied = true;
  form.feed_forward_reads = Sublayer::Reads::first;
  config.expect_off("use_qk_norm", "false: this family has no such norms");
  config.expect_word("position_embedding_type", "rope_gptj", "rope_gptj");
  config.expect_word("order_of_interleaved_layers", "local_attn_first", "local_attn_first");
  // The network again, in Cohere's own words.
  config.expect_on("use_gated_activation", "true: this family's feed-forward is gated");
  config.expect_on("use_parallel_block", "true: attention and feed-forward stand side by side in this family");
  config.rename("tie_word_embeddings", {"tie_word_embeddings", "use_embedding_sharing"});
  if (config.number("rotary_pct", 1.0) != 1.0) config.fail("rotary_pct", "1: whole heads are rotated");
  config.ignore({"use_parallel_embedding"});  // how it was trained
  return form;
}

namespace {

Model read_smollm3(Fields& config) {
  Form form = llama_form(config);
  form.rope.theta = 2e6;
  form.n_kv_heads = 4;
  form.context = 32768;
  form.tied = true;
  Model model = read_form(config, form);
  read_rope_layers(config, model);
  const bool used = config.flag("use_sliding_window", false);
  const std::int64_t window = config.count("sliding_window", 0);
  std::vector<bool> rotated;
  for (const Layer& layer : model.layers) rotated.push_back(find<Attention>(layer)->rope.has_value());
  read_windows(config, model, window,
               [&](std::int64_t layer) { return used && window > 0 && !rotated[static_cast<std::size_t>(layer)]; });
  config.ignore({"max_window_layers"});
  return model;
}

Model read_olmo(Fields& config) {
  Form form;
  form.norm = {Norm::Kind::layer, 1e-5, false, false, false};
  form.epsilon_field = "";
  form.attention_bias = config.flag("attention_bias", false);
  form.attention.clip = config.number("clip_qkv", 0.0);
  config.ignore({"rms_norm_eps"});  // its norms are others, whose epsilon is always 1e-5
  return read_form(config, form);
}

Model read_olmo3(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.rope = {5e5, 1.0, 5e5, false};
  Model model = read_olmo2_form(config, form);
  const Ropes ropes = read_rope(config, form.rope, first_attention(model).d_head, model.context);
  read_pattern_windows(config, model, config.count("sliding_window", 4096, 0), 4, &ropes);
  return model;
}

Model read_cohere2(Fields& config) {
  Model model = read_form(config, cohere2_form(config));
  config.rename("sliding_window_pattern", {"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"});
  read_pattern_windows(config, model, config.count("sliding_window", 4096, 0), 4);
  keep_rope_where_windowed(model);
  model.head.scale = config.positive("logit_scale", 0.0625);
  return model;
}

// Cohere orders the frequencies for positions of three axes, which it takes section by section: of the first two axes
// together the even ones stand before the odd ones. So they stand for a text too. Without sections there are those of
// Cohere's heads of 128.
void order_frequencies(Fields& config, std::optional<Fields>& parameters, const char* type, Rope& rope) {
  std::vector<double> sections;
  if (std::optional<Fields> own = parameters ? parameters->object(type) : std::nullopt; own) {
    if (own->word("rope_type", "default") != "default") return;
    if (own->has("mrope_section")) sections = own->numbers("mrope_section");
  }
  const double pairs = static_cast<double>(rope.dims) / 2;
  if (sections.empty() && pairs != 64) return;
  if (sections.empty()) sections = {22, 22, 20};
  if (sections.size() != 3 || sections[0] + sections[1] + sections[2] != pairs)
    config.refuse(fmt::format("rope_parameters.{}.mrope_section is not three numbers of {} pairs", type, pairs));
  rope.evens_first = static_cast<std::int64_t>(sections[0] + sections[1]);
}

// The language part of Cohere's vision model: layers of a type may have no RoPE.
Model read_cohere_compass_text(Fields& config) {
  std::optional<Fields> parameters = config.object("rope_parameters");
  const auto none = [&](const char* type) { return parameters && parameters->present(type) && !parameters->has(type); };
  const bool full = none("full_attention"), sliding = none("sliding_attention");
  Form form = cohere2_form(config);
  form.rope.interleaved = false;
  Model model = read_form(config, form);
  Ropes ropes = read_rope(config, form.rope, first_attention(model).d_head, model.context);
  if (!full) order_frequencies(config, parameters, "full_attention", ropes.full);
  if (!sliding) order_frequencies(config, parameters, "sliding_attention", ropes.sliding);
  const std::int64_t window = config.count("sliding_window", 4096, 0);
  read_windows(
      config, model, window, [](std::int64_t) { return false; }, &ropes);
  for_each<Attention>(model.layers, [&](Attention& attention) {
    if (attention.window > 0 ? sliding : full) attention.rope.reset();
  });
  model.head.scale = config.positive("logit_scale", 1.0);
  config.ignore({"pooling"});
  return model;
}

Form glm_form(Fields& config) {
  Form form;
  form.norm.epsilon = 1.5625e-7;
  form.attention_bias = config.flag("attention_bias", true);
  form.rope.interleaved = true;
  form.rope.fraction = 0.5;
  form.n_kv_heads = 2;
  form.d_head = 128;
  form.context = 131072;
  return form;
}

// Biases of queries, keys and values alone.
Model without_output_bias(Model model) {
  for_each<Attention>(model.layers, [](Attention& attention) { attention.output_bias = false; });
  return model;
}

Model read_glm(Fields& config) { return without_output_bias(read_form(config, glm_form(config))); }

void name_glm(FamilyNames& names) { names.feed_forward.gate_up = "mlp.gate_up_proj"; }

Model read_glm4(Fields& config) {
  Form form = glm_form(config);
  form.norm_after = true;
  return without_output_bias(read_form(config, form));
}

void name_glm4(FamilyNames& names) {
  name_glm(names);
  names.attention_norm_after = "post_self_attn_layernorm";
  names.feed_forward_norm_after = "post_mlp_layernorm";
}

Model read_seed_oss(Fields& config) {
  Form form;
  form.attention_bias = config.flag("attention_bias", true);
  form.feed_forward_bias = config.flag("mlp_bias", false);
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 524288;
  Model model = read_form(config, form);
  const bool out = config.flag("attention_out_bias", false);
  for_each<Attention>(model.layers, [&](Attention& attention) { attention.output_bias = out; });
  return model;
}

Model read_ernie4_5(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  read_bias(config, form, "use_bias", false);
  form.rope.theta = 5e5;
  form.rope.interleaved = true;
  form.n_kv_heads = 2;
  form.d_head = 128;
  form.context = 131072;
  form.tied = true;
  config.ignore({"compression_ratio", "rope_3d", "freq_allocation"});
  return read_form(config, form);
}

Model read_helium(Fields& config) {
  Form form = llama_form(config);
  form.norm.epsilon = 1e-8;
  form.rope.theta = 1e5;
  form.rope.interleaved = true;
  form.n_kv_heads = 20;
  form.d_head = 128;
  form.context = 4096;
  Model model = without_output_bias(read_form(config, form));
  const Attention& attention = first_attention(model);
  if (attention.n_heads * attention.d_head != model.d_model)
    config.fail("head_dim",
                fmt::format("hidden_size / num_attention_heads, {} / {}", model.d_model, attention.n_heads));
  return model;
}

Model read_ministral(Fields& config) {
  Form form;
  form.n_kv_heads = 8;
  form.context = 131072;
  Model model = read_form(config, form);
  const std::int64_t window = config.count("sliding_window", 4096, 0);
  read_windows(config, model, window, [=](std::int64_t) { return window > 0; });
  return model;
}

// RoPE of Llama 3, where the config has none.
void set_default_llama3(Fields& config, Model& model, double theta, double factor) {
  if (config.has("rope_parameters") || config.has("rope_scaling")) return;
  for_each<Attention>(model.layers, [&](Attention& attention) {
    Rope& rope = *attention.rope;
    rope.scaling = Rope::Scaling::llama3;
    rope.theta = config.positive("rope_theta", theta);
    rope.factor = factor;
    rope.original_context = 8192.0;
  });
}

Model read_cwm(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.feed_forward_bias = config.flag("mlp_bias", false);
  form.rope.theta = 1e6;
  form.n_kv_heads = 8;
  form.d_head = 128;
  form.context = 131072;
  Model model = read_form(config, form);
  set_default_llama3(config, model, 1e6, 16.0);
  const std::int64_t window = config.count("sliding_window", 8192, 0);
  read_windows(config, model, window, [=](std::int64_t layer) { return window > 0 && layer % 4 != 0; });
  config.ignore({"window_pattern", "global_window"});
  return model;
}

Model read_exaone4(Fields& config) {
  Form form = exaone4_form(config);
  form.norm_before = false;
  form.norm_after = true;
  form.n_kv_heads = 32;
  Model model = read_form(config, form);
  read_exaone4_windows(config, model);
  config.ignore({"_num_mtp_layers", "mtp_loss_scaling_factor", "mtp_share_layers"});  // of further tokens
  return model;
}

Model read_hunyuan_v1_dense(Fields& config) { return read_form(config, hunyuan_form(config)); }

Model read_granite_swa(Fields& config) {
  Form form = granite_form(config);
  form.norm.epsilon = 1e-5;
  form.attention.sinks = true;
  form.n_kv_heads = 4;
  form.context = 8192;
  form.tied = true;
  Model model = read_form(config, form);
  read_multipliers(config, model);
  read_granite_windows(config, model);
  return model;
}

void name_granite_swa(FamilyNames& names) { names.sinks = "self_attn.sinks"; }

// Granite with norms on both sides; logits are multiplied, not divided.
Model read_hyperclovax(Fields& config) {
  Form form = llama_form(config);
  form.attention.scale = config.number("attention_multiplier", 0.0);
  form.residual_scale = config.positive("residual_multiplier", 1.0);
  form.norm_after = config.flag("use_post_norm", true);
  Model model = read_form(config, form);
  model.embedding_scale = config.positive("embedding_multiplier", 1.0);
  model.head.scale = config.positive("logits_scaling", 1.0);
  return model;
}

void name_hyperclovax(FamilyNames& names) {
  names.attention_norm_after = "post_norm1";
  names.feed_forward_norm_after = "post_norm2";
}

Model read_jais2(Fields& config) {
  Form form = layer_norm_form("layer_norm_eps", true);
  form.attention_bias = config.flag("attention_bias", true);
  form.feed_forward_bias = config.flag("mlp_bias", true);
  form.activation = "relu2";
  form.gated = false;
  form.context = 8192;
  config.ignore({"rms_norm_eps"});
  return read_form(config, form);
}

// Norms without weights, after the embedding too; RoPE the other way round, and before the norm of queries and keys.
Model read_nanochat(Fields& config) {
  Form form;
  form.norm.weight = false;
  form.query_key_norm = true;
  form.attention.norm_after_rope = true;
  form.attention_bias = config.flag("attention_bias", false);
  form.activation = "relu2";
  form.gated = false;
  Model model = read_form(config, form);
  for_each<Attention>(model.layers, [](Attention& attention) { attention.rope->backwards = true; });
  model.embedding_norm = model.final_norm;
  model.head.softcap = config.number("final_logit_softcapping", 15.0, 0.0);
  return model;
}

void name_nanochat(FamilyNames& names) {
  names.embedding_norm = "norm";
  names.feed_forward.up = "mlp.fc1";
  names.feed_forward.down = "mlp.fc2";
}

Model read_vaultgemma(Fields& config) {
  Model model = read_gemma2_form(config, gemma_form(config, 4), {.scores = 50.0, .logits = 30.0});
  for_each<Sublayer>(model.layers, [](Sublayer& sublayer) { sublayer.norms.after.reset(); });
  read_pattern_windows(config, model, config.count("sliding_window", 4096, 0), 2);
  return model;
}

void name_vaultgemma(FamilyNames& names) { names.feed_forward_norm = "pre_feedforward_layernorm"; }

Model read_apertus(Fields& config) {
  Form form;
  form.norm.epsilon = 1e-5;
  form.attention_bias = config.flag("attention_bias", false);
  form.query_key_norm = true;
  form.activation = "xielu";
  form.gated = false;
  form.rope.theta = 1.2e7;
  form.context = 65536;
  config.expect_off("post_norm", "false: norms stand before each sublayer");
  if (!config.flag("qk_norm", true)) config.fail("qk_norm", "true");
  Model model = read_form(config, form);
  set_default_llama3(config, model, 1.2e7, 8.0);
  return model;
}

void name_apertus(FamilyNames& names) {
  names.attention_norm = "attention_layernorm";
  names.feed_forward_norm = "feedforward_layernorm";
}

}  // namespace

std::vector<Family> dense_families() {
  return {
      {"apertus", read_apertus, {131072, 4096, 14336, 32, 32}, name_apertus},
      {"cohere2", read_cohere2, {256000, 8192, 22528, 40, 64}},
      {"cohere_compass_text", read_cohere_compass_text, {256000, 8192, 22528, 40, 64}},
      {"cwm", read_cwm, {128256, 6144, 21504, 64, 48}},
      {"ernie4_5", read_ernie4_5, {103424, 1024, 3072, 18, 16}},
      {"exaone4", read_exaone4, {102400, 4096, 16384, 32, 32}, name_norms_after},
      {"exaone4_5_text", read_exaone4, {102400, 4096, 16384, 32, 32}, name_norms_after, "exaone4"},
      {"glm", read_glm, {151552, 4096, 13696, 40, 32}, name_glm},
      {"glm4", read_glm4, {151552, 4096, 13696, 40, 32}, name_glm4},
      {"granite_swa", read_granite_swa, {100352, 2560, 8192, 24, 20}, name_granite_swa},
      {"helium", read_helium, {48000, 2560, 7040, 24, 20}},
      {"hunyuan_v1_dense", read_hunyuan_v1_dense, {290943, 4096, 11008, 32, 32}, name_hunyuan},
      {"hyperclovax", read_hyperclovax, {32000, 4096, 11008, 32, 32}, name_hyperclovax},
      {"jais2", read_jais2, {150272, 3328, 26624, 32, 26}},
      {"ministral", read_ministral, {32000, 4096, 14336, 32, 32}},
      {"nanochat", read_nanochat, {50304, 768, 8192, 12, 6}, name_nanochat},
      {"olmo", read_olmo, {50304, 4096, 11008, 32, 32}},
      {"olmo3", read_olmo3, {50304, 4096, 11008, 32, 32}, name_norms_after},
      {"seed_oss", read_seed_oss, {155136, 4096, 27648, 64, 80}},
      {"smollm3", read_smollm3, {128256, 2048, 11008, 36, 16}},
      {"vaultgemma", read_vaultgemma, {256000, 2304, 9216, 26, 8}, name_vaultgemma},
  };
}

}  // namespace reckon
