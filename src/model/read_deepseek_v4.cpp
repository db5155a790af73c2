// DeepSeek V4: several residual streams, one head of keys that are values too, entries of several tokens beside a
// window, experts by a table of tokens in the first layers.
#include <fmt/format.h>

#include "model/forms.h"

namespace reckon {
namespace {

// What attention a layer has: a window alone, or with entries that an indexer chooses from, or with longer ones.
enum class Kind { sliding, sparse, heavy };

Kind kind_of(Fields& config, Text field, const nlohmann::json& word) {
  if (word == "sliding_attention" || word == 0) return Kind::sliding;
  if (word == "compressed_sparse_attention" || word == 4) return Kind::sparse;
  if (word == "heavily_compressed_attention" || word == 128) return Kind::heavy;
  config.refuse(
      fmt::format("{} has {}; expected sliding_attention, compressed_sparse_attention or "
                  "heavily_compressed_attention",
                  config.spelled(field), describe(word)));
}

std::vector<Kind> read_kinds(Fields& config, std::size_t layers) {
  // Layers that predict further tokens, or a drafter's, may have their entries behind those of the stack.
  const auto further = static_cast<std::size_t>(config.count("num_nextn_predict_layers", 0));
  const nlohmann::json* drafter = config.array("dspark_target_layer_ids");
  std::vector<Kind> kinds;
  for (const char* field : {"layer_types", "compress_ratios"}) {
    const nlohmann::json* words = config.array(field);
    if (words == nullptr) continue;
    const std::size_t size = words->size();
    if (size != layers && size != layers + further && (drafter == nullptr || size != layers + drafter->size()))
      config.fail(field, fmt::format("{} entries, one per layer", layers));
    std::vector<Kind> said;
    for (const nlohmann::json& word : *words) said.push_back(kind_of(config, field, word));
    said.resize(layers);
    if (!kinds.empty() && said != kinds) config.fail(field, "what layer_types says");
    kinds = std::move(said);
  }
  for (std::size_t i = kinds.size(); i < layers; ++i) kinds.push_back(i < 2 || i % 2 == 0 ? Kind::heavy : Kind::sparse);
  return kinds;
}

// Which layers take their experts from a table.
std::vector<bool> read_hashed(Fields& config, std::size_t layers) {
  const auto first = static_cast<std::size_t>(config.count("num_hash_layers", 3));
  std::vector<bool> hashed(layers);
  for (std::size_t i = 0; i < layers; ++i) hashed[i] = i < first;
  return read_words(config, "mlp_layer_types", "hash_moe", "moe", std::move(hashed));
}

Rope read_v4_rope(Fields& config, const Model& model, bool entries, std::int64_t d_head) {
  RopeDefaults defaults;
  defaults.full_key = "compress";
  defaults.sliding_key = "main";
  defaults.interleaved = true;
  const double given = config.has("qk_rope_head_dim")
                           ? static_cast<double>(config.size("qk_rope_head_dim")) / static_cast<double>(d_head)
                           : 0.125;
  defaults.fraction = given;
  defaults.sliding_theta = config.positive("rope_theta", 1e4);
  const Ropes ropes = read_rope(config, defaults, d_head, model.context);
  Rope rope = entries ? ropes.full : ropes.sliding;
  rope.interleaved = rope.trailing = true;
  std::optional<Fields> nested = config.object("rope_parameters");
  const double theta = config.positive("compress_rope_theta", 160000.0);  // which the nested one takes the place of
  if (!nested || !nested->present("compress")) {
    rope.theta = entries ? theta : defaults.sliding_theta;
    if (rope.scaling == Rope::Scaling::yarn && rope.attention_factor == 0.0) rope.attention_factor = 1.0;
  }
  return rope;
}

Model read_deepseek_v4(Fields& config) {
  config.rename("num_local_experts", {"n_routed_experts"});
  config.rename("intermediate_size", {"moe_intermediate_size"});
  Form form;
  form.rotary = false;
  form.n_kv_heads = 1;
  form.d_head = 512;
  form.context = 1048576;
  form.attention.sinks = true;
  Model model = read_form(config, form);
  const std::size_t layers = model.layers.size();
  const Norm norm = *model.final_norm;
  const std::int64_t d_head = first_attention(model).d_head;
  if (first_attention(model).n_kv_heads != 1) config.fail("num_key_value_heads", "1");
  model.hyper =
      HyperConnections{config.size("hc_mult", 4), config.size("hc_sinkhorn_iters", 20), config.positive("hc_eps", 1e-6),
                       Norm{Norm::Kind::rms, norm.epsilon, false, false, false}};

  Mixture mixture = read_experts(config, model, 256, 6);
  const std::string scores = config.word("scoring_func", "sqrtsoftplus");
  if (scores == "sqrtsoftplus") {
    mixture.scores = Mixture::Scores::root_softplus;
  } else if (scores == "sigmoid") {
    mixture.scores = Mixture::Scores::sigmoid;
  } else {
    config.fail("scoring_func", "sqrtsoftplus or sigmoid");
  }
  if (!config.flag("norm_topk_prob", true)) config.fail("norm_topk_prob", "true");
  config.expect_size("n_shared_experts", 1, "1");
  mixture.normalize = true;
  mixture.scale = config.positive("routed_scaling_factor", 1.5);
  mixture.expert.limit = config.positive("swiglu_limit", 10.0);
  mixture.shared = mixture.expert;
  const std::vector<bool> hashed = read_hashed(config, layers);

  SharedKey shared;
  shared.query_rank = config.size("q_lora_rank", 1024);
  shared.output_groups = config.size("o_groups", 8);
  shared.output_rank = config.size("o_lora_rank", 1024);
  shared.norm = norm;
  std::int64_t sparse_rate = config.size("compress_rate_csa", 4), heavy_rate = config.size("compress_rate_hca", 128);
  if (std::optional<Fields> rates = config.object("compress_rates")) {
    sparse_rate = rates->size("compressed_sparse_attention", sparse_rate);
    heavy_rate = rates->size("heavily_compressed_attention", heavy_rate);
    if (const auto unread = rates->unread(); !unread.empty())
      config.refuse(unread.front().name + " is not a type of layer that has a rate");
  }
  Indexer indexer;
  indexer.n_heads = config.size("index_n_heads", 64);
  indexer.d_head = config.size("index_head_dim", 128);
  indexer.top = config.size("index_topk", 512);
  indexer.key_norm = norm;
  const std::int64_t window = config.size("sliding_window", 128);
  const std::vector<Kind> kinds = read_kinds(config, layers);
  const Rope plain = read_v4_rope(config, model, false, d_head), scaled = read_v4_rope(config, model, true, d_head);
  for (std::size_t i = 0; i < layers; ++i)
    for_each<Sublayer>(model.layers[i], [&](Sublayer& sublayer) {
      auto* attention = std::get_if<Attention>(&sublayer.kind);
      if (attention == nullptr) {
        mixture.hashed = hashed[i];
        mixture.correction_bias = !hashed[i];
        sublayer.kind = mixture;
        return;
      }
      shared.rate = kinds[i] == Kind::sliding ? 0 : kinds[i] == Kind::sparse ? sparse_rate : heavy_rate;
      shared.overlaps = kinds[i] == Kind::sparse;
      attention->shared_key = shared;
      attention->window = window;
      attention->rope = kinds[i] == Kind::sliding ? plain : scaled;
      if (kinds[i] == Kind::sparse) attention->indexer = indexer;
    });
  config.ignore({"topk_method", "expert_dtype", "n_group", "topk_group", "num_hash_layers", "compress_rate_csa",
                 "compress_rate_hca"});
  return model;
}

void name_deepseek_v4(FamilyNames& names) {
  names.heads = {"head", "lm_head"};
  names.attention_norm = "attn_norm";
  names.feed_forward_norm = "ffn_norm";
  names.query_down = "attn.wq_a";
  names.query_down_norm = "attn.q_norm";
  names.query_up = "attn.wq_b";
  names.key = "attn.wkv";
  names.key_norm = "attn.norm";
  names.output = "attn.wo_b";
  names.sinks = "attn.attn_sink";
  names.shared_key = {
      .output_down = "attn.wo_a", .entries = "attn.compressor.", .index_entries = "attn.indexer.compressor."};
  names.indexer = {
      .query = "attn.indexer.wq_b", .query_norm = {}, .key = {}, .key_norm = {}, .weight = "attn.indexer.weights_proj"};
  names.hyper_attention = "hc_attn_";
  names.hyper_feed_forward = "hc_ffn_";
  names.hyper_head = "hc_head.hc_";
  names.mixtures = {
      {"ffn.gate", {.gate = "ffn.experts.{}.w1", .up = "ffn.experts.{}.w3", .down = "ffn.experts.{}.w2"}}};
  names.correction = "ffn.gate.bias";
  names.expert_table = "ffn.gate.tid2eid";
  names.shared = {.gate = "ffn.shared_experts.w1", .up = "ffn.shared_experts.w3", .down = "ffn.shared_experts.w2"};
}

}  // namespace

std::vector<Family> deepseek_v4_families() {
  return {{"deepseek_v4", read_deepseek_v4, {129280, 4096, 2048, 43, 64}, name_deepseek_v4}};
}

}  // namespace reckon
