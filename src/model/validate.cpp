#include "model/validate.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <cmath>
#include <span>

#include "files/numbers.h"
#include "model/sublayers.h"

namespace reckon {

namespace {

// Collects where we are, so that each check is one line.
class Checks {
 public:
  explicit Checks(std::string place) : place_(std::move(place)) {}

  [[noreturn]] void fail(const std::string& sentence) const { throw Error(place_ + sentence); }

  void size(const char* name, std::int64_t value, std::int64_t least = 1) const {
    if (value < least) fail(fmt::format("{} is {}; expected at least {}", name, value, least));
    if (value > largest_size) fail(fmt::format("{} is {}; expected at most {}", name, value, largest_size));
  }
  void equal(const char* name, std::int64_t value, const char* what, std::int64_t expected) const {
    if (value != expected) fail(fmt::format("{} is {}; expected {}, {}", name, value, what, expected));
  }
  void at_most(const char* name, std::int64_t value, const char* what, std::int64_t most) const {
    if (value > most) fail(fmt::format("{} is {}; expected at most {}, {}", name, value, what, most));
  }
  void positive(const char* name, double value) const {
    if (!(std::isfinite(value) && value > 0)) fail(fmt::format("{} is {}; expected a number above zero", name, value));
  }
  void not_negative(const char* name, double value) const {
    if (!(std::isfinite(value) && value >= 0)) fail(fmt::format("{} is {}; expected zero or more", name, value));
  }
  void norm(const char* name, const std::optional<Norm>& norm) const {
    if (!norm) return;
    if (!(std::isfinite(norm->epsilon) && norm->epsilon >= 0))
      fail(fmt::format("the epsilon of {} is {}; expected zero or more", name, norm->epsilon));
    if (norm->bias && norm->kind == Norm::Kind::rms)
      fail(fmt::format("{} is an RMSNorm with a bias; it has none", name));
    if (norm->bias && !norm->weight) fail(fmt::format("{} has a bias but no weight; expected both or none", name));
  }

 private:
  std::string place_;
};

void check_rope(const Checks& check, const Rope& rope, std::int64_t rotated) {
  check.size("rope.dims", rope.dims, 2);
  if (rope.dims % 2 != 0) check.fail(fmt::format("rope.dims is {}; expected an even number", rope.dims));
  if (rope.dims > rotated)
    check.fail(fmt::format("rope.dims is {}; expected at most the {} elements of a head", rope.dims, rotated));
  check.positive("rope.theta", rope.theta);
  check.positive("rope.factor", rope.factor);
  check.size("rope.turned", rope.turned, 0);
  check.at_most("rope.turned", rope.turned, "half of rope.dims", rope.dims / 2);
  check.size("rope.evens_first", rope.evens_first, 0);
  check.at_most("rope.evens_first", rope.evens_first, "half of rope.dims", rope.dims / 2);
  check.not_negative("rope.attention_factor", rope.attention_factor);
  const bool starts = rope.scaling == Rope::Scaling::llama3 || rope.scaling == Rope::Scaling::yarn ||
                      rope.scaling == Rope::Scaling::longrope || rope.scaling == Rope::Scaling::dynamic;
  if (starts) check.positive("rope.original_context", rope.original_context);
  if (rope.scaling != Rope::Scaling::longrope) return;
  const auto pairs = static_cast<std::size_t>(rope.dims / 2);
  if (rope.short_factors.size() != pairs || rope.long_factors.size() != pairs)
    check.fail(fmt::format("rope has {} short and {} long factors; expected {} of each, one per rotated pair",
                           rope.short_factors.size(), rope.long_factors.size(), pairs));
}

void check_indexer(const Checks& check, const Attention& attention) {
  const Indexer& indexer = *attention.indexer;
  check.size("n_heads of the indexer", indexer.n_heads);
  check.size("d_head of the indexer", indexer.d_head);
  check.size("the keys that an indexer chooses", indexer.top);
  check.size("the keys of a block", indexer.block);
  check.size("the width of the indexer", indexer.n_heads * indexer.d_head);
  check.norm("the norm of the indexer's keys", indexer.key_norm);
  check.norm("the norm of the indexer's queries", indexer.query_norm);
  if (!attention.shared_key && (attention.window > 0 || attention.softcap > 0 || attention.alibi || attention.sinks))
    check.fail("attention to chosen keys has a window, a soft-cap, ALiBi or sinks; expected none of them");
  // So that a query always sees its own key, and blocks as many keys whichever are chosen.
  if (indexer.block > 1 && (indexer.local < 1 || indexer.local > indexer.top))
    check.fail(fmt::format("{} of {} blocks are chosen in any case; expected at least 1 and no more than that",
                           indexer.local, indexer.top));
  if (!indexer.summed && attention.n_heads % indexer.n_heads != 0)
    check.fail(
        fmt::format("{} choices cannot be shared by {} heads; expected a divisor", indexer.n_heads, attention.n_heads));
  if (attention.rope) check.at_most("rope.dims", attention.rope->dims, "d_head of the indexer", indexer.d_head);
}

void check_kind(const Checks& check, const Attention& attention) {
  check.size("n_heads", attention.n_heads);
  check.size("n_kv_heads", attention.n_kv_heads);
  check.size("d_head", attention.d_head);
  check.size("d_value", attention.d_value);
  check.size("n_heads · d_head", attention.n_heads * attention.d_head);
  check.size("n_heads · d_value", attention.n_heads * attention.d_value);
  if (attention.n_heads % attention.n_kv_heads != 0)
    check.fail(
        fmt::format("n_kv_heads is {}; expected a divisor of n_heads, {}", attention.n_kv_heads, attention.n_heads));
  check.size("window", attention.window, 0);
  check.positive("the scale of the scores", attention.scale);
  check.not_negative("the soft-cap of the scores", attention.softcap);
  check.norm("the query-key norm", attention.query_key_norm);
  if (attention.alibi) check.positive("alibi_scale", attention.alibi_scale);
  if (attention.latent) {
    const Latent& latent = *attention.latent;
    check.size("the query rank of the latent", latent.query_rank, 0);
    check.size("the key-value rank of the latent", latent.kv_rank);
    check.size("d_nope", latent.d_nope);
    check.size("d_rope", latent.d_rope);
    check.norm("the norm of the latents", latent.norm);
    check.equal("d_head", attention.d_head, "d_nope + d_rope", latent.d_nope + latent.d_rope);
    if (attention.n_kv_heads != attention.n_heads)
      check.fail(fmt::format("n_kv_heads is {}; expected n_heads, {}, as latent attention has no groups",
                             attention.n_kv_heads, attention.n_heads));
  }
  check.size("the width of the convolutions of keys and values", attention.conv_width, 0);
  if (attention.relative) {
    check.size("the rank of positions by distance", attention.relative->rank);
    check.size("the extent of positions by distance", attention.relative->extent);
    if (attention.latent || attention.indexer) check.fail("positions by distance stand beside a latent or an indexer");
  }
  if (attention.shared_key) {
    const SharedKey& shared = *attention.shared_key;
    check.size("the query rank", shared.query_rank);
    check.size("the groups of the output", shared.output_groups);
    check.size("the rank of the output's groups", shared.output_rank);
    check.size("the tokens of an entry", shared.rate, 0);
    check.norm("the norm of keys", shared.norm);
    if (attention.n_heads % shared.output_groups != 0)
      check.fail(fmt::format("{} heads do not divide into its {} groups of the output", attention.n_heads,
                             shared.output_groups));
    if (attention.window == 0 || !attention.rope || attention.n_kv_heads != 1)
      check.fail("keys that are values too stand without a window or rotation, or in several heads");
    if (attention.indexer && (shared.rate == 0 || attention.indexer->d_head < attention.rope->dims))
      check.fail("an indexer has no entries to choose from, or heads narrower than their rotation");
  }
  if (attention.convolved) {
    check.size("the tokens of a channel's convolution", attention.convolved->channel_width);
    check.size("the tokens of a head's convolution", attention.convolved->head_width);
    if (attention.n_kv_heads * attention.d_value % 2 != 0)
      check.fail("half of the values is of the token before, but their width is odd; expected an even one");
  }
  if (attention.indexer) check_indexer(check, attention);
  check.size("the rank of the attention's adapters", attention.adapter_rank, 0);
  if (attention.chunked && attention.window == 0) check.fail("attention in chunks has no window; expected their size");
  check.not_negative("the clip of queries, keys and values", attention.clip);
  check.positive("the scale of the values", attention.value_scale);
  if (attention.position_scale) check.positive("the length of the position scale", attention.position_scale->length);
  check.norm("the norm of the values", attention.value_norm);
  if (attention.difference) {
    check.norm("the norm of the differences", attention.difference->norm);
    if (!(attention.difference->initial >= 0 && attention.difference->initial < 1))
      check.fail(fmt::format("the initial λ is {}; expected 0 to 1", attention.difference->initial));
    if (attention.n_kv_heads % 2 != 0)
      check.fail(
          fmt::format("n_kv_heads is {}; expected pairs of heads, whose difference is taken", attention.n_kv_heads));
    check.equal("d_value", attention.d_value, "d_head", attention.d_head);
  }
  if (attention.routed) {
    check.size("the experts of the queries", attention.routed->n_experts);
    check.at_most("the active experts of the queries", attention.routed->n_active, "their number",
                  attention.routed->n_experts);
    check.equal("n_heads", attention.n_heads, "the active experts' key heads",
                attention.routed->n_active * attention.n_kv_heads);
    check.equal("d_value", attention.d_value, "d_head", attention.d_head);
  }
  if (attention.dynamic_mask) check.size("the keys that a dynamic mask keeps", attention.dynamic_mask->keep);
  if (attention.values_from_keys) check.equal("d_value", attention.d_value, "d_head", attention.d_head);
  if (attention.rope)
    check_rope(check, *attention.rope, attention.latent ? attention.latent->d_rope : attention.d_head);
}

void check_kind(const Checks& check, const CrossAttention& cross) {
  check.size("n_heads of the cross-attention", cross.n_heads);
  check.size("d_head of the cross-attention", cross.d_head);
  check.positive("the scale of the cross-attention", cross.scale);
}

void check_kind(const Checks& check, const Recurrence& r) {
  check.size("n_heads of the recurrence", r.n_heads);
  check.size("d_head of the recurrence", r.d_head);
  check.size("the width of the recurrence", r.n_heads * r.d_head);
  check.size("the width of the convolution", r.conv_width, r.rule == Recurrence::Rule::convolution ? 1 : 0);
  check.norm("the norm of the recurrence", r.norm);
  check.norm("the norm of its steps, keys and queries", r.inner_norm);
  for (const double scale : r.scales) check.positive("a multiplier of the recurrence", scale);
  if (r.rule == Recurrence::Rule::convolution || r.rule == Recurrence::Rule::rg_lru) return;
  check.size("n_groups of the recurrence", r.n_groups);
  check.size("d_state of the recurrence", r.d_state);
  check.size("the state of the recurrence", r.n_heads * r.d_head * r.d_state);
  check.size("the rank of the steps", r.step_rank, r.rule == Recurrence::Rule::mamba ? 1 : 0);
  check.size("the rank of the gate", r.gate_rank, 0);
  check.positive("the scale of beta", r.beta_scale);
  check.not_negative("the lowest step", r.step_low);
  check.not_negative("the highest step", r.step_high);
  if (r.n_heads % r.n_groups != 0)
    check.fail(
        fmt::format("n_groups of the recurrence is {}; expected a divisor of its {} heads", r.n_groups, r.n_heads));
  if (r.norm_parts < 1 || r.n_heads * r.d_head % r.norm_parts != 0)
    check.fail(fmt::format("the norm of the recurrence has {} parts; expected a divisor of its width, {}", r.norm_parts,
                           r.n_heads * r.d_head));
}

void check_kind(const Checks& check, const LayerInput& input) { check.size("d of the layer's input", input.d); }

void check_kind(const Checks& check, const FeedForward& feed_forward) {
  check.size("d_ff", feed_forward.d_ff);
  if (!(feed_forward.sparsity >= 0 && feed_forward.sparsity < 1))
    check.fail(fmt::format("the sparsity of the feed-forward is {}; expected 0 up to, but not including, 1",
                           feed_forward.sparsity));
  check.size("the rank of the feed-forward's adapters", feed_forward.adapter_rank, 0);
  check.not_negative("the clamp of the feed-forward", feed_forward.clamp);
  check.not_negative("the clip of the feed-forward", feed_forward.clip);
  if (feed_forward.gated && feed_forward.activation == Activation::xielu)
    check.fail("a feed-forward with xIELU is gated; expected a plain one");
}

void check_kind(const Checks& check, const Mixture& mixture) {
  check_kind(check, mixture.expert);
  check.size("n_experts", mixture.n_experts);
  check.size("n_active", mixture.n_active);
  check.size("n_identity", mixture.n_identity, 0);
  check.size("n_always", mixture.n_always, 0);
  if (mixture.n_always > 0 && (mixture.n_active <= mixture.n_always || mixture.n_groups > 1 || mixture.expert.bias))
    check.fail("experts that every token takes leave none to choose, or stand beside groups or biases");
  check.size("n_null", mixture.n_null, 0);
  check.size("the width of the router", mixture.router_rank, 0);
  const std::int64_t others = mixture.n_identity + mixture.n_null;
  if (mixture.n_identity > 0 && mixture.n_null > 0) check.fail("identity experts stand beside some that make nothing");
  check.at_most("n_active", mixture.n_active, "all experts", mixture.n_experts + others);
  if (others > 0 && (mixture.n_groups > 1 || mixture.expert.bias || mixture.d_latent > 0))
    check.fail("identity experts stand beside groups, biases or a latent of experts; expected none of them");
  check.size("d_latent of the experts", mixture.d_latent, 0);
  check.size("n_groups", mixture.n_groups);
  check.size("n_active_groups", mixture.n_active_groups);
  check.size("group_top", mixture.group_top);
  check.positive("the scale of the experts' weights", mixture.scale);
  if (mixture.n_experts % mixture.n_groups != 0)
    check.fail(fmt::format("{0} experts do not divide into its {1} groups of experts; expected a multiple of {1}",
                           mixture.n_experts, mixture.n_groups));
  const std::int64_t group = mixture.n_experts / mixture.n_groups;
  check.at_most("n_active_groups", mixture.n_active_groups, "n_groups", mixture.n_groups);
  if (mixture.n_active > group * mixture.n_active_groups + others)
    check.fail(
        fmt::format("a token takes {} experts, but the {} groups of {} that it chooses have {} together; expected no "
                    "more",
                    mixture.n_active, mixture.n_active_groups, group, group * mixture.n_active_groups));
  if (mixture.n_groups > 1 && mixture.group_top > group)
    check.fail(fmt::format(
        "the {} experts are in {} groups of {}, but a group is chosen by its best {}; expected at least {} "
        "experts",
        mixture.n_experts, mixture.n_groups, group, mixture.group_top, mixture.n_groups * mixture.group_top));
  if (mixture.shared) check.size("d_ff of the shared experts", mixture.shared->d_ff);
  check.not_negative("the soft-cap of the router", mixture.router_softcap);
  check.positive("the scale of the mixture", mixture.output_scale);
  check.positive("the jitter of the mixture", mixture.jitter);
  check.norm("the norms of the mixture", mixture.own_norms);
  if (const std::int64_t root = square_root(mixture.n_experts);
      mixture.product_keys && root * root != mixture.n_experts)
    check.fail(fmt::format("n_experts is {}; expected a square, of whose rows and columns the router chooses",
                           mixture.n_experts));
  check.positive("the scale of what the router reads", mixture.router_scale);
}

void check_layer(const Checks& check, const Layer& layer, std::size_t number) {
  if (layer.sublayers.empty()) check.fail("it has no sublayers; expected at least 1");
  bool parallel = false, renormed = false;
  for (const Sublayer& sublayer : layer.sublayers) {
    std::visit([&](const auto& kind) { check_kind(check, kind); }, sublayer.kind);
    check.norm("the norm before a sublayer", sublayer.norms.before);
    check.norm("the norm after a sublayer", sublayer.norms.after);
    check.norm("the norm after a residual", sublayer.norms.residual);
    check.positive("residual_scale", sublayer.residual_scale);
    check.positive("stream_scale", sublayer.stream_scale);
    check.positive("read_scale", sublayer.read_scale);
    if (sublayer.laurel) {
      check.size("the rank of LAuReL", sublayer.laurel->rank);
      check.norm("the norm of LAuReL", sublayer.laurel->norm);
    }
    parallel = parallel || sublayer.reads == Sublayer::Reads::entry || sublayer.reads == Sublayer::Reads::first;
    renormed = renormed || sublayer.norms.residual;
  }
  const Sublayer::Reads begins = layer.sublayers.front().reads;
  if (begins != Sublayer::Reads::stream && begins != Sublayer::Reads::embedded)
    check.fail("its first sublayer reads what another does; expected it to read the stream");
  const auto in_turn = [&](const Sublayer& sublayer, std::size_t i) {
    using Reads = Sublayer::Reads;
    if (sublayer.reads == Reads::first) return sublayer.beside < i;
    const bool of_another = sublayer.reads == Reads::made || sublayer.reads == Reads::sum;
    return !of_another || (i > 0 && !layer.sublayers[i - 1].adds);
  };
  for (std::size_t i = 0; i < layer.sublayers.size(); ++i) {
    const Sublayer& sublayer = layer.sublayers[i];
    check.size("the rank of a norm's gate", sublayer.norm_gate, 0);
    check.size("the width of the convolution behind a sublayer", sublayer.conv_width, 0);
    if (sublayer.shares < 0 || static_cast<std::size_t>(sublayer.shares) > number)
      check.fail(fmt::format("a sublayer shares with {}, but there are {} layers before it", sublayer.shares, number));
    if (!in_turn(sublayer, i)) check.fail("a sublayer reads what none before it made");
  }
  if (!layer.sublayers.back().adds) check.fail("nothing reads what its last sublayer makes");
  if (parallel && renormed) check.fail("a parallel block cannot have a norm after its residual");
  if (layer.shares < 0 || static_cast<std::size_t>(layer.shares) > number)
    check.fail(
        fmt::format("shares is {}, but there are {} layers before it; expected 0 to {}", layer.shares, number, number));
}

// Keys and values that a layer reads are those of an attention of the same form.
void check_keys(const Checks& check, const Layers& layers, std::size_t number) {
  const Attention* attention = find<Attention>(layers[number]);
  if (attention == nullptr || attention->kv_from == 0) return;
  if (attention->kv_from < 0 || static_cast<std::size_t>(attention->kv_from) > number)
    check.fail(
        fmt::format("it reads the keys of the layer {} before it; expected 1 to {}", attention->kv_from, number));
  const Attention* from = find<Attention>(layers[number - static_cast<std::size_t>(attention->kv_from)]);
  const bool alike = from != nullptr && from->kv_from == 0 && !from->latent && !attention->latent &&
                     from->n_kv_heads == attention->n_kv_heads && from->d_head == attention->d_head &&
                     from->d_value == attention->d_value && from->window == attention->window;
  if (!alike)
    check.fail(
        fmt::format("it reads the keys of layer {}; expected one with keys of its own, as many and as wide, and "
                    "the same window",
                    number - static_cast<std::size_t>(attention->kv_from)));
}

void check_streams(const Checks& check, const Model& model) {
  for_each<LayerInput>(model.layers.written(), [&](const LayerInput& input) {
    check.equal("d of a layer's input", input.d, "that of the model's", model.layer_inputs ? model.layer_inputs->d : 0);
  });
  if (model.layer_inputs) {
    check.size("d of the layers' inputs", model.layer_inputs->d);
    check.size("the vocabulary of the layers' inputs", model.layer_inputs->vocab_size);
    check.size("the width of all layers' inputs",
               model.layer_inputs->d * static_cast<std::int64_t>(model.layers.size()));
    check.norm("the norm of the layers' inputs", model.layer_inputs->norm);
  }
  if (!model.altup) return;
  check.size("the streams", model.altup->streams, 2);
  check.at_most("the streams", model.altup->streams, "which is plenty", 64);
  check.size("the active stream", model.altup->active, 0);
  check.at_most("the active stream", model.altup->active, "the last", model.altup->streams - 1);
  check.norm("the norm of the streams", model.altup->norm);
  for (const Layer& layer : model.layers.written())
    if (find<LayerInput>(layer) == nullptr || !std::holds_alternative<LayerInput>(layer.sublayers.back().kind))
      check.fail("a layer on several streams ends without an input of its own; expected one");
}

}  // namespace

void validate(const Model& model) {
  const std::string name = model.name.empty() ? "model" : model.name;
  const Checks check(name + ": ");
  check.size("d_model", model.d_model);
  check.size("vocab_size", model.vocab_size);
  check.size("context", model.context);
  check.size("padding_rows", model.padding_rows, 0);
  check.size("d_embedding", model.d_embedding);
  check.size("extra rows of the positions", model.positions.extra_rows, 0);
  check.positive("embedding_scale", model.embedding_scale);
  check.norm("the embedding's norm", model.embedding_norm);
  check.norm("the final norm", model.final_norm);
  check.positive("the scale of the logits", model.head.scale);
  check.not_negative("the soft-cap of the logits", model.head.softcap);
  if (model.layers.empty()) check.fail("there are no layers; expected at least 1");
  if (model.layers.size() > static_cast<std::size_t>(most_layers))
    check.fail(
        fmt::format("there are {} layers; expected at most {}", grouped(model.layers.size()), grouped(most_layers)));
  const std::span<const Layer> layers = model.layers.written();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0 && layers[i] == layers[i - 1]) continue;
    const Checks of_layer(fmt::format("{}: layer {}: ", name, i));
    check_layer(of_layer, layers[i], i);
    check_keys(of_layer, model.layers, i);
  }
  check_streams(check, model);
  for (const Predictor& predictor : model.predictors) {
    const Checks of_predictor(fmt::format("{}: a layer that predicts further tokens: ", name));
    of_predictor.norm("the norm before it", predictor.norm);
    of_predictor.norm("the norm behind it", predictor.final_norm);
    of_predictor.size("their number", predictor.count);
    for (const Layer& layer : predictor.layers.written()) check_layer(of_predictor, layer, 0);
  }
}

}  // namespace reckon
