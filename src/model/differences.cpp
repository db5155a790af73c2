#include "model/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "model/sublayers.h"

namespace reckon {
namespace {

std::string_view word_of(Activation activation) {
  static constexpr std::string_view words[] = {"gelu",    "gelu_tanh", "relu",  "relu2",   "silu",
                                               "sigmoid", "softplus",  "xielu", "identity"};
  static_assert(std::size(words) == static_cast<std::size_t>(Activation::identity) + 1);
  return words[static_cast<std::size_t>(activation)];
}

std::string_view word_of(Norm::Kind kind) { return kind == Norm::Kind::rms ? "RMSNorm" : "LayerNorm"; }

std::string_view word_of(Positions::Kind kind) {
  static constexpr std::string_view words[] = {"not in the embedding", "learned", "sinusoidal", "sinusoidal"};
  return words[static_cast<std::size_t>(kind)];
}

std::string_view word_of(Rope::Scaling scaling) {
  static constexpr std::string_view words[] = {"none", "linear", "dynamic", "llama3", "yarn", "longrope"};
  return words[static_cast<std::size_t>(scaling)];
}

std::string_view word_of(Sublayer::Reads reads) {
  return reads == Sublayer::Reads::stream ? "one after the other" : "side by side";
}

class Comparison {
 public:
  explicit Comparison(std::string_view named) : named_(named) {}

  void value(std::string_view what, std::string_view ours, std::string_view theirs) {
    if (ours != theirs) add(fmt::format("its {} is {}, {}'s {}", what, ours, named_, theirs));
  }
  void number(std::string_view what, double ours, double theirs) {
    if (!(std::fabs(ours - theirs) <= 1e-6 * std::fabs(ours)))
      add(fmt::format("its {} is {:.6g}, {}'s {:.6g}", what, ours, named_, theirs));
  }
  bool has(std::string_view what, bool ours, bool theirs) {  // whether both have it
    if (ours && !theirs) add(fmt::format("it has {}, which {} has not", what, named_));
    if (!ours && theirs) add(fmt::format("it has no {}, which {} has", what, named_));
    return ours && theirs;
  }
  void norm(std::string_view what, const std::optional<Norm>& ours, const std::optional<Norm>& theirs) {
    if (!has(fmt::format("norms {}", what), ours.has_value(), theirs.has_value())) return;
    value(fmt::format("norm {}", what), word_of(ours->kind), word_of(theirs->kind));
    number(fmt::format("epsilon {}", what), ours->epsilon, theirs->epsilon);
    has(fmt::format("weights of the norm {}", what), ours->weight, theirs->weight);
    has(fmt::format("biases of the norm {}", what), ours->bias, theirs->bias);
  }

  void models(const Model& ours, const Model& theirs) {
    number("number of layers", static_cast<double>(ours.layers.size()), static_cast<double>(theirs.layers.size()));
    number("width", static_cast<double>(ours.d_model), static_cast<double>(theirs.d_model));
    number("vocabulary", static_cast<double>(ours.vocab_size), static_cast<double>(theirs.vocab_size));
    number("context", static_cast<double>(ours.context), static_cast<double>(theirs.context));
    value("table of positions", word_of(ours.positions.kind), word_of(theirs.positions.kind));
    number("factor of the embedding", ours.embedding_scale, theirs.embedding_scale);
    norm("after the embedding", ours.embedding_norm, theirs.embedding_norm);
    for (std::size_t i = 0; i < std::min(ours.layers.size(), theirs.layers.size()); ++i)
      layers(ours.layers[i], theirs.layers[i]);
    norm("at the end", ours.final_norm, theirs.final_norm);
    value("head", ours.head.tied ? "tied" : "a matrix of its own", theirs.head.tied ? "tied" : "a matrix of its own");
    has("biases of the head", ours.head.bias, theirs.head.bias);
    number("factor of the logits", ours.head.scale, theirs.head.scale);
    number("cap of the logits", ours.head.softcap, theirs.head.softcap);
  }

  std::vector<std::string> take(std::size_t most) && {
    if (clauses_.size() > most) clauses_.resize(most);
    return std::move(clauses_);
  }

 private:
  void layers(const Layer& ours, const Layer& theirs) {
    if (ours.sublayers.size() != theirs.sublayers.size())
      return number("number of sublayers", static_cast<double>(ours.sublayers.size()),
                    static_cast<double>(theirs.sublayers.size()));
    for (std::size_t i = 0; i < ours.sublayers.size(); ++i) sublayers(ours.sublayers[i], theirs.sublayers[i]);
  }

  void sublayers(const Sublayer& ours, const Sublayer& theirs) {
    value("order of attention and feed-forward", word_of(ours.reads), word_of(theirs.reads));
    norm("before a sublayer", ours.norms.before, theirs.norms.before);
    norm("after a sublayer", ours.norms.after, theirs.norms.after);
    norm("after a residual sum", ours.norms.residual, theirs.norms.residual);
    number("factor of what is added to the stream", ours.residual_scale, theirs.residual_scale);
    const auto* attention = std::get_if<Attention>(&ours.kind);
    const auto* their_attention = std::get_if<Attention>(&theirs.kind);
    if (has("attention in a sublayer", attention != nullptr, their_attention != nullptr))
      attentions(*attention, *their_attention);
    const auto* mixture = std::get_if<Mixture>(&ours.kind);
    const auto* their_mixture = std::get_if<Mixture>(&theirs.kind);
    if (has("experts", mixture != nullptr, their_mixture != nullptr)) mixtures(*mixture, *their_mixture);
    const FeedForward *dense = feed_forward_of(ours), *their_dense = feed_forward_of(theirs);
    if (dense != nullptr && their_dense != nullptr) feed_forwards(*dense, *their_dense);
  }

  void feed_forwards(const FeedForward& ours, const FeedForward& theirs) {
    value("activation", word_of(ours.activation), word_of(theirs.activation));
    has("gates in the feed-forward", ours.gated, theirs.gated);
    has("biases in the feed-forward", ours.bias, theirs.bias);
    number("width of the feed-forward", static_cast<double>(ours.d_ff), static_cast<double>(theirs.d_ff));
    number("clamp of the feed-forward", ours.clamp, theirs.clamp);
  }

  void mixtures(const Mixture& ours, const Mixture& theirs) {
    number("number of experts", static_cast<double>(ours.n_experts), static_cast<double>(theirs.n_experts));
    number("number of active experts", static_cast<double>(ours.n_active), static_cast<double>(theirs.n_active));
    has("shared experts", ours.shared.has_value(), theirs.shared.has_value());
    has("gates of the shared experts", ours.shared_gate, theirs.shared_gate);
    has("biases of the router", ours.router_bias, theirs.router_bias);
    has("corrections of the router", ours.correction_bias, theirs.correction_bias);
    value("sum of the chosen experts' weights", ours.normalize ? "1" : "free", theirs.normalize ? "1" : "free");
    number("factor of the experts", ours.scale, theirs.scale);
  }

  void attentions(const Attention& ours, const Attention& theirs) {
    number("number of heads", static_cast<double>(ours.n_heads), static_cast<double>(theirs.n_heads));
    number("number of key heads", static_cast<double>(ours.n_kv_heads), static_cast<double>(theirs.n_kv_heads));
    number("width of a head", static_cast<double>(ours.d_head), static_cast<double>(theirs.d_head));
    has("biases of queries", ours.query_bias, theirs.query_bias);
    has("biases of keys", ours.key_bias, theirs.key_bias);
    has("biases of values", ours.value_bias, theirs.value_bias);
    has("biases of the attention's output", ours.output_bias, theirs.output_bias);
    norm("of queries and keys", ours.query_key_norm, theirs.query_key_norm);
    number("clamp of queries, keys and values", ours.clip, theirs.clip);
    number("window", static_cast<double>(ours.window), static_cast<double>(theirs.window));
    number("factor of the scores", ours.scale, theirs.scale);
    number("cap of the scores", ours.softcap, theirs.softcap);
    has("sinks", ours.sinks, theirs.sinks);
    has("ALiBi", ours.alibi, theirs.alibi);
    has("latents of keys and values", ours.latent.has_value(), theirs.latent.has_value());
    if (has("RoPE", ours.rope.has_value(), theirs.rope.has_value()))
      ropes(*ours.rope, *theirs.rope, ours.latent.has_value());
  }

  void ropes(const Rope& ours, const Rope& theirs, bool latent) {
    number("number of rotated elements", static_cast<double>(ours.dims), static_cast<double>(theirs.dims));
    number("base of RoPE", ours.theta, theirs.theta);
    // Elsewhere the rows of the matrices are reordered.
    if (latent)
      value("pairing of rotated elements", ours.interleaved ? "neighbours" : "halves",
            theirs.interleaved ? "neighbours" : "halves");
    value("scaling of RoPE", word_of(ours.scaling), word_of(theirs.scaling));
    if (ours.scaling == Rope::Scaling::none || ours.scaling != theirs.scaling) return;
    number("factor of RoPE", ours.factor, theirs.factor);
    number("original context of RoPE", ours.original_context, theirs.original_context);
    if (ours.scaling == Rope::Scaling::yarn) {
      number("beta_fast of RoPE", ours.beta_fast, theirs.beta_fast);
      number("beta_slow of RoPE", ours.beta_slow, theirs.beta_slow);
      number("mscale of RoPE", ours.mscale, theirs.mscale);
      number("mscale_all_dim of RoPE", ours.mscale_all_dim, theirs.mscale_all_dim);
      value("range of RoPE", ours.truncate ? "rounded" : "exact", theirs.truncate ? "rounded" : "exact");
    }
    number("attention_factor of RoPE", ours.attention_factor, theirs.attention_factor);
  }

  // Once, whatever the number of layers.
  void add(std::string clause) {
    if (std::find(clauses_.begin(), clauses_.end(), clause) == clauses_.end()) clauses_.push_back(std::move(clause));
  }

  std::string_view named_;
  std::vector<std::string> clauses_;
};

}  // namespace

std::vector<std::string> differences(const Model& model, const Model& other, std::string_view named, std::size_t most) {
  Comparison comparison(named);
  comparison.models(model, other);
  return std::move(comparison).take(most);
}

}  // namespace reckon
