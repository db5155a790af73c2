#include "report/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/numbers.h"
#include "network/forward.h"

namespace reckon {
namespace {

std::string heads_text(const Attention& attention) {
  if (attention.latent) {
    return fmt::format("{} heads from a latent of {}", attention.n_heads, grouped(attention.latent->kv_rank));
  }
  std::string text = fmt::format("{} heads of {}", grouped(attention.n_heads), grouped(attention.d_head));
  if (attention.n_kv_heads != attention.n_heads) text += fmt::format(", {} for keys and values", attention.n_kv_heads);
  return text;
}

std::int64_t window_of(const Model& model) {
  for (const Layer& layer : model.layers) {
    if (layer.attention.window > 0) return layer.attention.window;
  }
  return 0;
}

std::string windows_text(const Model& model) {
  const auto windowed = std::count_if(model.layers.begin(), model.layers.end(),
                                      [](const Layer& layer) { return layer.attention.window > 0; });
  if (windowed == 0) return "";
  const bool all = static_cast<std::size_t>(windowed) == model.layers.size();
  return fmt::format(" · window {}{}", grouped(window_of(model)), all ? "" : fmt::format(" in {} layers", windowed));
}

std::string_view positions_word(const Model& model) {
  if (model.positions.kind == Positions::Kind::learned) return "learned";
  if (model.positions.kind == Positions::Kind::sinusoidal) return "sinusoidal";
  for (const Layer& layer : model.layers) {
    if (layer.attention.rope) return "rope";
    if (layer.attention.alibi) return "alibi";
  }
  return "none";
}

std::string positions_text(const Model& model) {
  const std::string_view word = positions_word(model);
  if (word == "rope") return "RoPE";
  if (word == "alibi") return "ALiBi";
  return fmt::format("{} positions", word == "none" ? "no" : word);
}

const std::optional<Norm>& norm_of(const Model& model) {
  const SublayerNorms& norms = model.layers.front().attention_norms;
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
  const std::string_view where = norm_position_word(model.layers.front().attention_norms);
  return fmt::format("{}{}", where == "post" ? "post-norm " : "",
                     norm->kind == Norm::Kind::rms ? "RMSNorm" : "LayerNorm");
}

bool has_bias(const Layer& layer) { return layer.attention.output_bias || layer.feed_forward.bias; }

bool has_qkv_bias(const Attention& attention) {
  return attention.query_bias || attention.key_bias || attention.value_bias;
}

std::string_view biases_text(const Layer& layer) {
  return has_bias(layer) ? " · biases" : has_qkv_bias(layer.attention) ? " · query, key and value biases" : "";
}

bool crosses(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& l) { return l.cross_attention.has_value(); });
}

std::string_view word_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::relu:
      return "relu";
    case Activation::relu_squared:
      return "relu_squared";
    case Activation::silu:
      return "silu";
  }
  return "";
}

}  // namespace

const Layer* dense_layer(const Model& model) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(), [](const Layer& l) { return !l.mixture; });
  return found == model.layers.end() ? nullptr : &*found;
}

const Layer* mixture_layer(const Model& model) {
  const auto found =
      std::find_if(model.layers.begin(), model.layers.end(), [](const Layer& l) { return l.mixture.has_value(); });
  return found == model.layers.end() ? nullptr : &*found;
}

std::string describe(const Model& model) {
  const Layer& first = model.layers.front();
  const std::string what = model.about.empty()
                               ? model.family + " family"
                               : fmt::format("{}, which transformers reads as {}", model.about, model.family);
  std::string text = fmt::format("{} · {} layers · width {} · {}", what, model.layers.size(), grouped(model.d_model),
                                 heads_text(first.attention));
  const Layer* mixture = mixture_layer(model);
  if (mixture == nullptr || !first.mixture) {
    text +=
        fmt::format(" · {}feed-forward {}", first.feed_forward.gated ? "gated " : "", grouped(first.feed_forward.d_ff));
  }
  if (mixture != nullptr) {
    text += fmt::format(" · {} of {} experts of {}", mixture->mixture->n_active, mixture->mixture->n_experts,
                        grouped(mixture->feed_forward.d_ff));
    if (mixture->mixture->shared)
      text += fmt::format(" and a shared one of {}", grouped(mixture->mixture->shared->d_ff));
  }
  return text + fmt::format(" · vocabulary {} · context {}{} · {} · {}{}{}{}", grouped(model.vocab_size),
                            grouped(model.context), windows_text(model), positions_text(model), norm_text(model),
                            biases_text(first), crosses(model) ? " · cross-attention" : "",
                            model.head.tied ? " · tied head" : "");
}

std::string describe(const Workload& w) {
  std::string text = w.phase == Phase::train     ? "training step"
                     : w.phase == Phase::forward ? "forward pass"
                                                 : std::string(phase_name(w.phase));
  text += fmt::format(" · batch {} · {} {}", grouped(w.batch), grouped(w.tokens), w.tokens == 1 ? "token" : "tokens");
  if (w.past > 0) text += fmt::format(" after {}", grouped(w.past));
  if (w.encoder_tokens > 0) text += fmt::format(" · {} from an encoder", grouped(w.encoder_tokens));
  if (w.tokens > 1 || w.logits == Logits::none) {
    text += w.logits == Logits::all    ? " · every logit"
            : w.logits == Logits::last ? " · the last logits"
                                       : " · no logits";
  }
  return text + (w.causal == Causal::exact ? " · causal scores only" : "");
}

nlohmann::ordered_json architecture_json(const Model& model) {
  const Layer& first = model.layers.front();
  const std::optional<Norm>& norm = norm_of(model);
  const Layer* mixture = mixture_layer(model);
  nlohmann::ordered_json json = {{"family", model.family},
                                 {"layers", model.layers.size()},
                                 {"d_model", model.d_model},
                                 {"n_heads", first.attention.n_heads},
                                 {"n_kv_heads", first.attention.n_kv_heads},
                                 {"d_head", first.attention.d_head},
                                 {"d_ff", first.feed_forward.d_ff},
                                 {"vocab_size", model.vocab_size},
                                 {"context", model.context},
                                 {"tied", model.head.tied},
                                 {"norm", !norm                           ? "none"
                                          : norm->kind == Norm::Kind::rms ? "rmsnorm"
                                                                          : "layernorm"},
                                 {"norm_position", norm_position_word(first.attention_norms)},
                                 {"positions", positions_word(model)},
                                 {"activation", word_of(first.feed_forward.activation)},
                                 {"gated", first.feed_forward.gated},
                                 {"bias", has_bias(first)},
                                 {"qkv_bias", has_qkv_bias(first.attention)},
                                 {"window", window_of(model)},
                                 {"cross_attention", crosses(model)},
                                 {"n_experts", mixture == nullptr ? 0 : mixture->mixture->n_experts},
                                 {"n_active_experts", mixture == nullptr ? 0 : mixture->mixture->n_active}};
  if (const auto& latent = first.attention.latent) {
    json["kv_rank"] = latent->kv_rank;
    if (latent->query_rank > 0) json["query_rank"] = latent->query_rank;
  }
  json["n_dense_layers"] =
      std::count_if(model.layers.begin(), model.layers.end(), [](const Layer& l) { return !l.mixture; });
  if (mixture != nullptr) {
    json["d_expert"] = mixture->feed_forward.d_ff;
    if (mixture->mixture->shared) json["d_shared"] = mixture->mixture->shared->d_ff;
  }
  if (!model.about.empty()) json["about"] = model.about;
  if (!model.notes.empty()) json["notes"] = model.notes;
  return json;
}

nlohmann::ordered_json workload_json(const Workload& w) {
  nlohmann::ordered_json json = {
      {"phase", phase_name(w.phase)}, {"batch", w.batch}, {"tokens", w.tokens}, {"past", w.past}};
  if (w.encoder_tokens > 0) json["encoder_tokens"] = w.encoder_tokens;
  json["logits"] = w.logits == Logits::all ? "all" : w.logits == Logits::last ? "last" : "none";
  return json;
}

nlohmann::ordered_json weights_json(const Ledger& ledger) {
  return {{"float32", weight_bytes(ledger, DType::float32)},
          {"bfloat16", weight_bytes(ledger, DType::bfloat16)},
          {"int8", weight_bytes(ledger, DType::int8)},
          {"int4", weight_bytes(ledger, DType::int4)}};
}

nlohmann::ordered_json number_json(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e18) return static_cast<std::int64_t>(value);
  return value;
}

Cell count_cell(Count value) { return {grouped(value), to_string(value)}; }

namespace {
double share_of(Count part, Count whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}
}  // namespace

Cell share_cell(Count part, Count whole) {
  return {percent(share_of(part, whole)), fmt::format("{:.6g}", share_of(part, whole))};
}

Cell bar_cell(Count part, Count whole) { return fmt::format("{:.6g}", share_of(part, whole)); }

Cell factor_cell(double value, double base) {
  if (base == 0) return {};
  const double factor = value / base;
  return {factor >= 1000 ? "×" + grouped(std::round(factor)) : fmt::format("×{:.{}f}", factor, factor < 0.1 ? 3 : 2),
          fmt::format("{:.6g}", factor)};
}

}  // namespace reckon
