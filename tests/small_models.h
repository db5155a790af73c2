// Small models built by hand, one of each family that has a network of its own, for tests of what files hold.
#pragma once

#include <reckon/model.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "family_references.h"
#include "model/families.h"
#include "model/read.h"
#include "model/sublayers.h"

namespace reckon::testing_models {

// Two layers of LLaMA: d 8, 4 query and 2 key heads of 6, feed-forward 12, vocabulary 11, context 5, untied.
inline Model small_llama(const std::string& family = "llama") {
  Model model;
  model.name = "small " + family;
  model.family = family;
  model.d_model = model.d_embedding = 8;
  model.vocab_size = 11;
  model.context = 5;
  Attention attention;
  attention.n_heads = 4;
  attention.n_kv_heads = 2;
  attention.d_head = attention.d_value = 6;
  const FeedForward feed_forward{.d_ff = 12, .activation = Activation::silu, .gated = true};
  Layer layer;
  layer.sublayers = {Sublayer{.kind = attention, .norms = {}}, Sublayer{.kind = feed_forward, .norms = {}}};
  for (Sublayer& sublayer : layer.sublayers) sublayer.norms.before = Norm{.kind = Norm::Kind::rms};
  model.layers.assign(2, layer);
  model.final_norm = Norm{.kind = Norm::Kind::rms};
  return model;
}

inline Model changed(Model model, const std::function<void(Layer&)>& change) {
  for (Layer& layer : model.layers) change(layer);
  return model;
}

inline void set_biases(Layer& layer, bool qkv, bool output, bool feed_forward) {
  find<Attention>(layer)->query_bias = find<Attention>(layer)->key_bias = find<Attention>(layer)->value_bias = qkv;
  find<Attention>(layer)->output_bias = output;
  feed_forward_of(layer)->bias = feed_forward;
}

// LayerNorms with bias, plain feed-forward, as many key as query heads, tied.
inline Model small_gpt(const std::string& family) {
  Model model = small_llama(family);
  const Norm norm{.bias = true};
  model = changed(model, [&](Layer& layer) {
    find<Attention>(layer)->n_kv_heads = 4;
    find<Attention>(layer)->d_head = find<Attention>(layer)->d_value = 2;
    feed_forward_of(layer)->gated = false;
    set_biases(layer, true, true, true);
    layer.sublayers.front().norms.before = layer.sublayers.back().norms.before = norm;
  });
  model.final_norm = norm;
  model.head.tied = true;
  return model;
}

inline void share_norm(Layer& layer) {
  layer.sublayers[1].reads = Sublayer::Reads::first;
  layer.sublayers.back().norms.before.reset();
}

// The feed-forward becomes each of three experts, of which two are chosen.
inline Mixture& three_experts(Layer& layer, std::optional<FeedForward> shared = {}) {
  Mixture mixture;
  mixture.expert = *feed_forward_of(layer);
  mixture.n_experts = 3;
  mixture.n_active = 2;
  mixture.shared = shared;
  layer.sublayers[1].kind = mixture;
  return *find<Mixture>(layer);
}

inline Model small_model(const std::string& family) {
  if (family == "gpt2" || family == "gpt_neo" || family == "opt") {
    Model model = small_gpt(family);
    model.positions.kind = Positions::Kind::learned;
    if (family == "gpt_neo") model = changed(model, [](Layer& layer) { set_biases(layer, false, true, true); });
    if (family == "opt") model.positions.extra_rows = 2;
    return model;
  }
  if (family == "gptj") {
    Model model = changed(small_gpt(family), [](Layer& layer) {
      set_biases(layer, false, false, true);
      share_norm(layer);
    });
    model.head = {.tied = false, .bias = true};
    return model;
  }
  if (family == "gpt_neox") {
    Model model = changed(small_gpt(family), [](Layer& layer) { layer.sublayers[1].reads = Sublayer::Reads::entry; });
    model.head.tied = false;
    return model;
  }
  if (family == "bloom") {
    Model model = small_gpt(family);
    model.embedding_norm = Norm{.bias = true};
    return model;
  }
  if (family == "falcon")  // the form of 7B: one norm, one key head
    return changed(small_gpt(family), [](Layer& layer) {
      set_biases(layer, false, false, false);
      find<Attention>(layer)->n_kv_heads = 1;
      share_norm(layer);
    });
  if (family == "phi") {
    Model model = changed(small_gpt(family), share_norm);
    model.head = {.tied = false, .bias = true};
    return model;
  }
  if (family == "starcoder2")
    return changed(small_gpt(family), [](Layer& layer) { find<Attention>(layer)->n_kv_heads = 2; });

  Model model = small_llama(family);
  const Norm rms{.kind = Norm::Kind::rms};
  if (family == "qwen2") return changed(model, [](Layer& layer) { set_biases(layer, true, false, false); });
  if (family == "qwen3") return changed(model, [&](Layer& layer) { find<Attention>(layer)->query_key_norm = rms; });
  if (family == "gemma2" || family == "gemma3_text") {
    model.head.tied = true;
    return changed(model, [&](Layer& layer) {
      layer.sublayers.front().norms.after = layer.sublayers.back().norms.after = rms;
      if (family == "gemma3_text") find<Attention>(layer)->query_key_norm = rms;
    });
  }
  if (family == "olmo2")
    return changed(model, [&](Layer& layer) {
      layer.sublayers.front().norms = layer.sublayers.back().norms = {.before = {}, .after = rms, .residual = {}};
      find<Attention>(layer)->query_key_norm = rms;
      find<Attention>(layer)->norm_span = Attention::NormSpan::all_heads;
    });
  if (family == "stablelm" || family == "cohere")
    return changed(model, [&](Layer& layer) {
      share_norm(layer);
      find<Attention>(layer)->query_key_norm = Norm{};
      find<Attention>(layer)->norm_span = Attention::NormSpan::own_head;
    });
  if (family == "arcee") return changed(model, [](Layer& layer) { feed_forward_of(layer)->gated = false; });
  if (family == "mixtral" || family == "qwen3_moe" || family == "qwen3_vl_moe_text")
    return changed(model, [](Layer& layer) { three_experts(layer); });
  if (family == "step3p5")
    return changed(model, [&](Layer& layer) {
      find<Attention>(layer)->query_key_norm = rms;
      find<Attention>(layer)->gate = OutputGate{Activation::sigmoid, true};
      three_experts(layer, *feed_forward_of(layer)).correction_bias = true;
    });
  if (family == "gpt_oss")
    return changed(model, [](Layer& layer) {
      set_biases(layer, true, true, true);
      find<Attention>(layer)->sinks = true;
      three_experts(layer).router_bias = true;
    });
  if (family == "deepseek_v2" || family == "deepseek_v3") {
    model = changed(model, [&](Layer& layer) {
      find<Attention>(layer)->n_kv_heads = 4;
      find<Attention>(layer)->d_head = 5;
      find<Attention>(layer)->d_value = 4;
      find<Attention>(layer)->latent = Latent{.query_rank = 7, .kv_rank = 3, .d_nope = 3, .d_rope = 2, .norm = rms};
    });
    Layer& last = model.layers[1];
    three_experts(last, *feed_forward_of(last)).correction_bias = family == "deepseek_v3";
  }
  return model;  // as LLaMA: gemma, granite, llama, mistral, phi3
}

// The model types with a network of their own, but for those of which there are files to compare with
// (family_references.h).
inline const std::vector<std::string>& families() {
  static const std::vector<std::string> names = [] {
    const std::vector<std::string> files = family_references::found("tiny");
    std::vector<std::string> own;
    for (const std::string& type : model_types()) {
      if (find_family(type)->network.empty() && !std::binary_search(files.begin(), files.end(), type))
        own.push_back(type);
    }
    return own;
  }();
  return names;
}

}  // namespace reckon::testing_models
