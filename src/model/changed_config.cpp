// Only what differs is touched: a field under the name that the base has, else under the family's own.
#include "model/changed_config.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "model/nested.h"
#include "model/read.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

// Families with names of their own for what a base may leave out.
std::string d_ff_name(const std::string& family) {
  static const std::map<std::string, std::string> own = {{"gpt2", "n_inner"},
                                                         {"gptj", "n_inner"},
                                                         {"bloom", "n_inner"},
                                                         {"opt", "ffn_dim"},
                                                         {"falcon", "ffn_hidden_size"}};
  const auto found = own.find(family);
  return found == own.end() ? "intermediate_size" : found->second;
}

Names bias_names(const std::string& family) {
  static const std::map<std::string, Names> own = {{"gpt2", {"bias"}},
                                                   {"falcon", {"bias"}},
                                                   {"opt", {"enable_bias"}},
                                                   {"starcoder2", {"use_bias"}},
                                                   {"llama", {"attention_bias", "mlp_bias"}},
                                                   {"arcee", {"attention_bias", "mlp_bias"}}};
  const auto found = own.find(family);
  return found == own.end() ? Names{"attention_bias"} : found->second;
}

const char* activation_word(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::relu:
      return "relu";
    case Activation::relu_squared:
      return "relu2";
    case Activation::silu:
      return "silu";
  }
  return "";
}

class Changer {
 public:
  Changer(const Json& base, const Model& from, const Model& to) : config_(base), from_(from), to_(to) {}

  Json change() {
    // A layer of today's families has one attention, and one feed-forward or mixture.
    const Layer &before = from_.layers.back(), &after = to_.layers.back();
    const Attention &old = *find<Attention>(before), &attention = *find<Attention>(after);
    const FeedForward &old_ff = *feed_forward_of(before), &feed_forward = *feed_forward_of(after);
    set(from_.d_model, to_.d_model, {"n_embd", "hidden_size", "n_embed"}, "hidden_size");
    set(from_.layers.size(), to_.layers.size(), {"n_layer", "num_hidden_layers", "num_layers"}, "num_hidden_layers");
    set(old.n_heads, attention.n_heads, {"n_head", "num_attention_heads", "num_heads"}, "num_attention_heads");
    set(old.n_kv_heads, attention.n_kv_heads, {"num_key_value_heads", "num_kv_heads", "n_head_kv"},
        from_.family == "falcon" ? "num_kv_heads" : "num_key_value_heads");
    const bool follows = !attention.latent && attention.n_heads * attention.d_head == to_.d_model;
    if (!follows || stands("head_dim")) set(old.d_head, attention.d_head, {"head_dim"}, "head_dim");
    set(from_.vocab_size, to_.vocab_size, {"vocab_size"}, "vocab_size");
    if (from_.vocab_size != to_.vocab_size) {
      for (const char* id : {"bos_token_id", "eos_token_id", "pad_token_id"}) config_.erase(id);
    }
    set(from_.context, to_.context, {"n_positions", "max_position_embeddings", "seq_length", "n_ctx"},
        from_.family == "gpt2" ? "n_positions" : "max_position_embeddings");
    set(from_.head.tied, to_.head.tied, {"tie_word_embeddings"}, "tie_word_embeddings");
    change_feed_forward(old_ff, find<Mixture>(before), feed_forward, find<Mixture>(after));
    if (!(old.query_bias == attention.query_bias && old_ff.bias == feed_forward.bias &&
          old.output_bias == attention.output_bias)) {
      for (const std::string& name : bias_names(from_.family)) {
        config_[name] = name == "mlp_bias" ? feed_forward.bias : attention.output_bias;
      }
    }
    set(old.window, attention.window, {"sliding_window", "window_size"}, "sliding_window");
    if (stands("layer_types")) {
      Json types = Json::array();
      for_each<Attention>(to_.layers, [&](const Attention& a) {
        types.push_back(a.window > 0 ? "sliding_attention" : "full_attention");
      });
      config_["layer_types"] = types;
    }
    if (stands("attention_types")) change_attention_types();
    if (config_.contains("torch_dtype")) config_["torch_dtype"] = "float32";
    return config_;
  }

 private:
  bool stands(const std::string& name) const { return config_.contains(name) && !config_[name].is_null(); }

  template <class Value>
  void set(const Value& before, const Value& after, const Names& names, const std::string& usual) {
    if (before == after) return;
    bool found = false;
    for (const std::string& name : names) {
      if (!stands(name)) continue;
      config_[name] = after;
      found = true;
    }
    if (!found) config_[usual] = after;
  }

  void change_feed_forward(const FeedForward& before, const Mixture* mixture_before, const FeedForward& after,
                           const Mixture* mixture_after) {
    const std::string own = d_ff_name(from_.family);
    if (mixture_before && mixture_after) {
      const std::string expert = stands("moe_intermediate_size") ? "moe_intermediate_size" : own;
      set(before.d_ff, after.d_ff, {expert}, expert);
      const FeedForward *dense = find<FeedForward>(from_), *changed = find<FeedForward>(to_);
      if (dense != nullptr && changed != nullptr) set(dense->d_ff, changed->d_ff, {own}, own);
      if (mixture_before->shared && mixture_after->shared) {  // so many times an expert
        set(mixture_before->shared->d_ff / before.d_ff, mixture_after->shared->d_ff / after.d_ff, {"n_shared_experts"},
            "n_shared_experts");
      }
      set(mixture_before->n_experts, mixture_after->n_experts, {"num_local_experts", "num_experts", "n_routed_experts"},
          "num_local_experts");
      set(mixture_before->n_active, mixture_after->n_active, {"num_experts_per_tok", "experts_per_token"},
          "num_experts_per_tok");
    } else {
      set(before.d_ff, after.d_ff, {own}, own);
    }
    set(std::string(activation_word(before.activation)), std::string(activation_word(after.activation)),
        {"hidden_act", "activation_function", "hidden_activation", "activation"},
        from_.family == "gpt2" ? "activation_function" : "hidden_act");
  }

  // GPT-Neo's: each layer on its own.
  void change_attention_types() {
    Json types = Json::array();
    for_each<Attention>(to_.layers, [&](const Attention& a) {
      types.push_back(Json::array({Json::array({a.window > 0 ? "local" : "global"}), 1}));
    });
    config_["attention_types"] = types;
    config_.erase("attention_layers");
  }

  Json config_;
  const Model &from_, &to_;
};

}  // namespace

nlohmann::ordered_json changed_config(const Json& base, const Model& model) {
  const Json own = language_model_config(base);
  const Model described = read_config(own, model.name);
  Json config = Changer(own, described, model).change();
  const auto says_so = [&] {
    try {
      Model again = read_config(config, model.name);
      again.notes = model.notes;  // what was left out is not in the new file either
      return again == model;
    } catch (const Error&) {
      return false;
    }
  };
  if (!says_so()) {
    throw UsageError(fmt::format(
        "a config.json of type {} cannot say these changes to {}, so that a checkpoint of it could not be read again",
        model.family, model.name));
  }
  return config;
}

}  // namespace reckon
