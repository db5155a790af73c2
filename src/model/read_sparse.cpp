// The families whose attention is to keys that an indexer chooses, and LongCat, whose experts may give back what they
// read.
#include <fmt/format.h>

#include <cmath>

#include "model/forms.h"

namespace reckon {

namespace {

bool is_word(const nlohmann::json& value, std::string_view word) {
  return value.is_string() && value.get_ref<const std::string&>() == word;
}

// Two attentions and two feed-forwards a layer. The mixture reads what the first feed-forward reads, and joins at the
// end.
Model read_longcat_flash(Fields& config) {
  config.rename("num_hidden_layers", {"num_layers"});
  config.rename("intermediate_size", {"ffn_hidden_size", "intermediate_size"});
  config.rename("num_local_experts", {"n_routed_experts", "num_local_experts"});
  config.rename("num_experts_per_tok", {"moe_topk", "num_experts_per_tok"});
  Form form = latent_form(config, {});
  form.norm.epsilon = 1e-5;
  form.rope.theta = 1e7;
  form.rope.interleaved = true;
  form.context = 131072;
  Model model = read_latent_form(config, form);
  const auto width = static_cast<double>(model.d_model);
  const bool scales_queries = config.flag("mla_scale_q_lora", true), scales = config.flag("mla_scale_kv_lora", true);
  for_each<Attention>(model.layers, [&](Attention& a) {
    if (a.latent->query_rank == 0) config.fail("q_lora_rank", "a whole number");
    if (scales_queries) a.scale *= std::sqrt(width / static_cast<double>(a.latent->query_rank));
    if (scales) a.latent->kv_scale = std::sqrt(width / static_cast<double>(a.latent->kv_rank));
  });
  Mixture mixture = read_experts(config, model, 512, 12);
  mixture.n_identity = config.count("zero_expert_num", 256, 0);
  config.expect_word("zero_expert_type", "identity", "identity");
  config.expect_word("attention_method", "MLA", "MLA");
  config.expect_off("router_bias", "false: transformers reads none");
  mixture.expert.d_ff = config.size("expert_ffn_hidden_size", 2048);
  mixture.correction_bias = true;
  mixture.scale = config.positive("routed_scaling_factor", 6.0);
  const std::vector<Sublayer> half = model.layers.front().sublayers;
  Layer layer{.sublayers = {half[0], half[1], half[0], half[1]}};
  Sublayer experts{.kind = mixture, .norms = {}};
  experts.reads = Sublayer::Reads::first;
  experts.beside = 1;
  layer.sublayers.push_back(experts);
  model.layers.assign(model.layers.size(), layer);
  config.ignore({"num_hidden_layers", "router_dtype"});
  return model;
}

void name_longcat_flash(FamilyNames& names) {
  names.attention_norm = "input_layernorm.#";
  names.feed_forward_norm = "post_attention_layernorm.#";
  names.query_down = "self_attn.#.q_a_proj";
  names.query_down_norm = "self_attn.#.q_a_layernorm";
  names.query_up = "self_attn.#.q_b_proj";
  names.kv_down = "self_attn.#.kv_a_proj_with_mqa";
  names.kv_down_norm = "self_attn.#.kv_a_layernorm";
  names.kv_up = "self_attn.#.kv_b_proj";
  names.output = "self_attn.#.o_proj";
  names.feed_forward = {.gate = "mlps.#.gate_proj", .up = "mlps.#.up_proj", .down = "mlps.#.down_proj"};
  names.mixtures = {
      {"mlp.router.classifier",
       {.gate = "mlp.experts.{}.gate_proj", .up = "mlp.experts.{}.up_proj", .down = "mlp.experts.{}.down_proj"}}};
  names.correction = "mlp.router.e_score_correction_bias";
}

// All layers attend to what an indexer of so many heads chooses.
Indexer read_indexer(Fields& config, std::int64_t heads) {
  Indexer indexer;
  indexer.n_heads = config.size("index_n_heads", heads);
  indexer.d_head = config.size("index_head_dim", 128);
  indexer.top = config.size("index_topk", 2048);
  indexer.key_norm = {Norm::Kind::layer, 1e-6, true, true, false};
  if (const nlohmann::json* types = config.array("layer_types"))
    for (const nlohmann::json& type : *types)
      if (!is_word(type, "deepseek_sparse_attention"))
        config.fail("layer_types", "an array of deepseek_sparse_attention");
  return indexer;
}

void set_indexer(Fields& config, Model& model, const Indexer& indexer) {
  for_each<Attention>(model.layers, [&](Attention& attention) {
    if (attention.latent->query_rank == 0) config.fail("q_lora_rank", "a whole number: what the indexer reads");
    if (attention.rope->dims > indexer.d_head)
      config.fail("index_head_dim", fmt::format("at least qk_rope_head_dim, {}", attention.rope->dims));
    attention.indexer = indexer;
  });
}

constexpr SigmoidMixture deepseek_v32_mixture{256, 8, 1, 2048, 8, 4, 2.5, true};

Model read_deepseek_v32(Fields& config) {
  config.rename("num_local_experts", {"n_routed_experts", "num_experts", "num_local_experts"});
  Form form = latent_form(config, {});
  form.context = 163840;
  const Indexer indexer = read_indexer(config, 64);
  Model model = read_third(config, form, deepseek_v32_mixture, 3);
  set_indexer(config, model, indexer);
  return model;
}

void name_deepseek_v32(FamilyNames& names) {
  name_deepseek(names);
  names.indexer = {.query = "self_attn.indexer.wq_b",
                   .query_norm = {},
                   .key = "self_attn.indexer.wk",
                   .key_norm = "self_attn.indexer.k_norm",
                   .weight = "self_attn.indexer.weights_proj"};
}

// Whether each layer has an indexer of its own: as the fields say, words, or letters, or every so many layers. Where
// several of them are there, they agree.
std::vector<bool> read_indexed(Fields& config, std::size_t layers) {
  std::vector<std::pair<const char*, std::vector<bool>>> said;
  const auto read_types = [&](const char* field, const nlohmann::json& words) {
    std::vector<bool> own;
    for (const nlohmann::json& word : words) {
      if (!is_word(word, "full") && !is_word(word, "shared")) config.fail(field, "an array of full and shared");
      own.push_back(is_word(word, "full"));
    }
    said.emplace_back(field, std::move(own));
  };
  if (const nlohmann::json* types = config.array("indexer_types")) read_types("indexer_types", *types);
  const nlohmann::json* pattern = config.value("index_topk_pattern");
  if (pattern != nullptr && pattern->is_string()) {
    std::vector<bool> own;
    for (const char letter : config.word("index_topk_pattern", "")) {
      if (letter != 'F' && letter != 'S') config.fail("index_topk_pattern", "letters F and S");
      own.push_back(letter == 'F');
    }
    said.emplace_back("index_topk_pattern", std::move(own));
  } else if (const nlohmann::json* words = config.array("index_topk_pattern")) {
    read_types("index_topk_pattern", *words);
  }
  const std::int64_t every = std::max<std::int64_t>(1, config.count("index_topk_freq", 1));
  const std::int64_t offset = config.count("index_skip_topk_offset", 2);
  if (said.empty() || config.has("index_topk_freq")) {
    std::vector<bool> own;
    for (std::size_t i = 0; i < layers; ++i)
      own.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(i) - offset + 1, 0) % every == 0);
    said.emplace_back("index_topk_freq", std::move(own));
  }
  for (const auto& [field, own] : said) {
    if (own.size() != layers || !own.front())
      config.fail(field, fmt::format("{} entries, one per layer, of which the first is full", layers));
    if (own != said.front().second) config.fail(field, fmt::format("what {} says", said.front().first));
  }
  return said.front().second;
}

Model read_glm_moe_dsa(Fields& config) {
  config.rename("num_local_experts", {"n_routed_experts", "num_experts", "num_local_experts"});
  Form form = latent_form(config, {2048, 512, 192, 64, 256});
  form.norm.epsilon = 1e-5;
  form.context = 202752;
  Indexer indexer = read_indexer(config, 32);
  indexer.interleaved = config.flag("indexer_rope_interleave", true);
  // About what predicts further tokens, and a type.
  config.ignore({"index_share_for_mtp_iteration", "moe_router_dtype"});
  Model model = read_third(config, form, {256, 8, 1, 2048, 1, 1, 2.5, true}, 3);
  set_indexer(config, model, indexer);
  const std::vector<bool> own = read_indexed(config, model.layers.size());
  std::size_t last = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i]) last = i;
    for_each<Attention>(model.layers[i],
                        [&](Attention& attention) { attention.indexer->from = static_cast<std::int64_t>(i - last); });
  }
  return model;
}

Model read_axk2(Fields& config) {
  config.rename("num_local_experts", {"n_routed_experts", "num_experts", "num_local_experts"});
  Form form = latent_form(config, {384, 128, 64, 32, 64});
  form.context = 131072;
  form.attention.latent->raw_too = true;
  form.attention.gate = OutputGate{};
  const Indexer indexer = read_indexer(config, 16);
  Model model = read_third(config, form, {128, 8, 1, 512, 1, 1, 2.5, true}, 1);
  set_indexer(config, model, indexer);
  const std::int64_t rank = config.size("gated_norm_rank", 16);
  for_each<Mixture>(model.layers, [](Mixture& mixture) { mixture.closed_as_zero = mixture.n_groups > 1; });
  for_each<Sublayer>(model.layers, [&](Sublayer& sublayer) {
    if (!std::holds_alternative<FeedForward>(sublayer.kind)) sublayer.norm_gate = rank;
  });
  return model;
}

void name_axk2(FamilyNames& names) {
  name_deepseek_v32(names);
  names.gate_with_query = true;
  names.norm_in_gated = ".norm";
  names.norm_gate_down = ".W_down";
  names.norm_gate = ".W_up";
}

// The experts are gpt-oss': clamped, and times up + 1.
Model read_minimax_m3_text(Fields& config) {
  config.rename("num_local_experts", {"num_local_experts", "num_experts"});
  Form form;
  form.norm.weight_plus_one = true;
  form.query_key_norm = true;
  form.rope.theta = 5e6;
  form.n_kv_heads = 4;
  form.d_head = 128;
  form.context = 524288;
  const std::int64_t rotated = config.size("rotary_dim", 64), d_head = config.size("head_dim", 128);
  form.rope.fraction = static_cast<double>(rotated) / static_cast<double>(d_head);
  config.expect_off("attention_output_gate", "false: this family's attention has no gate");
  if (config.number("swiglu_alpha", 1.702) != 1.702) config.fail("swiglu_alpha", "1.702");
  for (const char* on : {"use_gemma_norm", "use_qk_norm", "use_routing_bias"}) config.expect_on(on, "true");
  config.expect_word("qk_norm_type", "per_head", "per_head");
  config.expect_word("scoring_func", "sigmoid", "sigmoid");
  config.expect_size("n_shared_experts", 1, "1");
  // What the maker's file calls the gate of gpt-oss, transformers calls silu.
  if (const nlohmann::json* act = config.value("hidden_act"); act != nullptr && is_word(*act, "swigluoai"))
    config.rename("hidden_act", {"mlp_act"});
  Model model = read_form(config, form);
  expect_rotary_dim(config, model);
  for_each<FeedForward>(model.layers,
                        [&](FeedForward& feed_forward) { feed_forward.clamp = config.positive("swiglu_limit", 7.0); });
  Mixture mixture = read_experts(config, model, 128, 4);
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.correction_bias = mixture.normalize = true;
  mixture.scale = config.positive("routed_scaling_factor", 2.0);
  mixture.shared = mixture.expert;
  mixture.shared->d_ff = config.size("shared_intermediate_size", 3072);
  const std::int64_t dense = config.size("dense_intermediate_size", 12288);
  for_each<FeedForward>(model.layers, [&](FeedForward& feed_forward) { feed_forward.d_ff = dense; });

  Indexer indexer;
  indexer.summed = false;
  indexer.query_norm = indexer.key_norm = *model.final_norm;
  const std::size_t layers = model.layers.size();
  const auto read_flags = [&](Fields& from, const char* field, std::vector<bool> flags) {
    const nlohmann::json* values = from.array(field);
    if (values == nullptr) return flags;
    if (values->size() != layers) from.fail(field, fmt::format("{} entries, one per layer", layers));
    for (std::size_t i = 0; i < layers; ++i) {
      if (!(*values)[i].is_number_integer() && !(*values)[i].is_boolean()) from.fail(field, "an array of 0 and 1");
      flags[i] = (*values)[i] != 0 && (*values)[i] != false;
    }
    return flags;
  };
  std::vector<bool> indexed(layers, false);
  indexer.n_heads = config.size("index_n_heads", 4);
  indexer.d_head = config.size("index_head_dim", 128);
  indexer.block = config.size("index_block_size", 128);
  indexer.top = config.size("index_topk_blocks", 16);
  indexer.local = config.count("index_local_blocks", 1);
  if (std::optional<Fields> older = config.object("sparse_attention_config")) {
    indexer.n_heads = older->size("sparse_num_index_heads", indexer.n_heads);
    indexer.d_head = older->size("sparse_index_dim", indexer.d_head);
    indexer.block = older->size("sparse_block_size", indexer.block);
    indexer.top = older->size("sparse_topk_blocks", indexer.top);
    indexer.local = older->count("sparse_local_block", indexer.local);
    if (!older->has("sparse_attention_freq"))
      older->fail("sparse_attention_freq", fmt::format("an array of 0 and 1, one for each of the {} layers", layers));
    indexed = read_flags(*older, "sparse_attention_freq", indexed);
    // transformers' indexers have no values.
    const std::vector<bool> without_values = read_flags(*older, "sparse_disable_index_value", indexed);
    for (std::size_t i = 0; i < layers; ++i)
      if (indexed[i] && !without_values[i])
        older->fail("sparse_disable_index_value", "1 for every layer that sparse_attention_freq names");
    older->expect_on("use_sparse_attention", "true");
    older->expect_word("sparse_score_type", "max", "max");
    older->expect_off("sparse_init_block", "0: no first block is always attended to");
    older->refuse_unread("minimax_m3_vl_text");
    if (config.has("layer_types") &&
        read_words(config, "layer_types", "minimax_m3_sparse", "full_attention", indexed) != indexed)
      config.fail("layer_types", "what sparse_attention_freq says");
  }
  const std::vector<bool> numbered = read_flags(config, "moe_layer_freq", std::vector<bool>(layers, true));
  const std::vector<bool> sparse = read_words(config, "mlp_layer_types", "sparse", "dense", numbered);
  if (config.has("moe_layer_freq") && sparse != numbered) config.fail("mlp_layer_types", "what moe_layer_freq says");
  indexed = read_words(config, "layer_types", "minimax_m3_sparse", "full_attention", indexed);
  for (std::size_t i = 0; i < indexed.size(); ++i)
    if (indexed[i]) find<Attention>(model.layers[i])->indexer = indexer;
  set_mixture(model, mixture, [=](std::int64_t layer) { return sparse[static_cast<std::size_t>(layer)]; });
  return model;
}

// MiniMax's files, and what transformers saves beside a vision model.
void name_minimax_m3_published(FamilyNames& names) {
  names.feed_forward = FeedForwardNames{.gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj"};
  names.mixtures = {{.router = "block_sparse_moe.gate",
                     .experts = {.gate = "block_sparse_moe.experts.{}.w1",
                                 .up = "block_sparse_moe.experts.{}.w3",
                                 .down = "block_sparse_moe.experts.{}.w2"}}};
  names.correction = "block_sparse_moe.e_score_correction_bias";
  names.shared = {.gate = "block_sparse_moe.shared_experts.gate_proj",
                  .up = "block_sparse_moe.shared_experts.up_proj",
                  .down = "block_sparse_moe.shared_experts.down_proj"};
  names.indexer = {.query = "self_attn.index_q_proj",
                   .query_norm = "self_attn.index_q_norm",
                   .key = "self_attn.index_k_proj",
                   .key_norm = "self_attn.index_k_norm",
                   .weight = {}};
}

void name_minimax_m3_text(FamilyNames& names) {
  names.sign = ".block_sparse_moe.";
  names.otherwise = name_minimax_m3_published;
  names.feed_forward = {.down = "mlp.down_proj", .gate_up = "mlp.gate_up_proj"};
  names.mixtures = {fused_experts};
  names.correction = "mlp.gate.e_score_correction_bias";
  names.shared = {.down = "mlp.shared_experts.down_proj", .gate_up = "mlp.shared_experts.gate_up_proj"};
  names.indexer = {.query = "self_attn.indexer.q_proj",
                   .query_norm = "self_attn.indexer.q_norm",
                   .key = "self_attn.indexer.k_proj",
                   .key_norm = "self_attn.indexer.k_norm",
                   .weight = {}};
}

}  // namespace

std::vector<Family> sparse_families() {
  return {
      {"axk2", read_axk2, {163840, 2048, 5120, 48, 32}, name_axk2},
      {"deepseek_v32", read_deepseek_v32, {129280, 7168, 18432, 61, 128}, name_deepseek_v32},
      {"glm_moe_dsa", read_glm_moe_dsa, {154880, 6144, 12288, 78, 64}, name_deepseek_v32},
      {"longcat_flash", read_longcat_flash, {}, name_longcat_flash},
      {"minimax_m3_vl_text", read_minimax_m3_text, {200064, 6144, 3072, 60, 64}, name_minimax_m3_text},
  };
}

}  // namespace reckon
