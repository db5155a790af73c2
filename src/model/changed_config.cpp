// Only what differs is touched: a field under the names that the base has for it, else under the family's own.
#include "model/changed_config.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files/encoding.h"
#include "model/nested.h"
#include "model/read.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

using Ordered = nlohmann::ordered_json;

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
    case Activation::sigmoid:
      return "sigmoid";
    case Activation::softplus:
      return "softplus";
    case Activation::xielu:
      return "xielu";
    case Activation::identity:
      break;
  }
  return "";
}

// Fields with an entry for each layer.
const char* const layer_fields[] = {"layer_types",           "mlp_layer_types",      "no_rope_layers",
                                    "attn_type_list",        "hybrid_layer_pattern", "moe_layer_freq",
                                    "is_moe_layer",          "num_experts",          "moe_topk",
                                    "moe_intermediate_size", "num_shared_expert"};

// As far as these tell layers apart.
bool alike(const Layer& a, const Layer& b) {
  const Attention *one = find<Attention>(a), *other = find<Attention>(b);
  if (one == nullptr || other == nullptr) return one == other;
  return one->window == other->window && one->chunked == other->chunked &&
         one->indexer.has_value() == other->indexer.has_value() && one->rope.has_value() == other->rope.has_value() &&
         (find<Mixture>(a) == nullptr) == (find<Mixture>(b) == nullptr);
}

class Changer {
 public:
  // `fields` is `base` after `from` was read of it.
  Changer(const Ordered& base, const Fields& fields, const Model& from, const Model& to)
      : config_(base), fields_(fields), from_(from), to_(to) {}

  Ordered change() {
    const Layer &before = from_.layers.back(), &after = to_.layers.back();
    // What is changed in one layer holds for all where each has one attention, and one feed-forward or mixture.
    const bool plain = find<Attention>(before) != nullptr && feed_forward_of(before) != nullptr;
    if (find<Recurrence>(from_) != nullptr || !plain) return change_sizes();
    const Attention &old = *find<Attention>(before), &attention = *find<Attention>(after);
    const FeedForward &old_ff = *feed_forward_of(before), &feed_forward = *feed_forward_of(after);
    set(from_.d_model, to_.d_model, "hidden_size");
    set(from_.layers.size(), to_.layers.size(), "num_hidden_layers");
    set(old.n_heads, attention.n_heads, "num_attention_heads");
    set(old.n_kv_heads, attention.n_kv_heads, "num_key_value_heads");
    const bool follows = !attention.latent && attention.n_heads * attention.d_head == to_.d_model;
    if (!follows || stands("head_dim")) set(old.d_head, attention.d_head, "head_dim");
    set(from_.vocab_size, to_.vocab_size, "vocab_size");
    if (from_.vocab_size != to_.vocab_size)
      for (const char* id : {"bos_token_id", "eos_token_id", "pad_token_id"}) config_.erase(id);
    set(from_.context, to_.context, "max_position_embeddings");
    if (from_.context != to_.context && stands("n_ctx")) config_["n_ctx"] = to_.context;  // GPT-2's again
    set(from_.head.tied, to_.head.tied, "tie_word_embeddings");
    change_feed_forward(old_ff, find<Mixture>(before), feed_forward, find<Mixture>(after));
    set(old.output_bias, attention.output_bias, "attention_bias");
    set(old_ff.bias, feed_forward.bias, "mlp_bias");
    set(old.window, attention.window, "sliding_window");
    change_layer_fields();
    return config_of_type(config_, DType::float32);
  }

 private:
  // Of a network with recurrences: what belongs to no layer, and how many there are.
  Ordered change_sizes() {
    set(from_.vocab_size, to_.vocab_size, "vocab_size");
    set(from_.context, to_.context, "max_position_embeddings");
    set(from_.head.tied, to_.head.tied, "tie_word_embeddings");
    return config_of_type(config_, DType::float32);
  }

  // A layer keeps the entry that the base has for one that is alike.
  void change_layer_fields() {
    const Layers &before = from_.layers, &after = to_.layers;
    if (std::equal(before.begin(), before.end(), after.begin(), after.end(), alike)) return;
    std::vector<std::size_t> same;  // of each layer, which of the base's; as many as there are: none
    for (std::size_t i = 0; i < after.size(); ++i) {
      std::size_t from = i;
      if (i >= before.size() || !alike(before[i], after[i]))
        for (from = 0; from < before.size() && !alike(before[from], after[i]);) ++from;
      same.push_back(from);
    }
    for (const char* field : layer_fields) {
      if (!stands(field) || !config_[field].is_array()) continue;
      Ordered entries = Ordered::array();
      for (std::size_t i = 0; i < after.size(); ++i) {
        const Attention* attention = find<Attention>(after[i]);
        if (same[i] < config_[field].size())
          entries.push_back(config_[field][same[i]]);
        else if (field == std::string("layer_types") && attention != nullptr)
          entries.push_back(attention->window > 0 ? "sliding_attention" : "full_attention");
      }
      config_[field] = entries;
    }
    if (stands("mlp_layer_types")) config_.erase("first_k_dense_replace");  // the same again
    if (stands("attention_types")) {                                        // GPT-Neo's
      Ordered entries = Ordered::array();
      for_each<Attention>(after, [&](const Attention& a) {
        entries.push_back(Ordered::array({Ordered::array({a.window > 0 ? "local" : "global"}), 1}));
      });
      config_["attention_types"] = entries;
      config_.erase("attention_layers");  // the same again
    }
  }

  bool stands(const std::string& name) const { return config_.contains(name) && !config_[name].is_null(); }

  // `name` is LLaMA's.
  template <class Value>
  void set(const Value& before, const Value& after, const std::string& name) {
    if (before == after) return;
    const std::vector<std::string> names = fields_.spellings(name);
    bool found = false;
    for (const std::string& spelling : names) {
      if (!stands(spelling)) continue;
      config_[spelling] = after;
      found = true;
    }
    if (!found) config_[names.front()] = after;
  }

  void change_feed_forward(const FeedForward& before, const Mixture* mixture_before, const FeedForward& after,
                           const Mixture* mixture_after) {
    const std::string d_ff = "intermediate_size";
    if (mixture_before && mixture_after) {
      set(before.d_ff, after.d_ff, stands("moe_intermediate_size") ? "moe_intermediate_size" : d_ff);
      const FeedForward *dense = find<FeedForward>(from_), *changed = find<FeedForward>(to_);
      if (dense != nullptr && changed != nullptr) set(dense->d_ff, changed->d_ff, d_ff);
      if (mixture_before->shared && mixture_after->shared)  // so many times an expert
        set(mixture_before->shared->d_ff / before.d_ff, mixture_after->shared->d_ff / after.d_ff, "n_shared_experts");
      const auto chosen_from = [](const Mixture& m) { return m.n_experts - m.n_always; };
      const auto chosen = [](const Mixture& m) { return m.n_active - m.n_always; };
      set(chosen_from(*mixture_before), chosen_from(*mixture_after), "num_local_experts");
      set(chosen(*mixture_before), chosen(*mixture_after), "num_experts_per_tok");
    } else {
      set(before.d_ff, after.d_ff, d_ff);
    }
    set(std::string(activation_word(before.activation)), std::string(activation_word(after.activation)), "hidden_act");
  }

  Ordered config_;
  const Fields& fields_;
  const Model &from_, &to_;
};

}  // namespace

nlohmann::ordered_json changed_config(const Ordered& base, const Model& model) {
  const Ordered own = language_model_config(base);
  const nlohmann::json unordered = own;
  Fields fields(unordered, model.name);
  const Model described = read_config(fields);
  Ordered config = Changer(own, fields, described, model).change();
  const auto says_so = [&] {
    try {
      Model again = read_config(config, model.name);
      again.notes = model.notes;  // what was left out is not in the new file either
      return again == model;
    } catch (const Error&) {
      return false;
    }
  };
  if (!says_so())
    throw UsageError(fmt::format(
        "a config.json of type {} cannot say these changes to {}, so that a checkpoint of it could not be read again",
        model.family, model.name));
  return config;
}

Ordered changed_fields(const Ordered& base, const Model& model) {
  const Ordered before = config_of_type(language_model_config(base), DType::float32),
                after = changed_config(base, model);
  Ordered fields = Ordered::object();
  for (const auto& [name, value] : after.items())
    if (!before.contains(name) || before[name] != value) fields[name] = value;
  for (const auto& [name, value] : before.items())
    if (!after.contains(name)) fields[name] = nullptr;
  return fields;
}

Ordered unquantised_config(Ordered config) {
  const char* nest = nested_language_model(config);
  for (const char* name : quantization_fields) {
    config.erase(name);
    if (nest != nullptr) config[nest].erase(name);
  }
  return config;
}

Ordered config_of_type(Ordered config, DType dtype) {
  const char* nest = nested_language_model(config);
  for (Ordered* object : {&config, nest != nullptr ? &config[nest] : nullptr})
    for (const char* name : {"torch_dtype", "dtype"})
      if (object != nullptr && object->contains(name) && (*object)[name].is_string())
        (*object)[name] = encoding_of(dtype).name;
  return config;
}

}  // namespace reckon
