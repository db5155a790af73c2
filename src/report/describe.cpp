#include "report/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/numbers.h"
#include "model/sublayers.h"
#include "network/forward.h"

namespace reckon {
namespace {

// Of the first recurrence in a stack: what it is, and how large its state.
std::string recurrence_text(const Recurrence& r) {
  static constexpr std::string_view words[] = {"short convolutions",  "Mamba", "Mamba-2", "gated delta rule",
                                               "lightning attention", "RG-LRU"};
  const std::string_view word = words[static_cast<std::size_t>(r.rule)];
  if (r.rule == Recurrence::Rule::convolution) return fmt::format("{} of {}", word, r.conv_width);
  if (r.rule == Recurrence::Rule::mamba)
    return fmt::format("{} of {} channels with {} states", word, grouped(r.n_heads), grouped(r.d_state));
  return fmt::format("{} of {} heads with states of {} × {}", word, grouped(r.n_heads), grouped(r.d_state),
                     grouped(r.d_head));
}

std::string heads_text(const Attention& attention) {
  if (attention.latent) {
    return fmt::format("{} heads from a latent of {}", grouped(attention.n_heads), grouped(attention.latent->kv_rank));
  }
  std::string text = fmt::format("{} heads of {}", grouped(attention.n_heads), grouped(attention.d_head));
  if (attention.n_kv_heads != attention.n_heads) text += fmt::format(", {} for keys and values", attention.n_kv_heads);
  return text;
}

// What mixes tokens: attention, recurrences, or both.
std::string mixers_text(const Model& model) {
  const Recurrence* recurrence = find<Recurrence>(model);
  if (recurrence == nullptr) return heads_text(first_attention(model));
  const auto layers = std::count_if(model.layers.begin(), model.layers.end(),
                                    [](const Layer& layer) { return find<Recurrence>(layer) != nullptr; });
  std::string text = recurrence_text(*recurrence);
  if (layers < std::ssize(model.layers)) text += fmt::format(" in {} layers", grouped(layers));
  return find<Attention>(model) == nullptr ? text : text + " · " + heads_text(first_attention(model));
}

// The layers of whose attentions one is so.
template <class Is>
std::int64_t layers_where(const Model& model, const Is& is) {
  return std::count_if(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
    bool some = false;
    for_each<Attention>(layer, [&](const Attention& attention) { some = some || is(attention); });
    return some;
  });
}

// " in 3 layers", where that is not all of them.
std::string in_layers(const Model& model, std::int64_t count) {
  if (count == std::ssize(model.layers)) return "";
  return fmt::format(" in {} {}", grouped(count), count == 1 ? "layer" : "layers");
}

std::string windows_text(const Model& model) {
  const std::int64_t windowed = layers_where(model, [](const Attention& a) { return a.window > 0; });
  if (windowed == 0) return "";
  return fmt::format(" · window {}{}", grouped(first_window(model)), in_layers(model, windowed));
}

std::string_view positions_word(const Model& model) {
  if (model.positions.kind == Positions::Kind::learned) return "learned";
  if (model.positions.kind == Positions::Kind::sinusoidal) return "sinusoidal";
  if (model.positions.kind == Positions::Kind::sinusoidal_halves) return "sinusoidal";
  std::string_view word = "none";
  for_each<Attention>(model.layers.written(), [&](const Attention& attention) {
    if (word != "none") return;
    word = attention.rope ? "rope" : attention.alibi ? "alibi" : attention.relative ? "distance" : "none";
  });
  return word;
}

// With RoPE or ALiBi.
std::int64_t layers_with_positions(const Model& model) {
  return layers_where(model, [](const Attention& a) { return a.rope || a.alibi; });
}

std::string positions_text(const Model& model) {
  const std::string_view word = positions_word(model);
  if (word == "rope" || word == "alibi")
    return (word == "rope" ? "RoPE" : "ALiBi") + in_layers(model, layers_with_positions(model));
  if (word == "distance") return "positions by distance";
  return fmt::format("{} positions", word == "none" ? "no" : word);
}

const SublayerNorms& first_norms(const Model& model) { return model.layers.front().sublayers.front().norms; }

const std::optional<Norm>& norm_of(const Model& model) {
  const SublayerNorms& norms = first_norms(model);
  return norms.before ? norms.before : norms.after ? norms.after : norms.residual ? norms.residual : model.final_norm;
}

std::string_view norm_position_word(const SublayerNorms& norms) {
  if (norms.residual) return "post";
  if (norms.before && norms.after) return "both";
  return norms.before ? "pre" : norms.after ? "output" : "none";
}

std::string norm_text(const Model& model) {
  const std::optional<Norm>& norm = norm_of(model);
  if (!norm) return "no norms";
  const std::string_view where = norm_position_word(first_norms(model));
  return fmt::format("{}{}", where == "post" ? "post-norm " : "",
                     norm->kind == Norm::Kind::rms ? "RMSNorm" : "LayerNorm");
}

bool has_bias(const Model& model) { return first_attention(model).output_bias || first_feed_forward(model).bias; }

bool has_qkv_bias(const Attention& attention) {
  return attention.query_bias || attention.key_bias || attention.value_bias;
}

std::string_view biases_text(const Model& model) {
  return has_bias(model) ? " · biases" : has_qkv_bias(first_attention(model)) ? " · query, key and value biases" : "";
}

bool has_cross_attention(const Model& model) { return find<CrossAttention>(model) != nullptr; }

// Layers that have the weights of others.
std::ptrdiff_t layers_sharing(const Model& model) {
  return std::count_if(model.layers.begin(), model.layers.end(), [](const Layer& l) { return l.shares > 0; });
}

std::string_view word_of(Activation activation) {
  static constexpr std::string_view words[] = {"gelu",    "gelu_tanh", "relu",  "relu_squared", "silu",
                                               "sigmoid", "softplus",  "xielu", "identity"};
  static_assert(std::size(words) == static_cast<std::size_t>(Activation::identity) + 1);
  return words[static_cast<std::size_t>(activation)];
}

}  // namespace

std::string describe(const Model& model) {
  const std::string what = model.about.empty()
                               ? model.family + " family"
                               : fmt::format("{}, which transformers reads as {}", model.about, model.family);
  const std::ptrdiff_t shared = layers_sharing(model);
  std::string text = fmt::format("{} · {} layers{} · width {} · {}", what, grouped(model.layers.size()),
                                 shared == 0 ? "" : fmt::format(", {} with the weights of others", shared),
                                 grouped(model.d_model), mixers_text(model));
  if (find<Mixture>(model.layers.front()) == nullptr && first_feed_forward(model).d_ff > 0) {
    const FeedForward& dense = first_feed_forward(model);
    text += fmt::format(" · {}feed-forward {}", dense.gated ? "gated " : "", grouped(dense.d_ff));
  }
  if (const auto* mixture = find<Mixture>(model)) {
    text += fmt::format(" · {} of {} experts of {}", grouped(mixture->n_active - mixture->n_always),
                        grouped(mixture->n_experts - mixture->n_always), grouped(mixture->expert.d_ff));
    if (mixture->n_always > 0) text += fmt::format(" and {} that every token takes", grouped(mixture->n_always));
    if (mixture->shared) text += fmt::format(" and a shared one of {}", grouped(mixture->shared->d_ff));
  }
  return text + fmt::format(" · vocabulary {} · context {}{} · {} · {}{}{}{}", grouped(model.vocab_size),
                            grouped(model.context), windows_text(model), positions_text(model), norm_text(model),
                            biases_text(model), has_cross_attention(model) ? " · cross-attention" : "",
                            model.head.tied ? " · tied head" : "");
}

std::string describe(const Workload& w, VaryingSizes varying) {
  std::string text = w.phase == Phase::train     ? "training step"
                     : w.phase == Phase::forward ? "forward pass"
                                                 : std::string(phase_name(w.phase));
  if (!varying.batch) text += fmt::format(" · batch {}", grouped(w.batch));
  if (!varying.lengths) {
    text += fmt::format(" · {} {}", grouped(w.tokens), w.tokens == 1 ? "token" : "tokens");
    if (w.past > 0) text += fmt::format(" after {}", grouped(w.past));
    if (w.encoder_tokens > 0) text += fmt::format(" · {} from an encoder", grouped(w.encoder_tokens));
  }
  const bool some_tokens = varying.lengths ? w.phase != Phase::decode : w.tokens > 1;
  if (some_tokens || w.logits == Logits::none) {
    text += w.logits == Logits::all    ? " · every logit"
            : w.logits == Logits::last ? " · the last logits"
                                       : " · no logits";
  }
  if (const std::string adapters = describe_adapters(w.lora); !adapters.empty()) text += " · " + adapters;
  return text + (w.causal == Causal::exact ? " · causal scores only" : "");
}

std::string describe_training(const Workload& w) {
  if (w.phase != Phase::train) return "";
  std::string text;
  if (w.precision.gradients != w.precision.weights)
    text += fmt::format(" · gradients in {}", encoding_of(w.precision.gradients).name);
  text += fmt::format(" · {}", optimizer_name(w.optimizer));
  if (w.recompute != Recompute::none) text += fmt::format(" · {} recomputation", recompute_name(w.recompute));
  if (w.dropout > 0) text += fmt::format(" · dropout {}", grouped(w.dropout));
  if (w.attention_dropout > 0) text += fmt::format(" · dropout {} of attention", grouped(w.attention_dropout));
  return text;
}

std::string describe_adapters(const Lora& lora) {
  if (lora.rank == 0) return "";
  return fmt::format("adapters of rank {} beside {}", grouped(lora.rank),
                     lora.targets == Lora::Targets::all ? "all matrices" : "query and value");
}

std::string listed(std::vector<std::string> names) {
  if (names.size() < 2) return names.empty() ? "" : names[0];
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string layer_list(const std::vector<std::int32_t>& layers, std::size_t shown) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    ranges.push_back(last == i ? std::to_string(layers[i]) : fmt::format("{}–{}", layers[i], layers[last]));
    i = last + 1;
  }
  if (ranges.size() > 4) {
    ranges[shown] = "…";
    ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(shown) + 1, ranges.end() - 1);
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

std::vector<ModelSize> sizes_of(const Model& model) {
  const Attention& attention = first_attention(model);
  const Latent latent = attention.latent.value_or(Latent());
  const auto* dense = find<FeedForward>(model);
  const auto* found = find<Mixture>(model);
  const Mixture mixture = found != nullptr ? *found : Mixture();
  const auto some = [](std::int64_t size) { return size > 0 ? std::optional(size) : std::nullopt; };
  return {{"layers", "layers", "layers", std::ssize(model.layers)},
          {"width", "d_model", "elements", model.d_model},
          {"heads", "n_heads", "heads", some(attention.n_heads)},
          {"key/value heads", "n_kv_heads", "heads", some(attention.n_kv_heads)},
          {"head width", "d_head", "elements", some(attention.d_head)},
          {"latent of keys and values", "kv_rank", "elements", some(latent.kv_rank)},
          {"latent of queries", "query_rank", "elements", some(latent.query_rank)},
          {"feed-forward", "d_ff", "elements", some(dense != nullptr ? dense->d_ff : 0)},
          {"experts", "n_experts", "experts", some(mixture.n_experts - mixture.n_always)},
          {"active experts", "n_active_experts", "experts", some(mixture.n_active - mixture.n_always)},
          {"experts of every token", "n_always_experts", "experts", some(mixture.n_always)},
          {"expert width", "d_expert", "elements", some(mixture.expert.d_ff)},
          {"shared expert width", "d_shared", "elements", some(mixture.shared ? mixture.shared->d_ff : 0)},
          {"window", "", "tokens", some(first_window(model))},
          {"vocabulary", "vocab_size", "tokens", model.vocab_size},
          {"context", "context", "tokens", model.context}};
}

OrderedJson architecture_json(const Model& model) {
  const Attention& attention = first_attention(model);
  const FeedForward& feed_forward = first_feed_forward(model);
  const std::optional<Norm>& norm = norm_of(model);
  const auto* mixture = find<Mixture>(model);
  const OrderedJson activation = feed_forward.d_ff > 0 ? OrderedJson(word_of(feed_forward.activation)) : OrderedJson();
  OrderedJson json = {{"family", model.family},
                      {"layers", model.layers.size()},
                      {"d_model", model.d_model},
                      {"n_heads", attention.n_heads},
                      {"n_kv_heads", attention.n_kv_heads},
                      {"d_head", attention.d_head},
                      {"d_ff", feed_forward.d_ff},
                      {"vocab_size", model.vocab_size},
                      {"context", model.context},
                      {"tied", model.head.tied},
                      {"norm", !norm                           ? "none"
                               : norm->kind == Norm::Kind::rms ? "rmsnorm"
                                                               : "layernorm"},
                      {"norm_position", norm_position_word(first_norms(model))},
                      {"positions", positions_word(model)},
                      {"activation", activation},
                      {"gated", feed_forward.gated},
                      {"bias", has_bias(model)},
                      {"qkv_bias", has_qkv_bias(attention)},
                      {"window", first_window(model)},
                      {"cross_attention", has_cross_attention(model)},
                      {"n_experts", mixture == nullptr ? 0 : mixture->n_experts - mixture->n_always},
                      {"n_active_experts", mixture == nullptr ? 0 : mixture->n_active - mixture->n_always}};
  if (mixture != nullptr && mixture->n_always > 0) json["n_always_experts"] = mixture->n_always;
  if (const std::ptrdiff_t shared = layers_sharing(model); shared > 0) json["layers_sharing"] = shared;
  if (const std::int64_t some = layers_with_positions(model); some > 0 && some < std::ssize(model.layers))
    json["layers_with_positions"] = some;
  if (const auto& latent = attention.latent) {
    json["kv_rank"] = latent->kv_rank;
    if (latent->query_rank > 0) json["query_rank"] = latent->query_rank;
  }
  json["n_dense_layers"] =
      std::count_if(model.layers.begin(), model.layers.end(), [](const Layer& l) { return !find<Mixture>(l); });
  if (mixture != nullptr) {
    json["d_expert"] = mixture->expert.d_ff;
    if (mixture->shared) json["d_shared"] = mixture->shared->d_ff;
  }
  if (!model.about.empty()) json["about"] = model.about;
  if (!model.notes.empty()) json["notes"] = model.notes;
  return json;
}

std::string_view causal_name(Causal causal) { return causal == Causal::exact ? "exact" : "full"; }

std::string_view recompute_name(Recompute recompute) {
  constexpr std::string_view names[] = {"none", "selective", "block"};
  return names[static_cast<std::size_t>(recompute)];
}

std::string_view optimizer_name(Optimizer optimizer) {
  constexpr std::string_view names[] = {"adamw", "sgd", "adafactor", "muon", "adam8bit"};  // in the enum's order
  return names[static_cast<std::size_t>(optimizer)];
}

std::string_view attention_name(bool materialised) { return materialised ? "materialised" : "streamed"; }

OrderedJson layout_json(const Layout& layout) {
  return {{"tensor", layout.tensor},
          {"sequence", layout.sequence},
          {"context", layout.context},
          {"pipeline", layout.pipeline},
          {"virtual_stages", layout.virtual_stages},
          {"expert", layout.expert},
          {"data", layout.data},
          {"zero", layout.zero}};
}

OrderedJson workload_json(const Workload& w) {
  OrderedJson json = {{"phase", phase_name(w.phase)}, {"batch", w.batch}, {"tokens", w.tokens}, {"past", w.past}};
  if (w.encoder_tokens > 0) json["encoder_tokens"] = w.encoder_tokens;
  json["logits"] = w.logits == Logits::all ? "all" : w.logits == Logits::last ? "last" : "none";
  json["causal"] = causal_name(w.causal);
  json["precision"] = encoding_of(w.precision.weights).name;
  add_lora(json, w.lora);
  return json;
}

void add_lora(OrderedJson& json, const Lora& lora) {
  if (lora.rank == 0) return;
  json["lora"] = lora.rank;
  json["lora_targets"] = lora.targets == Lora::Targets::all ? "all" : "query-value";
}

OrderedJson types_json(const Workload& w, const std::optional<DType>& quantised, bool stored) {
  const auto name = [](DType type) { return encoding_of(type).name; };
  OrderedJson json = {{"weights", stored ? "stored" : name(quantised.value_or(w.precision.weights))},
                      {"activations", name(w.precision.activations)}};
  if (w.phase == Phase::prefill || w.phase == Phase::decode) json["cache"] = name(w.precision.cache);
  if (w.phase == Phase::train) json["gradients"] = name(w.precision.gradients);
  return json;
}

OrderedJson parameters_json(const ParameterTotals& p) {
  return {{"total", p.total},
          {"active", p.active},
          {"embedding", p.embedding},
          {"non_embedding", p.non_embedding},
          {"active_non_embedding", p.active_non_embedding}};
}

OrderedJson weights_json(const Ledger& ledger) {
  OrderedJson json;
  for (DType type : weight_types) json[std::string(encoding_of(type).name)] = weight_bytes(ledger, type);
  return json;
}

OrderedJson adapters_json(const AdapterCount& adapters) {
  return {{"parameters", adapters.adapters}, {"all", adapters.all}, {"share", adapters.share}};
}

OrderedJson number_json(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e18) return static_cast<std::int64_t>(value);
  return value;
}

double ratio(Count part, Count whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Cell count_cell(Count value) { return {grouped(value), to_string(value)}; }
Cell flops_cell(Count value) { return {flops(static_cast<double>(value)), to_string(value)}; }

Cell share_cell(Count part, Count whole) {
  return {percent(ratio(part, whole)), fmt::format("{:.6g}", ratio(part, whole))};
}

Cell bar_cell(Count part, Count whole) { return fmt::format("{:.6g}", ratio(part, whole)); }

Cell factor_cell(double factor) {
  return {factor >= 1000 ? "×" + grouped(std::round(factor)) : fmt::format("×{:.{}f}", factor, factor < 0.1 ? 3 : 2),
          fmt::format("{:.6g}", factor)};
}

Cell growth_cell(Count value, Count before) { return before == 0 ? Cell() : factor_cell(ratio(value, before)); }

std::string dollars(double usd) {
  if (usd < 0.0001) return "less than 0.0001 USD";
  if (usd < 99.95) return fmt::format("{:.3g} USD", usd);
  return grouped(static_cast<std::int64_t>(std::llround(usd))) + " USD";
}

}  // namespace reckon
