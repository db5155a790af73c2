#include "model/read_gguf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>

#include "model/families.h"
#include "model/gguf_pairs.h"
#include "model/nearest.h"
#include "model/read.h"
#include "model/validate.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

// What to know of an architecture beyond its family.
struct Architecture {
  std::string_view name, family;
  std::string_view epsilon = "rms_norm_eps", d_ff = "intermediate_size";  // as the family's config.json calls them
  void (*add)(GgufPairs&, Json& config) = [](GgufPairs&, Json&) {};       // what else its config.json has
  std::int64_t window_period = 0;  // every so manieth layer is not windowed; 0: all are
  bool rotary = true;
  bool neighbours = false;           // rotary pairs are neighbours, where the family has halves
  bool norms_with_one = false;       // the stored norms are 1 + w, where the family has w
  bool local_rope_unscaled = false;  // windowed layers take no part in the scaling of RoPE
};

constexpr std::int64_t most_experts = 1024;  // the most that llama.cpp has taken (LLAMA_MAX_EXPERTS)

void add_experts(GgufPairs& pairs, Json& config) {
  const std::int64_t experts = pairs.size_up_to("expert_count", most_experts), used = pairs.size("expert_used_count");
  if (used > experts)
    pairs.fail("expert_used_count", fmt::format("at most {}, {}", pairs.key("expert_count"), experts));
  config["num_local_experts"] = experts;
  config["num_experts_per_tok"] = used;
}

void add_llama(GgufPairs& pairs, Json& config) {
  if (pairs.count("expert_count", 0) == 0) {
    pairs.ignore("expert_used_count");
    return;
  }
  config["model_type"] = "mixtral";
  add_experts(pairs, config);
}

void add_granite(GgufPairs& pairs, Json& config) {
  const auto scale = [&](const char* name, double none) {
    const double found = pairs.number(name, 0.0);
    return found == 0.0 ? none : found;
  };
  if (pairs.count("expert_count", 0) > 0) pairs.fail("expert_count", "0: granite's mixtures are not read");
  config["attention_multiplier"] = scale("attention.scale", 1.0 / std::sqrt(static_cast<double>(pairs.d_head)));
  config["residual_multiplier"] = scale("residual_scale", 1.0);
  config["embedding_multiplier"] = scale("embedding_scale", 1.0);
  config["logits_scaling"] = pairs.positive("logit_scale");
}

void add_command_r(GgufPairs& pairs, Json& config) {
  const double scale = pairs.number("logit_scale", 0.0);
  config["logit_scale"] = scale == 0.0 ? 1.0 : scale;
  config["use_qk_norm"] = pairs.layer_holds(0, "attn_q_norm.weight");
}

// Qwen's mixtures.
void add_sparse_layers(GgufPairs& pairs, Json& config, bool normalized) {
  add_experts(pairs, config);
  config["moe_intermediate_size"] = pairs.size("expert_feed_forward_length");
  config["norm_topk_prob"] = pairs.flag("expert_weights_norm", normalized);
  config["mlp_only_layers"] = Json::array();
  for (std::int64_t i = 0; i < pairs.layers; ++i)
    if (pairs.layer_holds(static_cast<std::size_t>(i), "ffn_up.weight")) config["mlp_only_layers"].push_back(i);
}

void add_qwen2moe(GgufPairs& pairs, Json& config) {
  add_sparse_layers(pairs, config, false);
  config["shared_expert_intermediate_size"] =
      pairs.size("expert_shared_feed_forward_length", config["intermediate_size"].get<std::int64_t>());
}

void add_qwen3moe(GgufPairs& pairs, Json& config) { add_sparse_layers(pairs, config, true); }

void add_gemma2(GgufPairs& pairs, Json& config) {
  // The largest ones have another scale: 27 billion parameters, known by their layers.
  const bool largest = pairs.layers == (config["model_type"] == "gemma2" ? 46 : 62);
  config["query_pre_attn_scalar"] = largest ? pairs.d_model / pairs.heads.front() : pairs.d_head;
  if (const double scale = pairs.number("attention.scale", 0.0); scale > 0) {
    const double scalar = 1 / (scale * scale), whole = std::round(scalar);
    config["query_pre_attn_scalar"] = std::abs(scalar - whole) < 1e-5 * scalar ? whole : scalar;
  }
  config["sliding_window"] = nullptr;  // unless there are some
  const bool second = config["model_type"] == "gemma2";
  config["attn_logit_softcapping"] = pairs.number("attn_logit_softcapping", second ? 50.0 : 0.0);
  config["final_logit_softcapping"] = pairs.number("final_logit_softcapping", second ? 30.0 : 0.0);
}

void add_gemma3(GgufPairs& pairs, Json& config) {
  add_gemma2(pairs, config);
  config["sliding_window_pattern"] = 1;
}

void add_gpt2(GgufPairs& pairs, Json& config) { config["bias"] = pairs.layer_holds(0, "attn_norm.bias"); }

void add_gptneox(GgufPairs& pairs, Json& config) {
  config["use_parallel_residual"] = pairs.flag("use_parallel_residual", true);
}

void add_falcon(GgufPairs& pairs, Json& config) {
  const bool two_norms = pairs.layer_holds(0, "attn_norm_2.weight");
  const std::int64_t groups = pairs.kv_heads.front();
  config["new_decoder_architecture"] = two_norms || (groups != 1 && groups != pairs.heads.front());
  config["multi_query"] = groups == 1;
  config["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
  config["num_kv_heads"] = groups;
  config.erase("num_key_value_heads");
}

void add_stablelm(GgufPairs& pairs, Json& config) {
  // Converters write use_parallel_residual even for files of serial ones; a norm of its own says that it is serial.
  pairs.ignore("use_parallel_residual");
  config["use_parallel_residual"] = !pairs.layer_holds(0, "ffn_norm.weight");
  config["qk_layernorm"] = pairs.layer_holds(0, "attn_q_norm.weight");
  config["use_qkv_bias"] = pairs.layer_holds(0, "attn_q.bias") || pairs.layer_holds(0, "attn_qkv.bias");
}

void add_deepseek2(GgufPairs& pairs, Json& config) {
  const bool third = pairs.count("expert_gating_func", 0) == 2;
  if (!third && pairs.count("expert_gating_func", 0) > 2)
    pairs.fail("expert_gating_func", "1 (softmax) or 2 (sigmoid)");
  config["model_type"] = third ? "deepseek_v3" : "deepseek_v2";
  add_experts(pairs, config);
  config["n_routed_experts"] = config["num_local_experts"];
  config.erase("num_local_experts");
  config["q_lora_rank"] = pairs.has("attention.q_lora_rank") ? Json(pairs.size("attention.q_lora_rank")) : Json();
  config["kv_lora_rank"] = pairs.size("attention.kv_lora_rank");
  // Heads as the network has them; key_length and value_length may be those of the latent, which all heads share.
  const std::int64_t d_head = pairs.size("attention.key_length_mla", pairs.d_head);
  pairs.ignore("attention.value_length");
  config["v_head_dim"] = pairs.size("attention.value_length_mla", pairs.size("attention.value_length", d_head));
  config["qk_rope_head_dim"] = pairs.rotated;
  if (pairs.rotated >= d_head)
    pairs.fail("rope.dimension_count", fmt::format("less than the {} elements of a head", d_head));
  config["qk_nope_head_dim"] = d_head - pairs.rotated;
  config["num_key_value_heads"] = pairs.heads.front();
  for (const char* other : {"head_dim", "partial_rotary_factor"}) config.erase(other);
  config["first_k_dense_replace"] = pairs.count("leading_dense_block_count", 0);
  config["moe_intermediate_size"] = pairs.size("expert_feed_forward_length");
  config["n_shared_experts"] = pairs.count("expert_shared_count", 0);
  const double scale = pairs.number("expert_weights_scale", 0.0);
  config["routed_scaling_factor"] = scale == 0.0 ? 1.0 : scale;
  config["norm_topk_prob"] = pairs.flag("expert_weights_norm", false);
  const std::int64_t groups = std::max<std::int64_t>(pairs.count("expert_group_count", 1), 1);
  config["n_group"] = groups;
  config["topk_group"] = std::max<std::int64_t>(pairs.count("expert_group_used_count", 1), 1);
  if (!third) config["topk_method"] = groups > 1 ? "group_limited_greedy" : "greedy";
}

void add_gpt_oss(GgufPairs& pairs, Json& config) {
  add_experts(pairs, config);
  config["intermediate_size"] = pairs.size("expert_feed_forward_length");
  pairs.ignore("feed_forward_length");
  config["sliding_window"] = nullptr;  // unless there are some
  if (config["rope_scaling"].is_null()) config["rope_scaling"] = {{"rope_type", "default"}};
  if (config["rope_scaling"]["rope_type"] == "yarn") config["rope_scaling"]["truncate"] = false;
}

// Sorted by name.
constexpr Architecture architectures[] = {
    {.name = "arcee", .family = "arcee", .neighbours = true},
    {.name = "bloom", .family = "bloom", .epsilon = "layer_norm_epsilon", .d_ff = "n_inner", .rotary = false},
    {.name = "command-r", .family = "cohere", .epsilon = "layer_norm_eps", .add = add_command_r},
    {.name = "deepseek2", .family = "deepseek_v2", .add = add_deepseek2},
    {.name = "falcon",
     .family = "falcon",
     .epsilon = "layer_norm_epsilon",
     .d_ff = "ffn_hidden_size",
     .add = add_falcon},
    {.name = "gemma", .family = "gemma", .norms_with_one = true},
    {.name = "gemma2", .family = "gemma2", .add = add_gemma2, .window_period = 2, .norms_with_one = true},
    {.name = "gemma3",
     .family = "gemma3_text",
     .add = add_gemma3,
     .window_period = 6,
     .norms_with_one = true,
     .local_rope_unscaled = true},
    {.name = "gpt-oss", .family = "gpt_oss", .add = add_gpt_oss, .window_period = 2},
    {.name = "gpt2",
     .family = "gpt2",
     .epsilon = "layer_norm_epsilon",
     .d_ff = "n_inner",
     .add = add_gpt2,
     .rotary = false},
    {.name = "gptneox", .family = "gpt_neox", .epsilon = "layer_norm_eps", .add = add_gptneox},
    {.name = "granite", .family = "granite", .add = add_granite, .neighbours = true},
    {.name = "llama", .family = "llama", .add = add_llama, .neighbours = true},
    {.name = "olmo2", .family = "olmo2", .window_period = 4, .local_rope_unscaled = true},
    {.name = "phi2", .family = "phi", .epsilon = "layer_norm_eps"},
    {.name = "phi3", .family = "phi3"},
    {.name = "qwen2", .family = "qwen2"},
    {.name = "qwen2moe", .family = "qwen2_moe", .add = add_qwen2moe},
    {.name = "qwen3", .family = "qwen3"},
    {.name = "qwen3moe", .family = "qwen3_moe", .add = add_qwen3moe},
    {.name = "stablelm", .family = "stablelm", .epsilon = "layer_norm_eps", .add = add_stablelm},
    {.name = "starcoder2", .family = "starcoder2", .epsilon = "norm_epsilon"},
};

const Architecture& architecture_of(const Json& pairs, const std::string& where) {
  Fields fields(pairs, where);
  const std::string name = fields.word("general.architecture", "");
  for (const Architecture& each : architectures)
    if (each.name == name) return each;
  const std::string near = nearest(name, gguf_architectures());
  fields.fail("general.architecture", fmt::format("one of {}{}", fmt::join(gguf_architectures(), ", "),
                                                  near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

// d_head and the part of it that is rotated.
void read_heads(GgufPairs& pairs) {
  const std::int64_t heads = pairs.heads.front();
  if (!pairs.has("attention.key_length") && pairs.d_model % heads != 0)
    pairs.refuse(fmt::format("{} is {}, which does not divide {}, {}; expected a divisor, or {}",
                             pairs.key("attention.head_count"), heads, pairs.key("embedding_length"), pairs.d_model,
                             pairs.key("attention.key_length")));
  pairs.d_head = pairs.size("attention.key_length", std::max<std::int64_t>(pairs.d_model / heads, 1));
  pairs.rotated = pairs.count("rope.dimension_count", pairs.d_head);
  if (pairs.d_head % 2 != 0 && !pairs.has("rope.dimension_count"))
    pairs.fail("attention.key_length",
               fmt::format("an even number: heads of {} cannot be rotated in pairs", pairs.d_head));
  if (pairs.rotated < 2 || pairs.rotated > pairs.d_head || pairs.rotated % 2 != 0)
    pairs.fail("rope.dimension_count", fmt::format("an even number, at most the {} elements of a head", pairs.d_head));
}

std::int64_t vocabulary(GgufPairs& pairs) {
  const TensorInfo* table = pairs.tensor("token_embd.weight");
  if (table == nullptr) pairs.refuse("there is no tensor 'token_embd.weight'; expected a whole model");
  if (table->shape.size() != 2)
    pairs.refuse(fmt::format("tensor 'token_embd.weight' is {}; expected two extents", bracketed(table->shape)));
  return table->shape.front();
}

// Which layers attend to a window.
struct Windows {
  std::int64_t size = 0;    // 0: none does
  std::vector<bool> local;  // by layer
  bool everywhere() const { return std::find(local.begin(), local.end(), false) == local.end(); }
};

Windows windows_of(GgufPairs& pairs, const Architecture& architecture) {
  const auto layers = static_cast<std::size_t>(pairs.layers);
  Windows windows;
  windows.size = pairs.count("attention.sliding_window", architecture.name == "gemma2" ? 4096 : 0);
  const Json* pattern = pairs.value("attention.sliding_window_pattern");
  const bool each = pattern != nullptr && pattern->is_array();
  if (each && pattern->size() < layers)
    pairs.fail("attention.sliding_window_pattern", fmt::format("{} entries, one per layer", layers));
  const std::int64_t period = each ? 0 : pairs.count("attention.sliding_window_pattern", architecture.window_period);
  for (std::size_t i = 0; i < layers; ++i) {
    bool local = period == 0 || static_cast<std::int64_t>(i) % period < period - 1;
    if (each) {
      const Json& entry = (*pattern)[i];
      if (!entry.is_boolean() && !entry.is_number_integer())
        pairs.fail("attention.sliding_window_pattern", "an array of true and false");
      local = entry.is_boolean() ? entry.get<bool>() : entry != 0;
    }
    windows.local.push_back(windows.size > 0 && local);
  }
  return windows;
}

// As far as the family's config.json can say it.
void add_windows(GgufPairs& pairs, const Windows& windows, Json& config) {
  if (windows.size == 0) return;
  const std::string family = config["model_type"].get<std::string>();
  const auto is = [&](const char* other) { return family == other; };
  if (is("gemma2") || is("gemma3_text") || is("gpt_oss") || is("qwen2") || is("qwen2_moe") || is("qwen3")) {
    config["sliding_window"] = windows.size;
    config["layer_types"] = Json::array();
    for (const bool local : windows.local)
      config["layer_types"].push_back(local ? "sliding_attention" : "full_attention");
    config.erase("sliding_window_pattern");
    if (is("gemma3_text")) config["rope_local_base_freq"] = pairs.positive("rope.freq_base_swa", 10000.0);
    if (is("qwen2") || is("qwen2_moe") || is("qwen3")) config["use_sliding_window"] = true;
  } else if (windows.everywhere() && (is("llama") || is("mixtral") || is("phi3") || is("starcoder2"))) {
    config["sliding_window"] = windows.size;
    if (is("llama")) config["model_type"] = "mistral";
  }
}

Json config_of(GgufPairs& pairs, const Architecture& architecture, const Windows& windows) {
  if (architecture.rotary) {
    read_heads(pairs);
  } else {
    pairs.d_head = pairs.size("attention.key_length", std::max<std::int64_t>(pairs.d_model / pairs.heads.front(), 1));
  }
  const bool latent = architecture.name == "deepseek2";
  if (!latent && pairs.size("attention.value_length", pairs.d_head) != pairs.d_head)
    pairs.fail("attention.value_length", fmt::format("{}, {}", pairs.key("attention.key_length"), pairs.d_head));
  const std::int64_t context = pairs.size("context_length");
  const char* epsilon =
      architecture.epsilon == "rms_norm_eps" ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  Json config{{"model_type", architecture.family},
              {"vocab_size", vocabulary(pairs)},
              {"hidden_size", pairs.d_model},
              {"num_hidden_layers", pairs.layers},
              {"num_attention_heads", pairs.heads.front()},
              {"num_key_value_heads", pairs.kv_heads.front()},
              {"head_dim", pairs.d_head},
              {"max_position_embeddings", context},
              {std::string(architecture.epsilon), pairs.positive(epsilon)},
              {"tie_word_embeddings", !pairs.holds("output.weight")}};
  if (architecture.name != "gpt-oss")
    config[std::string(architecture.d_ff)] = pairs.per_layer("feed_forward_length", {}).front();
  if (architecture.rotary) {
    const double theta = pairs.positive("rope.freq_base", 10000.0);
    config["rope_theta"] = theta;
    config["rope_scaling"] = gguf_rope_scaling(pairs, theta, context);
    // A little more, so that the product is no less than the number.
    if (pairs.rotated < pairs.d_head)
      config["partial_rotary_factor"] = (static_cast<double>(pairs.rotated) + 0.25) / static_cast<double>(pairs.d_head);
    else
      config["partial_rotary_factor"] = 1.0;
  }
  architecture.add(pairs, config);
  add_windows(pairs, windows, config);
  return config;
}

// How windowed layers attend and rotate.
void set_windows(GgufPairs& pairs, const Architecture& architecture, const Windows& windows, Model& model) {
  const bool own_base = pairs.has("rope.freq_base_swa") || architecture.name == "gemma3";
  const double base = pairs.positive("rope.freq_base_swa", 10000.0);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!windows.local[i]) continue;
    Attention& attention = *find<Attention>(model.layers[i]);
    attention.window = windows.size;
    if (!attention.rope) continue;
    Rope& rope = *attention.rope;
    if (architecture.local_rope_unscaled) {
      Rope plain;
      plain.theta = rope.theta;
      plain.dims = rope.dims;
      plain.interleaved = rope.interleaved;
      rope = plain;
    }
    if (own_base) rope.theta = base;
  }
}

void set_biases(const GgufPairs& pairs, std::size_t i, Layer& layer) {
  const auto any = [&](const char* fused, const char* apart) {
    return pairs.layer_holds(i, fused) || pairs.layer_holds(i, apart);
  };
  for_each<Attention>(layer, [&](Attention& attention) {
    if (attention.latent) return;
    attention.query_bias = any("attn_qkv.bias", "attn_q.bias");
    attention.key_bias = any("attn_qkv.bias", "attn_k.bias");
    attention.value_bias = any("attn_qkv.bias", "attn_v.bias");
    attention.output_bias = pairs.layer_holds(i, "attn_output.bias");
  });
  for_each<FeedForward>(layer,
                        [&](FeedForward& feed_forward) { feed_forward.bias = any("ffn_up.bias", "ffn_down.bias"); });
}

// What a config.json cannot say.
void change(GgufPairs& pairs, const Architecture& architecture, const Windows& windows, Model& model) {
  const std::vector<std::int64_t> d_ff =
      architecture.name == "gpt-oss" ? std::vector<std::int64_t>{} : pairs.per_layer("feed_forward_length", {});
  const double scale = pairs.number("attention.scale", 0.0);
  const double experts_scale = pairs.number("expert_weights_scale", 0.0);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    set_biases(pairs, i, layer);
    for_each<FeedForward>(layer, [&](FeedForward& each) { each.d_ff = d_ff[i]; });
    for_each<Mixture>(layer, [&](Mixture& mixture) {
      if (experts_scale != 0) mixture.scale = experts_scale;
    });
    for_each<Attention>(layer, [&](Attention& attention) {
      attention.n_heads = pairs.heads[i];
      if (!attention.latent) attention.n_kv_heads = pairs.kv_heads[i];
      // Where the family's config.json says it, it is not a float32.
      if (scale != 0 && std::abs(attention.scale - scale) > 1e-6 * scale) attention.scale = scale;
      if (architecture.neighbours && attention.rope) attention.rope->interleaved = true;
      if (architecture.norms_with_one && attention.query_key_norm) attention.query_key_norm->weight_plus_one = false;
    });
    if (architecture.norms_with_one)
      for_each<Sublayer>(layer, [](Sublayer& sublayer) {
        for (std::optional<Norm>* norm : {&sublayer.norms.before, &sublayer.norms.after})
          if (*norm) (*norm)->weight_plus_one = false;
      });
  }
  if (architecture.norms_with_one) model.final_norm->weight_plus_one = false;
  model.head.bias = pairs.holds("output.bias");
  set_windows(pairs, architecture, windows, model);
  // Granite's switch for models without positions.
  if (!pairs.flag("rope.scaling.finetuned", true) && architecture.name == "granite")
    for_each<Attention>(model.layers, [](Attention& attention) { attention.rope.reset(); });
  if (pairs.predicting > 0)
    model.notes.push_back(fmt::format("{} further layer{}, which predict{} tokens after the next, {} left out",
                                      pairs.predicting, pairs.predicting > 1 ? "s" : "",
                                      pairs.predicting > 1 ? "" : "s", pairs.predicting > 1 ? "are" : "is"));
}

[[noreturn]] void refuse_pair(GgufPairs& pairs, const std::string& key, const Json& value) {
  pairs.refuse(fmt::format("{} is {}, which is not understood and could change the network", key, describe(value)));
}

// Keys that converters write for networks, too, which have nothing of the kind: with the value that says so.
void accept_neutral(GgufPairs& pairs, const Architecture& architecture, const Model& model) {
  const auto accept = [&](const char* name, const auto& neutral) {
    const Json* found = pairs.value(name);
    if (found != nullptr && !neutral(*found)) refuse_pair(pairs, pairs.key(name), *found);
  };
  using Scores = Mixture::Scores;
  const Mixture* mixture = find<Mixture>(model);
  const bool chosen_first = architecture.name == "gpt-oss";  // then weighed: llama.cpp's third
  accept("attention.clamp_kqv", [](const Json& value) { return value == 0; });
  accept("tensor_data_layout", [&](const Json& value) {
    if (architecture.name == "falcon") return true;  // "jploski", whatever the layout
    return value == (architecture.neighbours ? "Meta AI original pth" : "reference");
  });
  if (architecture.name == "deepseek2") return;  // which has understood the others
  accept("expert_shared_count",
         [&](const Json& value) { return value == 0 && (mixture == nullptr || !mixture->shared); });
  accept("expert_gating_func", [&](const Json& value) {
    return mixture != nullptr && value == (chosen_first ? 3 : 1) &&
           (mixture->scores == Scores::softmax || mixture->scores == Scores::softmax_of_chosen);
  });
}

}  // namespace

const std::vector<std::string>& gguf_architectures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Architecture& each : architectures) all.emplace_back(each.name);
    return all;
  }();
  return names;
}

std::string gguf_architecture(const Model& model) {
  for (const Architecture& each : architectures)
    if (each.family == model.family) return std::string(each.name);
  const std::string& family = model.family;
  if (family == "mistral" || family == "mixtral") return "llama";
  return family == "deepseek_v3" ? "deepseek2" : "";
}

GgufModel read_gguf_model(const TensorFile& file, const std::string& where) {
  const Architecture& architecture = architecture_of(file.files.front().pairs, where);
  GgufPairs pairs(file, where, std::string(architecture.name));
  GgufModel read;
  const Windows windows = windows_of(pairs, architecture);
  const Json config = config_of(pairs, architecture, windows);
  // A few bytes could ask for as many layers as fit into memory.
  if (pairs.layers + pairs.predicting > std::ssize(file.tensors))
    pairs.fail("block_count", fmt::format("at most {}, the number of tensors", file.tensors.size()));
  read.config = config;
  read.model = read_config(config, where);
  change(pairs, architecture, windows, read.model);
  if (!pairs.flag("attention.causal", true)) pairs.fail("attention.causal", "true: only causal models are supported");
  for (const char* harmless : {"vocab_size", "pooling_type"}) pairs.ignore(harmless);
  accept_neutral(pairs, architecture, read.model);
  if (const Fields::Unread* other = pairs.unread()) refuse_pair(pairs, other->name, *other->value);
  validate(read.model);
  return read;
}

}  // namespace reckon
