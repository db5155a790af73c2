#include "model/describe_gguf.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "files/quote.h"
#include "model/changed_config.h"
#include "model/differences.h"
#include "model/families.h"
#include "model/read.h"
#include "model/read_gguf.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

class Describer {
 public:
  explicit Describer(const Model& model) : model_(model), attention_(first_attention(model)) {
    out_.architecture = gguf_architecture(model);
    if (out_.architecture.empty())
      throw Error(
          fmt::format("{} is of the family {}, for which reckon writes no GGUF file: it writes the architectures {}",
                      quote(model.name), quote(model.family), fmt::join(gguf_architectures(), ", ")));
  }

  GgufDescription describe() {
    out_.pairs.push_back(gguf_pair("general.architecture", out_.architecture));
    sizes();
    windows();
    rope();
    mixture();
    others();
    lay_out();
    read_again();
    return std::move(out_);
  }

 private:
  bool is(std::initializer_list<std::string_view> architectures) const {
    return std::find(architectures.begin(), architectures.end(), out_.architecture) != architectures.end();
  }

  void add(const std::string& key, Json value) {
    out_.pairs.push_back(gguf_pair(out_.architecture + "." + key, std::move(value)));
  }
  void number(const std::string& key, std::int64_t value) { add(key, static_cast<std::uint64_t>(value)); }
  void real(const std::string& key, double value) { add(key, static_cast<double>(static_cast<float>(value))); }

  // One number where all layers have the same.
  void per_layer(const std::string& key, const std::vector<std::int64_t>& values) {
    if (std::set(values.begin(), values.end()).size() == 1) return number(key, values.front());
    add(key, std::vector<std::uint64_t>(values.begin(), values.end()));
  }

  void sizes() {
    number("context_length", model_.context);
    number("embedding_length", model_.d_model);
    number("block_count", std::ssize(model_.layers));
    number("vocab_size", model_.vocab_size);
    std::vector<std::int64_t> d_ff, heads, kv_heads;
    const FeedForward* dense = find<FeedForward>(model_);
    for (const Layer& layer : model_.layers) {
      const FeedForward* own = find<FeedForward>(layer);
      const Attention* attention = find<Attention>(layer);
      if (own == nullptr) own = dense != nullptr ? dense : feed_forward_of(layer);
      if (own == nullptr || attention == nullptr || layer.shares > 0)
        throw Error(
            fmt::format("{} has a layer without attention or feed-forward of its own, which GGUF files cannot "
                        "describe",
                        quote(model_.name)));
      d_ff.push_back(own->d_ff);
      heads.push_back(attention->n_heads);
      kv_heads.push_back(attention->latent ? 1 : attention->n_kv_heads);
    }
    per_layer("feed_forward_length", d_ff);
    per_layer("attention.head_count", heads);
    per_layer("attention.head_count_kv", kv_heads);
    if (model_.final_norm)
      real(model_.final_norm->kind == Norm::Kind::rms ? "attention.layer_norm_rms_epsilon"
                                                      : "attention.layer_norm_epsilon",
           model_.final_norm->epsilon);
    if (attention_.latent) {
      const Latent& latent = *attention_.latent;
      number("attention.key_length", latent.kv_rank + latent.d_rope);
      number("attention.value_length", latent.kv_rank);
      number("attention.key_length_mla", attention_.d_head);
      number("attention.value_length_mla", attention_.d_value);
      number("attention.kv_lora_rank", latent.kv_rank);
      if (latent.query_rank > 0) number("attention.q_lora_rank", latent.query_rank);
    } else if (attention_.d_head * attention_.n_heads != model_.d_model) {
      number("attention.key_length", attention_.d_head);
      number("attention.value_length", attention_.d_head);
    }
  }

  void windows() {
    std::vector<bool> local;
    for (const Layer& layer : model_.layers) local.push_back(find<Attention>(layer)->window > 0);
    const std::int64_t window = first_window(model_);
    if (window == 0) return;
    number("attention.sliding_window", window);
    if (std::find(local.begin(), local.end(), false) == local.end() && !is({"gemma2", "gemma3", "gpt-oss", "olmo2"}))
      return;
    // Every so manieth layer is not windowed, or each says what it is.
    const auto is_period = [&](std::size_t period) {
      for (std::size_t i = 0; i < local.size(); ++i)
        if (local[i] != (i % period < period - 1)) return false;
      return true;
    };
    for (std::size_t period = 2; period <= local.size() + 1; ++period)
      if (is_period(period)) return number("attention.sliding_window_pattern", static_cast<std::int64_t>(period));
    add("attention.sliding_window_pattern", local);
  }

  void rope() {
    const Rope *full = nullptr, *local = nullptr;
    for (const Layer& layer : model_.layers) {
      const Attention& attention = *find<Attention>(layer);
      const Rope*& place = attention.window > 0 ? local : full;
      if (attention.rope && place == nullptr) place = &*attention.rope;
    }
    if (full == nullptr) full = local;
    if (full == nullptr) return;
    number("rope.dimension_count", full->dims);
    real("rope.freq_base", full->theta);
    if (is({"gemma3"}) && local != nullptr) real("rope.freq_base_swa", local->theta);
    scaling(*full);
  }

  void scaling(const Rope& rope) {
    const auto floats = [](const std::vector<double>& values) {
      return std::vector<float>(values.begin(), values.end());
    };
    switch (rope.scaling) {
      case Rope::Scaling::none:
        return;
      case Rope::Scaling::linear:
        add("rope.scaling.type", "linear");
        return real("rope.scaling.factor", rope.factor);
      case Rope::Scaling::yarn:
        add("rope.scaling.type", "yarn");
        real("rope.scaling.factor", rope.factor);
        number("rope.scaling.original_context_length", static_cast<std::int64_t>(rope.original_context));
        real("rope.scaling.yarn_beta_fast", rope.beta_fast);
        real("rope.scaling.yarn_beta_slow", rope.beta_slow);
        if (rope.attention_factor != 0)
          real("rope.scaling.attn_factor", rope.attention_factor / yarn_mscale(rope.factor, 1.0));
        if (rope.mscale_all_dim != 0) real("rope.scaling.yarn_log_multiplier", 0.1 * rope.mscale_all_dim);
        return;
      case Rope::Scaling::longrope: {
        const double stretch = static_cast<double>(model_.context) / rope.original_context;
        number("rope.scaling.original_context_length", static_cast<std::int64_t>(rope.original_context));
        real("rope.scaling.attn_factor", rope.attention_factor != 0 ? rope.attention_factor
                                         : stretch <= 1
                                             ? 1
                                             : std::sqrt(1 + std::log(stretch) / std::log(rope.original_context)));
        out_.constants.push_back({"rope_factors_long.weight", floats(rope.long_factors)});
        out_.constants.push_back({"rope_factors_short.weight", floats(rope.short_factors)});
        return;
      }
      case Rope::Scaling::llama3:
        return out_.constants.push_back({"rope_freqs.weight", floats(divisors(rope))});
      case Rope::Scaling::dynamic:
        throw Error(fmt::format("{} scales RoPE dynamically, which GGUF files cannot say", quote(model_.name)));
    }
  }

  // What Llama 3 divides each frequency by: nothing where many turns fit into the original context, the factor where
  // few do, and a mixture between.
  static std::vector<double> divisors(const Rope& rope) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < rope.dims; i += 2) {
      const double frequency = std::pow(rope.theta, -static_cast<double>(i) / static_cast<double>(rope.dims));
      const double turns = rope.original_context * frequency / (2 * std::numbers::pi);
      const double smooth = std::clamp(
          (turns - rope.low_frequency_factor) / (rope.high_frequency_factor - rope.low_frequency_factor), 0.0, 1.0);
      all.push_back(1 / ((1 - smooth) / rope.factor + smooth));
    }
    return all;
  }

  void mixture() {
    const Mixture* found = find<Mixture>(model_);
    if (found == nullptr) return;
    number("expert_count", found->n_experts);
    number("expert_used_count", found->n_active);
    if (!is({"llama"})) number("expert_feed_forward_length", found->expert.d_ff);
    if (is({"qwen2moe"})) number("expert_shared_feed_forward_length", found->shared->d_ff);
    if (is({"qwen2moe", "qwen3moe"}) && found->normalize != is({"qwen3moe"}))
      add("expert_weights_norm", found->normalize);
    if (!is({"deepseek2"})) return;
    std::int64_t dense = 0;
    while (find<Mixture>(model_.layers[static_cast<std::size_t>(dense)]) == nullptr) ++dense;
    number("leading_dense_block_count", dense);
    number("expert_shared_count", found->shared ? found->shared->d_ff / found->expert.d_ff : 0);
    real("expert_weights_scale", found->scale);
    add("expert_weights_norm", found->normalize);
    number("expert_gating_func", found->scores == Mixture::Scores::sigmoid ? 2 : 1);
    number("expert_group_count", found->n_groups);
    number("expert_group_used_count", found->n_active_groups);
  }

  void others() {
    const Sublayer::Reads reads = model_.layers.front().sublayers.back().reads;
    if (is({"granite"})) {
      real("attention.scale", attention_.scale);
      real("embedding_scale", model_.embedding_scale);
      real("residual_scale", model_.layers.front().sublayers.front().residual_scale);
      real("logit_scale", 1 / model_.head.scale);
    }
    if (is({"command-r"})) {
      real("logit_scale", model_.head.scale);
      add("rope.scaling.type", "none");
    }
    if (is({"gemma2"})) {
      real("attn_logit_softcapping", attention_.softcap);
      real("final_logit_softcapping", model_.head.softcap);
    }
    if (is({"gemma3"}) && std::fabs(attention_.scale * std::sqrt(static_cast<double>(attention_.d_head)) - 1) > 1e-6)
      real("attention.scale", attention_.scale);
    if (is({"gptneox", "stablelm"})) add("use_parallel_residual", reads != Sublayer::Reads::stream);
  }

  void lay_out() {
    StoredNames names{std::string(gguf_embedding)};
    FamilyNames family;
    find_family(model_.family)->name(family);
    for (std::size_t i = 0; i < model_.layers.size() && !family.query_key_value.empty(); ++i)
      names.insert(fmt::format("blk.{}.attn_qkv.weight", i));
    out_.layout = stored_layout(model_, names);
  }

  // What a reader makes of the description must be the network that was described.
  void read_again() {
    TensorFile file;
    file.files.push_back({model_.name, 0, 0, {}, Json::object()});
    for (const GgufPair& pair : out_.pairs) file.files.front().pairs[pair.key] = pair.value;
    for (const StoredTensor& tensor : out_.layout.tensors) {
      TensorInfo& info = file.tensors.emplace_back();
      info.name = tensor.name;
      info.shape = tensor.shape;
      measure(info);
    }
    out_.form = read_gguf_model(file, model_.name).model;
    if (!out_.constants.empty())  // which no file holds yet
      for (std::size_t i = 0; i < out_.form.layers.size(); ++i) {
        std::optional<Rope>& rope = find<Attention>(out_.form.layers[i])->rope;
        const bool neighbours = rope && rope->interleaved;
        rope = find<Attention>(model_.layers[i])->rope;
        if (rope) rope->interleaved = neighbours;
      }
    out_.layout = reordered(std::move(out_.layout), model_, out_.form);
    out_.norm_shift = norm_shift(model_, out_.form);
    if (same_network(model_, out_.form)) return;
    const std::vector<std::string> clauses = differences(model_, out_.form, out_.architecture);
    throw Error(fmt::format(
        "{} has something that GGUF's architecture {} cannot say: {}", quote(model_.name), out_.architecture,
        clauses.empty() ? "what would be read again is another network" : fmt::format("{}", fmt::join(clauses, "; "))));
  }

  const Model& model_;
  const Attention& attention_;
  GgufDescription out_;
};

// The network of a GGUF file as the config.json that it gives has it.
Model form_of_config(Model model, const nlohmann::ordered_json& config) {
  const Model described = read_config(config, model.name);
  const auto take = [](std::optional<Norm>& norm, const std::optional<Norm>& from) {
    if (norm && from) norm->weight_plus_one = from->weight_plus_one;
  };
  take(model.final_norm, described.final_norm);
  for (std::size_t i = 0; i < model.layers.size() && i < described.layers.size(); ++i) {
    Layer& layer = model.layers[i];
    const Layer& from = described.layers[i];
    for (std::size_t k = 0; k < layer.sublayers.size() && k < from.sublayers.size(); ++k) {
      take(layer.sublayers[k].norms.before, from.sublayers[k].norms.before);
      take(layer.sublayers[k].norms.after, from.sublayers[k].norms.after);
    }
    Attention* attention = find<Attention>(layer);
    const Attention* other = find<Attention>(from);
    if (attention == nullptr || other == nullptr) continue;
    take(attention->query_key_norm, other->query_key_norm);
    if (attention->rope && other->rope) attention->rope->interleaved = other->rope->interleaved;
  }
  return model;
}

// Of RoPE a file may have divisors alone; what they come from is what the config.json says.
void take_divisors(const Model& described, Model& model) {
  for (std::size_t i = 0; i < model.layers.size() && i < described.layers.size(); ++i) {
    Attention* attention = find<Attention>(model.layers[i]);
    const Attention* other = find<Attention>(described.layers[i]);
    if (attention == nullptr || other == nullptr || !attention->rope || !other->rope) continue;
    if (attention->rope->scaling != Rope::Scaling::longrope || attention->rope->dims != other->rope->dims) continue;
    const bool neighbours = attention->rope->interleaved;
    attention->rope = other->rope;
    attention->rope->interleaved = neighbours;
  }
}

}  // namespace

GgufDescription describe_gguf(const Model& model) { return Describer(model).describe(); }

StoredLayout reordered(StoredLayout layout, const Model& from, const Model& to) {
  for (StoredParameter& parameter : layout.parameters) {
    const Scope& scope = parameter.key.scope;
    if (scope.role.block != Block::attention || (scope.role.part != Part::query && scope.role.part != Part::key))
      continue;
    const auto layer = static_cast<std::size_t>(scope.layer);
    const Attention &before = *find<Attention>(from.layers[layer]), &after = *find<Attention>(to.layers[layer]);
    if (before.latent || !before.rope || !after.rope || before.rope->interleaved == after.rope->interleaved) continue;
    const std::int64_t d = before.d_head, half = d / 2;
    StoredView& view = parameter.views.at(0);
    if (parameter.views.size() != 1 || before.rope->dims != d || view.axes.at(0).extent % d != 0)
      throw Error(
          fmt::format("{} cannot be written with its rotary pairs in the other order", full_name(parameter.key)));
    const std::int64_t heads = view.axes[0].extent / d, row = view.axes[0].stride;
    std::vector<StoredAxis> axes{{heads, d * row}};
    if (before.rope->interleaved)
      axes.insert(axes.end(), {{half, row}, {2, half * row}});
    else
      axes.insert(axes.end(), {{2, row}, {half, 2 * row}});
    axes.insert(axes.end(), view.axes.begin() + 1, view.axes.end());
    view.axes = std::move(axes);
  }
  return layout;
}

bool same_network(Model a, Model b) {
  std::vector<double> numbers[2];
  int which = 0;
  const auto take = [&](double& number) { numbers[which].push_back(std::exchange(number, 0.0)); };
  const auto take_norm = [&](std::optional<Norm>& norm) {
    if (!norm) return;
    take(norm->epsilon);
    norm->weight_plus_one = false;
  };
  for (Model* model : {&a, &b}) {
    model->name = model->about = model->family = "";
    model->notes.clear();
    take(model->embedding_scale);
    take(model->head.scale);
    take(model->head.softcap);
    take_norm(model->embedding_norm);
    take_norm(model->final_norm);
    for (Layer& layer : model->layers)
      for (Sublayer& sublayer : layer.sublayers) {
        take(sublayer.residual_scale);
        take_norm(sublayer.norms.before);
        take_norm(sublayer.norms.after);
        take_norm(sublayer.norms.residual);
        if (FeedForward* feed_forward = feed_forward_of(sublayer)) take(feed_forward->clamp);
        if (auto* mixture = std::get_if<Mixture>(&sublayer.kind)) take(mixture->scale);
        auto* attention = std::get_if<Attention>(&sublayer.kind);
        if (attention == nullptr) continue;
        take(attention->scale);
        take(attention->softcap);
        take(attention->alibi_scale);
        take_norm(attention->query_key_norm);
        if (attention->latent) take(attention->latent->norm.epsilon);
        if (!attention->rope) continue;
        Rope& rope = *attention->rope;
        if (!attention->latent) rope.interleaved = false;
        if (rope.scaling == Rope::Scaling::none) {  // and nothing of it counts
          Rope plain;
          plain.theta = rope.theta;
          plain.dims = rope.dims;
          plain.interleaved = rope.interleaved;
          rope = plain;
        }
        for (double* number :
             {&rope.theta, &rope.factor, &rope.original_context, &rope.low_frequency_factor,
              &rope.high_frequency_factor, &rope.beta_fast, &rope.beta_slow, &rope.mscale, &rope.mscale_all_dim})
          take(*number);
        take(rope.attention_factor);
      }
    ++which;
  }
  return a == b && std::equal(numbers[0].begin(), numbers[0].end(), numbers[1].begin(), numbers[1].end(),
                              [](double x, double y) { return std::fabs(x - y) <= 1e-6 * std::fabs(x); });
}

FolderForm folder_form(const Model& model, const nlohmann::ordered_json& config, const nlohmann::json& pairs) {
  const auto carried = pairs.find(config_key);
  nlohmann::ordered_json own;
  if (carried != pairs.end() && carried->is_string())
    own = nlohmann::ordered_json::parse(carried->get_ref<const std::string&>(), nullptr, false);
  if (own.is_object()) {
    try {
      Model described = read_config(own, model.name), compared = model;
      take_divisors(described, compared);
      if (same_network(compared, described)) return {std::move(described), std::move(own)};
    } catch (const Error&) {
      // It says nothing then, and the pairs say all.
    }
  }
  Model form = form_of_config(model, config);
  try {
    nlohmann::ordered_json changed = changed_config(config, form);
    return {std::move(form), std::move(changed)};
  } catch (const UsageError&) {
    throw Error(
        fmt::format("{} has something that a config.json of type {} cannot say; a file whose name ends in "
                    ".gguf keeps it",
                    model.name, form.family));
  }
}

float norm_shift(const Model& from, const Model& to) {
  const auto ones = [](const Model& model) {
    return model.final_norm && model.final_norm->weight_plus_one ? 1.0f : 0.0f;
  };
  return ones(from) - ones(to);
}

}  // namespace reckon
