// Sizes are small and mostly different, so that a swapped dimension shows. Activations are rows of tables, each row
// taken once: the gradient of such a table is that of the activation.
#include "gradient_cases.h"

#include "ops/activate.h"
#include "ops/attention.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/cross_entropy.h"
#include "ops/delta_rule.h"
#include "ops/difference.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/exponential.h"
#include "ops/gate.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/outer_sum.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/routed_heads.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/sparsify.h"
#include "ops/stack.h"
#include "ops/streams.h"
#include "ops/view.h"
#include "ops/xielu.h"

#include <cmath>
#include <stdexcept>

namespace reckon {
namespace {

constexpr std::int64_t words = 7;

TensorId weight(Builder& b, Part part, const Shape& shape) {
  return b.parameter({Block::none, part}, Piece::weight, shape);
}
TensorId bias(Builder& b, Part part, const Shape& shape) {
  return b.parameter({Block::none, part}, Piece::bias, shape);
}
TensorId whole_numbers(Builder& b, const char* name, const Shape& shape) {
  return b.tensor(TensorKind::input, name, shape, DType::int32);
}

// An activation with a gradient of its own.
TensorId input(Builder& b, Part part, const Shape& shape) {
  const TensorId table = weight(b, part, {shape.leading().elements(), shape[-1]});
  return embed(b, table, whole_numbers(b, "each", shape.leading()), "x");
}

TensorId activated(Builder& b, Activation activation, bool gated, double clamp = 0.0) {
  FeedForward rule;
  rule.activation = activation;
  rule.gated = gated;
  rule.clamp = clamp;
  const TensorId gate = input(b, Part::gate, {2, 3, 11});
  return activate(b, rule, gate, gated ? input(b, Part::up, {2, 3, 11}) : no_tensor, "y");
}

TensorId normed(Builder& b, Norm::Kind kind, bool has_weight, bool has_bias, bool plus_one = false) {
  const Norm rule{kind, 1e-5, has_weight, has_bias, plus_one};
  const TensorId w = has_weight ? weight(b, Part::norm, {5}) : no_tensor;
  return norm(b, rule, input(b, Part::position, {2, 3, 5}), w, has_bias ? bias(b, Part::norm, {5}) : no_tensor, "y");
}

TensorId normed_heads(Builder& b, Norm::Kind kind, bool own) {
  const Norm rule{kind, 1e-5, true, false, false};
  const TensorId w = own ? weight(b, Part::norm, {4, 5}) : weight(b, Part::norm, {5});
  return norm(b, rule, input(b, Part::position, {2, 3, 4, 5}), w, no_tensor, "y");
}

struct Heads {
  std::int64_t tokens = 5, heads = 4, kv_heads = 2, d_head = 3, d_value = 3, batch = 2;
};

TensorId attended(Builder& b, const AttentionRule& rule, bool sinks = false, const Heads& h = {},
                  double dropped = 0.0) {
  const TensorId q = input(b, Part::query, {h.batch, h.tokens, h.heads, h.d_head});
  const TensorId k = input(b, Part::key, {h.batch, h.tokens, h.kv_heads, h.d_head});
  const TensorId v = input(b, Part::value, {h.batch, h.tokens, h.kv_heads, h.d_value});
  const TensorId s = scores(b, q, k, rule, "scores");
  TensorId p = softmax(b, s, sinks ? weight(b, Part::sinks, {h.heads}) : no_tensor, rule, "weights");
  if (dropped > 0.0) p = dropout(b, p, dropped, -1, "dropped");
  return mix(b, p, v, rule, "mixed");
}

// Two of four key heads share a value.
TensorId with_shared_values(Builder& b) {
  const AttentionRule rule{{true, 0}, 0.7, 0.0, 0.0};
  const TensorId q = input(b, Part::query, {2, 5, 8, 3}), k = input(b, Part::key, {2, 5, 4, 3});
  const TensorId v = input(b, Part::value, {2, 5, 2, 6});
  const TensorId p = softmax(b, scores(b, q, k, rule, "scores"), no_tensor, rule, "weights");
  return mix(b, p, v, rule, "mixed");
}

// The same keys and values twice: their gradients are sums.
TensorId read_twice(Builder& b) {
  const AttentionRule rule{{true, 3}, 0.7, 0.0, 0.0};
  const TensorId k = input(b, Part::key, {2, 5, 2, 3}), v = input(b, Part::value, {2, 5, 2, 3});
  TensorId q = input(b, Part::query, {2, 5, 4, 3});
  for (int i = 0; i < 2; ++i) {
    const TensorId p = softmax(b, scores(b, q, k, rule, "scores"), no_tensor, rule, "weights");
    q = mix(b, p, v, rule, "mixed");
  }
  return q;
}

// A number of each key is added to its scores, and decides whether it is seen.
TensorId with_shifts(Builder& b, std::int64_t tokens, std::int32_t keep, std::int64_t window) {
  const AttentionRule rule{{true, window, false, keep}, 0.7, 0.0, 0.0};
  const TensorId q = input(b, Part::query, {2, tokens, 4, 3}), k = input(b, Part::key, {2, tokens, 2, 3});
  const TensorId shifts = input(b, Part::mask, {2, tokens, 2, 1}), v = input(b, Part::value, {2, tokens, 2, 2});
  const TensorId p = softmax(b, scores(b, q, k, rule, "scores"), no_tensor, rule, "weights", shifts);
  return mix(b, p, v, rule, "mixed");
}

// A sum that tells the streams apart.
TensorId told_apart(Builder& b, const TensorIds& streams) {
  TensorId sum = streams[0];
  for (std::size_t i = 1; i < streams.size(); ++i)
    sum = add(b, sum, scale(b, streams[i], 0.5 + static_cast<double>(i), "scaled"), "sum");
  return sum;
}

TensorIds three_streams(Builder& b) {
  return {input(b, Part::query, {2, 3, 4}), input(b, Part::key, {2, 3, 4}), input(b, Part::value, {2, 3, 4})};
}

TensorIds predicted_streams(Builder& b) { return predict(b, three_streams(b), input(b, Part::router, {2, 3, 9}), "y"); }

TensorIds corrected_streams(Builder& b) {
  return correct(b, three_streams(b), input(b, Part::output, {2, 3, 4}), input(b, Part::router, {2, 3, 3}), 1, "y");
}

TensorId first_and_last(Builder& b) {
  const TensorIds parts = unstack(b, input(b, Part::position, {2, 3, 3, 4}), "y");
  return add(b, parts[0], scale(b, parts[2], 2.0, "scaled"), "sum");
}

// 3 tokens; `dims` of a head's 8 elements turn.
TensorId rotated(Builder& b, std::int64_t dims, bool interleaved) {
  const TensorId table = b.tensor(TensorKind::constant, "angles", {3, dims}, DType::float32);
  return rope(b, input(b, Part::position, {2, 3, 4, 8}), table, interleaved, "y");
}

TensorId multiplied(Builder& b, bool has_bias) {
  return linear(b, input(b, Part::position, {2, 3, 4}), weight(b, Part::output, {5, 4}),
                has_bias ? bias(b, Part::output, {5}) : no_tensor, "y");
}

// x + factor·(norm(x)·Wᵀ + b): what x gets from the norm is added to what it gets directly.
TensorId residual(Builder& b, double factor) {
  const TensorId x = input(b, Part::position, {2, 3, 4});
  const TensorId n = norm(b, {Norm::Kind::layer, 1e-5, true, true, false}, x, weight(b, Part::norm, {4}),
                          bias(b, Part::norm, {4}), "normed");
  TensorId y = linear(b, n, weight(b, Part::output, {4, 4}), bias(b, Part::output, {4}), "y");
  if (factor != 1.0) y = scale(b, y, factor, "scaled");
  return add(b, x, y, "sum");
}

// The head's matrix is the table's: two gradients meet.
TensorId tied(Builder& b) {
  const TensorId table = weight(b, Part::token, {words, 4});
  return linear(b, embed(b, table, whole_numbers(b, "some", {2, 3}), "x"), table, no_tensor, "y");
}

// The parts change places.
TensorId split_and_joined(Builder& b) {
  const auto [first, second] = split(b, input(b, Part::position, {2, 3, 4, 8}), 3, 5, "first", "second");
  return join(b, second, first, 8, "y");
}

TensorId one_part(Builder& b) {
  const TensorId first = split(b, input(b, Part::position, {2, 3, 8}), 3, 5, "first", "second").first;
  return scale(b, first, 1.5, "y");
}

TensorId joined(Builder& b, std::int64_t heads) {
  return join(b, input(b, Part::query, {2, 3, 4, 2}), input(b, Part::key, {2, 3, heads, 3}), 5, "y");
}

TensorId viewed(Builder& b) {
  const TensorId x = view(b, input(b, Part::position, {2, 3, 4}), {3, 8});
  return linear(b, x, weight(b, Part::output, {5, 8}), no_tensor, "y");
}

// 8 experts, each token takes 3 of them.
TensorId mixture(Builder& b, Mixture rule, bool gated) {
  rule.n_experts = 8;
  rule.n_active = 3;
  const bool corrected = rule.n_groups > 1;
  const TensorId x = input(b, Part::position, {2, 3, 4});
  const TensorId logits = linear(b, x, weight(b, Part::router, {8, 4}), bias(b, Part::router, {8}), "logits");
  const TensorId correction = corrected ? b.tensor(TensorKind::constant, "correction", {8}, DType::float32) : no_tensor;
  const auto [choice, weights] = route(b, rule, logits, correction);
  Dispatched sent = dispatch(b, x, choice, 8);
  if (rule.weigh_inputs) sent.rows = weigh(b, sent.rows, weights, sent.order, "weighed");
  FeedForward each;
  each.activation = Activation::silu;
  each.gated = gated;
  const auto expert = [&](Part part) {
    return grouped_linear(b, sent.rows, weight(b, part, {8, 5, 4}), bias(b, part, {8, 5}), sent.offsets, "hidden");
  };
  const TensorId gate = expert(Part::gate);
  const TensorId hidden = activate(b, each, gate, gated ? expert(Part::up) : no_tensor, "active");
  const TensorId rows = grouped_linear(b, hidden, weight(b, Part::down, {8, 4, 5}), no_tensor, sent.offsets, "down");
  return combine(b, rows, rule.weigh_inputs ? no_tensor : weights, sent.order, "y");
}

// The same with 5 experts of 8, the others of identity, of which each token takes 4.
TensorId with_identity(Builder& b) {
  Mixture rule;
  rule.n_experts = 5;
  rule.n_identity = 3;
  rule.n_active = 4;
  const TensorId x = input(b, Part::position, {2, 3, 4});
  const TensorId logits = linear(b, x, weight(b, Part::router, {8, 4}), no_tensor, "logits");
  const auto [choice, weights] = route(b, rule, logits, no_tensor);
  const Dispatched sent = dispatch(b, x, choice, 8);
  FeedForward each;
  each.activation = Activation::silu;
  const auto expert = [&](Part part) {
    return grouped_linear(b, sent.rows, weight(b, part, {5, 6, 4}), no_tensor, sent.offsets, "hidden");
  };
  const TensorId gate = expert(Part::gate), hidden = activate(b, each, gate, expert(Part::up), "active");
  TensorId rows = grouped_linear(b, hidden, weight(b, Part::down, {5, 4, 6}), no_tensor, sent.offsets, "down");
  rows = pass_identity(b, rows, sent.rows, sent.offsets, 5, "rows");
  return combine(b, rows, weights, sent.order, "y");
}

// 7 tokens, of whose keys those are chosen that numbers which are given make.
TensorId of_chosen(Builder& b, bool blocks) {
  const auto given = [&](const Shape& shape) { return b.tensor(TensorKind::constant, "waves", shape, DType::float32); };
  const TensorId choice =
      choose_keys(b, given({2, 7, 2, 3}), given({2, 7, 1, 3}), blocks ? no_tensor : given({2, 7, 2}), blocks ? 2 : 3,
                  blocks ? ChooseAttributes{2, 1} : ChooseAttributes{});
  const TensorId q = input(b, Part::query, {2, 7, 4, 3}), k = input(b, Part::key, {2, 7, 2, 3});
  return attend_chosen(b, q, k, input(b, Part::value, {2, 7, 2, 5}), choice, {blocks ? 2 : 1, 0.7}, "y");
}

Mixture sparsely_mixed() {
  Mixture rule;
  rule.scores = Mixture::Scores::sparsemixer;
  rule.jitter = 0.45;
  return rule;
}

Mixture of_weighed_inputs() {
  Mixture rule;
  rule.scores = Mixture::Scores::sigmoid;
  rule.weigh_inputs = true;
  return rule;
}

Mixture routed(Mixture::Scores scores, bool normalize) {
  Mixture rule;
  rule.scores = scores;
  rule.normalize = normalize;
  return rule;
}

// As DeepSeek V3 does it: 4 groups judged by the sum of their best 2, of which 2 stay.
Mixture in_groups() {
  Mixture rule = routed(Mixture::Scores::sigmoid, true);
  rule.scale = 2.5;
  rule.n_groups = 4;
  rule.n_active_groups = 2;
  rule.group_top = 2;
  return rule;
}

TensorId in_blocks(Builder& b, bool has_bias) {
  return block_linear(b, input(b, Part::value, {2, 3, 4, 6}), weight(b, Part::step, {4, 5, 6}),
                      has_bias ? bias(b, Part::step, {4, 5}) : no_tensor, "y");
}

TensorId convolved(Builder& b, bool has_bias, std::int64_t tokens) {
  return short_convolution(b, input(b, Part::value, {2, tokens, 5}), weight(b, Part::value_convolution, {5, 4}),
                           has_bias ? bias(b, Part::value_convolution, {5}) : no_tensor, no_tensor, "y");
}

TensorId softened(Builder& b, bool has_bias, const SoftplusAttributes& limits) {
  return softplus(b, input(b, Part::step, {2, 3, 5}), has_bias ? bias(b, Part::decay, {5}) : no_tensor, limits, "y");
}

// Steps are positive, as a softplus makes them.
TensorId steps(Builder& b, const Shape& shape) {
  return softplus(b, input(b, Part::step, shape), no_tensor, {}, "step");
}

// 6 tokens of `heads` heads with `width` values; keys and queries have `groups` heads with `states`.
TensorId scanned(Builder& b, ScanRule rule, std::int64_t heads, std::int64_t groups, std::int64_t width,
                 std::int64_t states, bool each_state = false) {
  ScanInputs in{
      input(b, Part::value, {2, 6, heads, width}), no_tensor, no_tensor, no_tensor, no_tensor, no_tensor, no_tensor};
  if (rule == ScanRule::lightning) {
    in.decay = b.tensor(TensorKind::constant, "slopes", {heads}, DType::float32);
  } else {
    in.step = steps(b, {2, 6, heads});
    in.decay = weight(b, Part::decay, each_state ? Shape{heads, states} : Shape{heads});
  }
  if (rule != ScanRule::rg_lru) {
    in.key = input(b, Part::key, {2, 6, groups, states});
    in.query = input(b, Part::query, {2, 6, groups, states});
  }
  if (rule == ScanRule::state_space) in.skip = weight(b, Part::skip, {heads});
  return scan(b, rule, in, "y");
}

TensorId moved(Builder& b, std::int64_t heads, std::int64_t groups, bool each_key) {
  const TensorId q = input(b, Part::query, {2, 6, groups, 3}), k = input(b, Part::key, {2, 6, groups, 3});
  const TensorId v = input(b, Part::value, {2, 6, heads, 5});
  const TensorId step = steps(b, each_key ? Shape{2, 6, heads, 3} : Shape{2, 6, heads});
  return delta_rule(b, {q, k, v, step, weight(b, Part::decay, {heads}), input(b, Part::beta, {2, 6, heads}), no_tensor},
                    "y");
}

TensorId loss(Builder& b, const char* labels) {
  return cross_entropy(b, input(b, Part::position, {2, 3, words}), whole_numbers(b, labels, {2, 3}), "loss");
}

using A = Activation;
using B = Builder;
using S = Mixture::Scores;
constexpr auto layer = Norm::Kind::layer;
constexpr auto rms = Norm::Kind::rms;

}  // namespace

// clang-format off
const std::vector<GradientCase>& gradient_cases() {
  static const std::vector<GradientCase> all = {
      {"gelu", [](B& b) { return activated(b, A::gelu, false); }},
      {"gelu_tanh", [](B& b) { return activated(b, A::gelu_tanh, false); }},
      {"relu", [](B& b) { return activated(b, A::relu, false); }},
      {"relu_squared", [](B& b) { return activated(b, A::relu_squared, false); }},
      {"silu", [](B& b) { return activated(b, A::silu, false); }},
      {"sigmoid", [](B& b) { return activated(b, A::sigmoid, false); }},
      {"softplus", [](B& b) { return activated(b, A::softplus, false); }},
      {"gated_sigmoid", [](B& b) { return activated(b, A::sigmoid, true); }},
      {"gated_softplus", [](B& b) { return activated(b, A::softplus, true); }},
      {"xielu", [](B& b) { return xielu(b, input(b, Part::up, {2, 3, 11}), weight(b, Part::activation, {2}), b.tensor(TensorKind::constant, "curve", {2}, DType::float32), "y"); }},
      {"gate_of_rows", [](B& b) { return gate_rows(b, input(b, Part::position, {2, 3, 4}), view(b, input(b, Part::gate, {2, 3, 1}), {2, 3}), A::sigmoid, "y"); }},
      {"gate_of_heads", [](B& b) { return gate_rows(b, input(b, Part::position, {2, 3, 4, 5}), input(b, Part::gate, {2, 3, 4}), A::softplus, "y"); }},
      {"gated_gelu", [](B& b) { return activated(b, A::gelu, true); }},
      {"gated_gelu_tanh", [](B& b) { return activated(b, A::gelu_tanh, true); }},
      {"gated_relu", [](B& b) { return activated(b, A::relu, true); }},
      {"gated_relu_squared", [](B& b) { return activated(b, A::relu_squared, true); }},
      {"gated_silu", [](B& b) { return activated(b, A::silu, true); }},
      {"gated_and_clamped", [](B& b) { return activated(b, A::silu, true, 0.7); }},

      {"layer_norm", [](B& b) { return normed(b, layer, false, false); }},
      {"layer_norm_with_weight", [](B& b) { return normed(b, layer, true, false); }},
      {"layer_norm_with_weight_and_bias", [](B& b) { return normed(b, layer, true, true); }},
      {"rms_norm", [](B& b) { return normed(b, rms, false, false); }},
      {"rms_norm_with_weight", [](B& b) { return normed(b, rms, true, false); }},
      {"rms_norm_with_weight_and_bias", [](B& b) { return normed(b, rms, true, true); }},
      {"rms_norm_with_one_plus_weight", [](B& b) { return normed(b, rms, true, false, true); }},
      {"layer_norm_of_heads", [](B& b) { return normed_heads(b, layer, false); }},
      {"layer_norm_of_heads_with_weights_of_their_own", [](B& b) { return normed_heads(b, layer, true); }},
      {"rms_norm_of_heads", [](B& b) { return normed_heads(b, rms, false); }},
      {"rms_norm_of_heads_with_weights_of_their_own", [](B& b) { return normed_heads(b, rms, true); }},

      {"attention", [](B& b) { return attended(b, {{true, 0}, 1.0, 0.0, 0.0}, false, {5, 2, 2, 3, 3}); }},
      {"attention_of_grouped_heads", [](B& b) { return attended(b, {{true, 0}, 1.0, 0.0, 0.0}); }},
      {"attention_of_one_key_head", [](B& b) { return attended(b, {{true, 0}, 0.5, 0.0, 0.0}, false, {5, 3, 1, 4, 2}); }},
      {"attention_scaled", [](B& b) { return attended(b, {{true, 0}, 0.3, 0.0, 0.0}); }},
      {"attention_in_a_window", [](B& b) { return attended(b, {{true, 2}, 0.7, 0.0, 0.0}); }},
      {"attention_in_chunks", [](B& b) { return attended(b, {{true, 2, true}, 0.7, 0.0, 0.0}); }},
      {"attention_in_two_blocks_in_chunks", [](B& b) { return attended(b, {{true, 9, true}, 0.7, 0.0, 0.0}, true, {67, 2, 1, 2, 1, 1}); }},
      {"attention_capped", [](B& b) { return attended(b, {{true, 0}, 0.7, 1.2, 0.0}); }},
      {"attention_with_alibi", [](B& b) { return attended(b, {{true, 0}, 0.7, 0.0, 1.0}); }},
      {"attention_with_alibi_of_three_heads", [](B& b) { return attended(b, {{true, 0}, 0.7, 0.0, 0.6}, false, {4, 3, 3, 2, 2}); }},
      {"attention_with_sinks", [](B& b) { return attended(b, {{true, 0}, 0.7, 0.0, 0.0}, true); }},
      {"attention_capped_in_a_window_with_sinks", [](B& b) { return attended(b, {{true, 3}, 0.7, 1.2, 0.0}, true); }},
      {"attention_with_dropout", [](B& b) { return attended(b, {{true, 0}, 0.7, 0.0, 0.0}, false, {}, 0.3); }, false},
      {"attention_with_dropout_sinks_and_cap", [](B& b) { return attended(b, {{true, 3}, 0.7, 1.2, 0.0}, true, {}, 0.3); }, false},
      // More queries than a block of the kernel holds.
      {"attention_in_two_blocks", [](B& b) { return attended(b, {{true, 0}, 0.7, 0.0, 0.0}, false, {67, 2, 1, 2, 1, 1}); }},
      {"attention_in_two_blocks_in_a_window", [](B& b) { return attended(b, {{true, 5}, 0.7, 0.0, 0.0}, true, {67, 2, 1, 2, 1, 1}); }},

      {"attention_with_shared_values", with_shared_values},
      {"attention_with_shifts", [](B& b) { return with_shifts(b, 5, 3, 0); }},
      {"attention_with_shifts_in_a_window", [](B& b) { return with_shifts(b, 12, 2, 5); }},
      {"attention_with_shifts_of_all_keys", [](B& b) { return with_shifts(b, 4, 9, 0); }},
      {"outer_sum", [](B& b) { return outer_sum(b, input(b, Part::router, {2, 3, 6}), "y"); }},
      {"exponential", [](B& b) { return exponential(b, input(b, Part::step, {2, 3, 4}), weight(b, Part::decay, {4}), "y"); }},
      {"attention_twice_to_the_same_keys", read_twice},

      {"multiply", [](B& b) { return multiply(b, input(b, Part::position, {2, 3, 4}), weight(b, Part::stream_scale, {4}), "y"); }},
      {"multiply_by_a_constant", [](B& b) { return multiply(b, input(b, Part::position, {2, 3, 4}), b.tensor(TensorKind::constant, "curve", {1}, DType::float32), "y"); }},
      {"unstack_in_part", first_and_last},
      {"predict", [](B& b) { return told_apart(b, predicted_streams(b)); }},
      {"predict_in_part", [](B& b) { return predicted_streams(b)[1]; }},
      {"correct", [](B& b) { return told_apart(b, corrected_streams(b)); }},
      {"correct_in_part", [](B& b) { const TensorIds y = corrected_streams(b); return add(b, y[0], y[2], "sum"); }},
      {"magnitude", [](B& b) { return match_magnitude(b, input(b, Part::query, {2, 3, 4}), input(b, Part::key, {2, 3, 4}), "y"); }},
      {"sparsify", [](B& b) { return sparsify(b, input(b, Part::gate, {2, 3, 11}), 0.6, "y"); }},
      {"difference", [](B& b) { return difference(b, input(b, Part::value, {2, 3, 8, 5}), weight(b, Part::difference, {4, 3}), {0.3, 2}, "y"); }},
      {"gather_heads", [](B& b) { return gather_heads(b, input(b, Part::query, {2, 3, 2, 6}), whole_numbers(b, "each", {2, 3, 2}), 3, "y"); }},
      {"scatter_heads", [](B& b) { return scatter_heads(b, input(b, Part::query, {2, 3, 6, 2}), whole_numbers(b, "each", {2, 3, 2}), "y"); }},
      {"attention_to_chosen_keys", [](B& b) { return of_chosen(b, false); }},
      {"attention_to_chosen_blocks", [](B& b) { return of_chosen(b, true); }},

      {"matmul", [](B& b) { return multiplied(b, false); }},
      {"matmul_with_bias", [](B& b) { return multiplied(b, true); }},
      {"embed", [](B& b) { return embed(b, weight(b, Part::token, {words, 4}), whole_numbers(b, "some", {2, 3}), "y"); }},
      {"embed_tied", tied},
      {"add", [](B& b) { return add(b, input(b, Part::query, {2, 3, 4}), input(b, Part::key, {2, 3, 4}), "y"); }},
      {"add_repeated", [](B& b) { return add(b, input(b, Part::query, {2, 3, 4}), input(b, Part::key, {3, 4}), "y"); }},
      {"residual", [](B& b) { return residual(b, 1.0); }},
      {"residual_scaled", [](B& b) { return residual(b, 0.4); }},
      {"scale", [](B& b) { return scale(b, input(b, Part::position, {2, 3, 4}), 0.5, "y"); }},
      {"dropout", [](B& b) { return dropout(b, input(b, Part::position, {2, 3, 11}), 0.3, 2, "y"); }},
      {"softcap", [](B& b) { return softcap(b, input(b, Part::position, {2, 3, 11}), 1.3, "y"); }},
      {"clip", [](B& b) { return clip(b, input(b, Part::position, {2, 3, 11}), 0.4, "y"); }},
      {"position_scale", [](B& b) { return scale_by_position(b, input(b, Part::position, {2, 3, 4, 8}), b.tensor(TensorKind::constant, "factors", {3, 1}, DType::float32), "y"); }},
      {"rope_halves", [](B& b) { return rotated(b, 8, false); }},
      {"rope_interleaved", [](B& b) { return rotated(b, 8, true); }},
      {"rope_halves_of_a_part", [](B& b) { return rotated(b, 6, false); }},
      {"rope_interleaved_of_a_part", [](B& b) { return rotated(b, 6, true); }},
      {"split_and_joined", split_and_joined},
      {"split_of_which_one_part_is_used", one_part},
      {"join_with_one_head_for_all", [](B& b) { return joined(b, 1); }},
      {"join_of_heads", [](B& b) { return joined(b, 4); }},
      {"view", viewed},

      {"mixture_by_softmax", [](B& b) { return mixture(b, routed(S::softmax, false), false); }},
      {"mixture_by_softmax_normalised", [](B& b) { return mixture(b, routed(S::softmax, true), true); }},
      {"mixture_by_softmax_of_chosen", [](B& b) { return mixture(b, routed(S::softmax_of_chosen, false), true); }},
      {"mixture_by_sigmoid", [](B& b) { return mixture(b, routed(S::sigmoid, false), true); }},
      {"mixture_by_sparsemixer", [](B& b) { return mixture(b, sparsely_mixed(), true); }},
      {"mixture_with_identity_experts", with_identity},
      {"mixture_of_weighed_inputs", [](B& b) { return mixture(b, of_weighed_inputs(), true); }},
      {"mixture_by_sigmoid_in_groups", [](B& b) { return mixture(b, in_groups(), true); }},

      {"gated_as_it_is", [](B& b) { return activated(b, A::identity, true); }},
      {"block_matmul", [](B& b) { return in_blocks(b, false); }},
      {"block_matmul_with_bias", [](B& b) { return in_blocks(b, true); }},
      {"short_convolution", [](B& b) { return convolved(b, false, 6); }},
      {"short_convolution_with_bias", [](B& b) { return convolved(b, true, 6); }},
      {"short_convolution_of_fewer_tokens_than_weights", [](B& b) { return convolved(b, true, 2); }},
      {"softplus_without_bias", [](B& b) { return softened(b, false, {}); }},
      {"softplus_with_bias", [](B& b) { return softened(b, true, {}); }},
      {"softplus_with_limits", [](B& b) { return softened(b, true, {0.6, 0.8}); }},
      {"scan_of_a_state_space", [](B& b) { return scanned(b, ScanRule::state_space, 4, 2, 3, 5); }},
      {"scan_of_a_state_space_with_one_head_of_keys", [](B& b) { return scanned(b, ScanRule::state_space, 11, 1, 2, 9); }},
      {"scan_of_a_state_space_with_decays_of_its_own", [](B& b) { return scanned(b, ScanRule::state_space, 11, 1, 1, 5, true); }},
      {"scan_of_lightning_attention", [](B& b) { return scanned(b, ScanRule::lightning, 3, 3, 4, 5); }},
      {"scan_of_an_rg_lru", [](B& b) { return scanned(b, ScanRule::rg_lru, 5, 5, 1, 1); }},
      {"delta_rule", [](B& b) { return moved(b, 2, 2, false); }},
      {"delta_rule_of_grouped_heads", [](B& b) { return moved(b, 4, 2, false); }},
      {"delta_rule_with_a_step_for_each_element_of_a_key", [](B& b) { return moved(b, 4, 2, true); }},

      {"cross_entropy", [](B& b) { return loss(b, "labels"); }},
      {"cross_entropy_with_labels_left_out", [](B& b) { return loss(b, "labels_left_out"); }},
  };
  return all;
}
// clang-format on

Program build(const GradientCase& row) {
  Program program;
  program.workload = workload_of(Phase::train);
  Builder b(std::move(program));
  TensorId y = row.build(b);
  if (b.shape(y).rank() > 0) {
    const Shape rows{b.shape(y).leading().elements(), b.shape(y)[-1]};
    const TensorId logits = linear(b, view(b, y, rows), weight(b, Part::mixing, {words, rows[1]}), no_tensor, "logits");
    y = cross_entropy(b, logits, whole_numbers(b, "labels", {rows[0]}), "loss");
  }
  b.program().output = y;
  return b.finish();
}

double given_element(const Tensor& tensor, std::int64_t i) {
  const auto at = static_cast<double>(i);
  if (tensor.label.name == "each") return at;
  if (tensor.label.name == "some") return static_cast<double>(i * 5 % 4);  // some rows twice, some never
  if (tensor.label.name == "labels") return static_cast<double>((3 * i + 1) % words);
  if (tensor.label.name == "labels_left_out") return i % 3 == 1 ? -1 : static_cast<double>((3 * i + 1) % words);
  if (tensor.label.name == "correction") return 0.1 * static_cast<double>(i % 3);
  if (tensor.label.name == "slopes") return 0.1 * (at + 1.0);
  if (tensor.label.name == "curve") return i == 0 ? 0.5 : -0.1;
  if (tensor.label.name == "waves") return std::sin(1.7 * at);
  if (tensor.label.name == "factors") return 1.0 + 0.3 * at;
  if (tensor.label.name == "angles") {  // cosines, then sines
    const std::int64_t half = tensor.shape[-1].size / 2, position = i / (2 * half), k = i % (2 * half);
    const double angle = static_cast<double>(position) / static_cast<double>(1 + k % half);
    return k < half ? std::cos(angle) : std::sin(angle);
  }
  throw std::logic_error("no values for " + std::string(tensor.label.name));
}

}  // namespace reckon
