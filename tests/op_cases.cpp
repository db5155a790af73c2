// Sizes are small and all different, so that a swapped dimension shows: 2 sequences, 3 tokens, width 4; 4 heads of
// which 2 share keys, 8 wide, 5 keys; 8 experts, 2 active; 7 words. All float32: an element is 4 bytes.
#include "op_cases.h"

#include <stdexcept>

#include "ops/activate.h"
#include "ops/adamw.h"
#include "ops/append.h"
#include "ops/attend.h"
#include "ops/attention.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/collectives.h"
#include "ops/cross_entropy.h"
#include "ops/delta_rule.h"
#include "ops/difference.h"
#include "ops/elementwise.h"
#include "ops/dequantise.h"
#include "ops/embed.h"
#include "ops/exponential.h"
#include "ops/gate.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/optimizers.h"
#include "ops/outer_sum.h"
#include "ops/position_scale.h"
#include "ops/project.h"
#include "ops/quantise.h"
#include "ops/rope.h"
#include "ops/routed_heads.h"
#include "ops/scan.h"
#include "ops/convolved_heads.h"
#include "ops/entries.h"
#include "ops/hyper.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/sparsify.h"
#include "ops/stack.h"
#include "ops/streams.h"
#include "ops/view.h"
#include "ops/xielu.h"
#include "passes/gradient.h"

namespace reckon {
namespace {

TensorId weight(Builder& b, const Shape& shape) { return b.parameter({}, Piece::weight, shape); }
TensorId whole_numbers(Builder& b, const Shape& shape) { return b.tensor(TensorKind::input, "i", shape, DType::int32); }

TensorId plain(Builder& b, Activation activation) {
  FeedForward rule;
  rule.activation = activation;
  return activate(b, rule, weight(b, {2, 3, 4}), no_tensor, "y");
}

TensorId gated(Builder& b, Activation activation, double clamp = 0.0) {
  FeedForward rule;
  rule.activation = activation;
  rule.gated = true;
  rule.clamp = clamp;
  return activate(b, rule, weight(b, {2, 3, 4}), weight(b, {2, 3, 4}), "y");
}

TensorId scores_with(Builder& b, double scale, double softcap, std::int64_t window = 0) {
  return scores(b, weight(b, {2, 3, 4, 8}), weight(b, {2, 5, 2, 8}), {{true, window}, scale, softcap, 0.0}, "s");
}

TensorId softmax_with(Builder& b, bool alibi, bool sinks) {
  const TensorId s = weight(b, {2, 4, 3, 5});
  return softmax(b, s, sinks ? weight(b, {4}) : no_tensor, {.alibi = alibi ? 0.5 : 0.0}, "p");
}

TensorId mixed(Builder& b) { return mix(b, weight(b, {2, 4, 3, 5}), weight(b, {2, 5, 2, 8}), {}, "o"); }

TensorId normed(Builder& b, Norm::Kind kind, bool has_weight, bool has_bias, bool plus_one = false) {
  const Norm rule{kind, 1e-5, has_weight, has_bias, plus_one};
  const TensorId x = weight(b, {2, 3, 4});
  return norm(b, rule, x, has_weight ? weight(b, {4}) : no_tensor, has_bias ? weight(b, {4}) : no_tensor, "y");
}

TensorId multiplied(Builder& b, bool bias) {
  return linear(b, weight(b, {2, 3, 4}), weight(b, {5, 4}), bias ? weight(b, {5}) : no_tensor, "y");
}

TensorId experts_multiplied(Builder& b, bool bias) {
  const TensorId offsets = whole_numbers(b, {9});
  return grouped_linear(b, weight(b, {2, 3, 2, 4}), weight(b, {8, 5, 4}), bias ? weight(b, {8, 5}) : no_tensor, offsets,
                        "y");
}

TensorId routed(Builder& b, Mixture::Scores scores, bool normalize) {
  Mixture mixture;
  mixture.n_experts = 8;
  mixture.n_active = 2;
  mixture.scores = scores;
  mixture.normalize = normalize;
  return route(b, mixture, weight(b, {2, 3, 8}), no_tensor).second;
}

// Two experts of each of 7 tokens.
TensorId routed_by_table(Builder& b) {
  Mixture mixture;
  mixture.n_experts = 8;
  mixture.n_active = 2;
  mixture.scores = Mixture::Scores::root_softplus;
  const TensorId table = b.tensor(TensorKind::constant, "table", {7, 2}, DType::float32);
  return route(b, mixture, weight(b, {2, 3, 8}), no_tensor, table, whole_numbers(b, {2, 3})).second;
}

// As DeepSeek V3 does it: 4 groups judged by the sum of their best 2, of which 2 stay.
TensorId routed_in_groups(Builder& b) {
  Mixture mixture;
  mixture.n_experts = 8;
  mixture.n_active = 2;
  mixture.scores = Mixture::Scores::sigmoid;
  mixture.normalize = true;
  mixture.scale = 2.5;
  mixture.n_groups = 4;
  mixture.n_active_groups = 2;
  mixture.group_top = 2;
  const TensorId correction = b.tensor(TensorKind::constant, "correction", {8}, DType::float32);
  return route(b, mixture, weight(b, {2, 3, 8}), correction).second;
}

TensorId loss(Builder& b) { return cross_entropy(b, weight(b, {2, 3, 7}), whole_numbers(b, {2, 3}), "loss"); }
TensorId embedded(Builder& b) { return embed(b, weight(b, {7, 4}), whole_numbers(b, {2, 3}), "y"); }
TensorId dispatched(Builder& b) { return dispatch(b, weight(b, {2, 3, 4}), whole_numbers(b, {2, 3, 2}), 8).rows; }
TensorId combined(Builder& b) {
  return combine(b, weight(b, {2, 3, 2, 4}), weight(b, {2, 3, 2}), whole_numbers(b, {2, 3, 2}), "y");
}
TensorId collected(Builder& b) {
  return combine(b, weight(b, {2, 3, 2, 4}), no_tensor, whole_numbers(b, {2, 3, 2}), "y");
}
TensorId weighed(Builder& b) {
  return weigh(b, weight(b, {2, 3, 2, 4}), weight(b, {2, 3, 2}), whole_numbers(b, {2, 3, 2}), "y");
}
// 6 experts, and 2 of identity.
TensorId passed(Builder& b) {
  return pass_identity(b, weight(b, {2, 3, 2, 4}), weight(b, {2, 3, 2, 4}), whole_numbers(b, {9}), 6, "y");
}
TensorId chosen_keys(Builder& b, bool weighted) {
  return choose_keys(b, weight(b, {2, 3, 4, 8}), weight(b, {2, 5, 1, 8}), weighted ? weight(b, {2, 3, 4}) : no_tensor,
                     weighted ? 3 : 2, weighted ? ChooseAttributes{} : ChooseAttributes{2, 1});
}
TensorId attended_to(Builder& b, bool blocks) {
  const TensorId choice = whole_numbers(b, blocks ? Shape{2, 3, 4, 2} : Shape{2, 3, 1, 3});
  return attend_chosen(b, weight(b, {2, 3, 4, 8}), weight(b, {2, 5, 2, 8}), weight(b, {2, 5, 2, 8}), choice,
                       {blocks ? 2 : 1, 0.5}, "y");
}
TensorId gated_rows(Builder& b, Activation activation) {
  return gate_rows(b, weight(b, {2, 3, 4}), weight(b, {2, 3}), activation, "y");
}
TensorId curved(Builder& b) {
  return xielu(b, weight(b, {2, 3, 4}), weight(b, {2}), b.tensor(TensorKind::constant, "shape", {2}, DType::float32),
               "y");
}
TensorId times_factors(Builder& b) { return multiply(b, weight(b, {2, 3, 4}), weight(b, {4}), "y"); }
TensorId unstacked(Builder& b) { return unstack(b, weight(b, {2, 3, 2, 4}), "y").front(); }
TensorId predicted(Builder& b) {
  return predict(b, {weight(b, {2, 3, 4}), weight(b, {2, 3, 4})}, weight(b, {2, 3, 4}), "y").front();
}
TensorId corrected(Builder& b) {
  const TensorIds y =
      correct(b, {weight(b, {2, 3, 4}), weight(b, {2, 3, 4})}, weight(b, {2, 3, 4}), weight(b, {2, 3, 2}), 0, "y");
  return add(b, y[0], y[1], "sum");
}
TensorId as_large(Builder& b) { return match_magnitude(b, weight(b, {2, 3, 4}), weight(b, {2, 3, 4}), "y"); }
TensorId sparse(Builder& b) { return sparsify(b, weight(b, {2, 3, 4}), 0.95, "y"); }
TensorId subtracted(Builder& b) { return difference(b, weight(b, {2, 3, 4, 8}), weight(b, {4, 5}), {0.2, 1}, "y"); }
TensorId gathered(Builder& b) { return gather_heads(b, weight(b, {2, 3, 2, 8}), whole_numbers(b, {2, 3, 2}), 2, "y"); }
TensorId scattered(Builder& b) { return scatter_heads(b, weight(b, {2, 3, 4, 4}), whole_numbers(b, {2, 3, 2}), "y"); }
TensorId all_sums(Builder& b) { return outer_sum(b, weight(b, {2, 3, 6}), "y"); }
TensorId powers(Builder& b) { return exponential(b, weight(b, {2, 3, 4}), weight(b, {4}), "y"); }
TensorId softmax_with_shifts(Builder& b) {
  return softmax(b, weight(b, {2, 4, 3, 5}), no_tensor, {.mask = {.keep = 2}}, "p", weight(b, {2, 5, 2, 1}));
}
TensorId scaled_by_position(Builder& b, std::int64_t positions) {
  const TensorId table = b.tensor(TensorKind::constant, "table", {positions, 1}, DType::float32);
  return scale_by_position(b, weight(b, {2, 3, 4, 8}), table, "y");
}
TensorId rotated(Builder& b, std::int64_t positions) {
  const TensorId table = b.tensor(TensorKind::constant, "table", {positions, 6}, DType::float32);
  return rope(b, weight(b, {2, 3, 4, 8}), table, false, "y");
}
TensorId joined(Builder& b, std::int64_t heads) {
  return join(b, weight(b, {2, 3, 4, 2}), weight(b, {2, 3, heads, 3}), 5, "y");
}
TensorId appended(Builder& b, DType dtype) {
  const TensorId cache = b.tensor(TensorKind::cache, "cache", {2, 6, 3, 4}, dtype);
  return append(b, weight(b, {2, 1, 3, 4}), cache, 5, "y");
}

// 4 blocks, each 5 × 6.
TensorId in_blocks(Builder& b, bool bias) {
  return block_linear(b, weight(b, {2, 3, 4, 6}), weight(b, {4, 5, 6}), bias ? weight(b, {4, 5}) : no_tensor, "y");
}
// A convolution over 3 tokens.
TensorId convolved(Builder& b, bool bias, bool cached) {
  const TensorId cache = cached ? b.tensor(TensorKind::cache, "cache", {2, 1, 1, 8}, DType::float32) : no_tensor;
  return short_convolution(b, weight(b, {2, 3, 4}), weight(b, {4, 3}), bias ? weight(b, {4}) : no_tensor, cache, "y");
}
// 2 heads of 2 elements, over 3 tokens.
TensorId convolved_heads(Builder& b, bool cached) {
  const TensorId cache = cached ? b.tensor(TensorKind::cache, "cache", {2, 1, 1, 8}, DType::float32) : no_tensor;
  return head_convolution(b, weight(b, {2, 3, 2, 2}), weight(b, {4, 2, 3}), weight(b, {4}), weight(b, {4}), cache, "y");
}
// Two streams of 4 elements.
TensorId weighed_streams(Builder& b, bool head) {
  const std::int64_t width = head ? 2 : 8;
  return hyper_weights(b, weight(b, {2, 3, width}), weight(b, {width}), weight(b, {head ? 1 : 3}), {2, 3, 1e-6}, "y");
}
// Entries of 3 tokens each, of 7; of 2 and the 2 before them, of the third to fifth token.
TensorId made_entries(Builder& b) {
  return entries(b,
                 {weight(b, {2, 7, 4}), weight(b, {2, 7, 4}), weight(b, {3, 4}), weight(b, {4}), weight(b, {7, 2}),
                  no_tensor, no_tensor},
                 {3, false, 1e-6}, "y");
}
TensorId overlapping_entries(Builder& b) {
  const TensorId state = b.tensor(TensorKind::cache, "state", {2, 1, 1, 24}, DType::float32);
  const TensorId cache = b.tensor(TensorKind::cache, "cache", {2, 2, 1, 2}, DType::float32);
  return entries(
      b,
      {weight(b, {2, 3, 4}), weight(b, {2, 3, 4}), weight(b, {2, 4}), weight(b, {2}), weight(b, {5, 2}), state, cache},
      {2, true, 1e-6}, "y");
}
// Of 3 queries with 4 heads of 8: 1 + 2 + 2 keys in a window of 2, and 0 + 1 + 1 entries of 2 tokens.
TensorId attended_entries(Builder& b, bool chosen, bool any = true) {
  return attend_entries(b, weight(b, {2, 3, 4, 8}), weight(b, {2, 3, 1, 8}), any ? weight(b, {2, 1, 1, 8}) : no_tensor,
                        chosen ? whole_numbers(b, {2, 3, 1, 1}) : no_tensor, weight(b, {4}), {2, 2, 0.5}, "y");
}
TensorId delayed(Builder& b) {
  return delay(b, weight(b, {2, 3, 4}), b.tensor(TensorKind::cache, "cache", {2, 1, 1, 4}, DType::float32), "y");
}
TensorId softened(Builder& b, bool bias, const SoftplusAttributes& limits) {
  return softplus(b, weight(b, {2, 3, 4}), bias ? weight(b, {4}) : no_tensor, limits, "y");
}
// 4 heads of 5 values, 2 of keys and queries with 6 states.
TensorId scanned(Builder& b, ScanRule rule, bool each_state, bool cached = false) {
  ScanInputs in{weight(b, {2, 3, 4, rule == ScanRule::rg_lru ? 1 : 5}),
                no_tensor,
                no_tensor,
                no_tensor,
                no_tensor,
                no_tensor,
                no_tensor};
  if (rule != ScanRule::lightning) in.step = weight(b, {2, 3, 4});
  in.decay = rule == ScanRule::lightning ? b.tensor(TensorKind::constant, "slopes", {4}, DType::float32)
             : each_state                ? weight(b, {4, 6})
                                         : weight(b, {4});
  if (rule != ScanRule::rg_lru) {
    in.key = weight(b, {2, 3, 2, 6});
    in.query = weight(b, {2, 3, 2, 6});
  }
  if (rule == ScanRule::state_space) in.skip = weight(b, {4});
  if (cached) in.state = b.tensor(TensorKind::cache, "cache", {2, 1, 1, 120}, DType::float32);
  return scan(b, rule, in, "y");
}
TensorId moved(Builder& b, bool each_key, bool cached = false) {
  const TensorId query = weight(b, {2, 3, 2, 6}), key = weight(b, {2, 3, 2, 6}), value = weight(b, {2, 3, 4, 5});
  const TensorId step = weight(b, each_key ? Shape{2, 3, 4, 6} : Shape{2, 3, 4}), decay = weight(b, {4});
  const TensorId beta = weight(b, {2, 3, 4});
  const TensorId state = cached ? b.tensor(TensorKind::cache, "cache", {2, 1, 1, 120}, DType::float32) : no_tensor;
  return delta_rule(b, {query, key, value, step, decay, beta, state}, "y");
}

// Lowered ops are emitted by a lowering alone.
TensorId attended(Builder& b, double softcap, bool alibi, float dropped = 0) {
  const TensorId y = b.activation("y", {2, 3, 4, 8});
  b.emit(attend_operation, {weight(b, {2, 3, 4, 8}), weight(b, {2, 5, 2, 8}), weight(b, {2, 5, 2, 8}), no_tensor}, {y},
         {{.scale = 0.5, .softcap = softcap, .alibi = alibi ? 1.0 : 0.0}, 64, dropped});
  return y;
}
TensorId attended_back(Builder& b, double softcap, bool alibi, float dropped = 0) {
  const Shape query{2, 3, 4, 8}, keys{2, 5, 2, 8};
  const TensorId dq = b.activation("dq", query), dk = b.activation("dk", keys), dv = b.activation("dv", keys);
  b.emit(attend_backward_operation,
         {weight(b, query), weight(b, keys), weight(b, keys), no_tensor, weight(b, query), weight(b, query),
          weight(b, {2, 4, 3})},
         {dq, dk, dv, no_tensor}, {{.scale = 0.5, .softcap = softcap, .alibi = alibi ? 1.0 : 0.0}, 64, dropped});
  return dq;
}
TensorId weight_differentiated(Builder& b, bool sum) {
  const TensorId y = b.activation("y", {5, 4});
  b.emit(weight_gradient_operation, {weight(b, {2, 3, 5}), weight(b, {2, 3, 4}), sum ? weight(b, {5, 4}) : no_tensor},
         {y});
  return y;
}
TensorId converted(Builder& b, bool back) {
  const TensorId wide = b.tensor(TensorKind::activation, "x", {2, 3, 4}, DType::float32);
  const TensorId kept = b.tensor(TensorKind::activation, "x", {2, 3, 4}, DType::bfloat16);
  if (back) {
    b.emit(widen_operation, {kept}, {wide});
  } else {
    b.emit(narrow_operation, {wide}, {kept, wide});
  }
  return wide;
}
TensorId dequantised(Builder& b) {
  const TensorId kept = b.tensor(TensorKind::parameter, Piece::weight, {3, 64}, DType::nf4);
  return b.compute("w", {3, 64}, dequantise_operation, {kept});
}
TensorId quantised(Builder& b) {
  const TensorId y = b.tensor(TensorKind::activation, "x8", {2, 3, 64}, DType::activation8);
  b.emit(quantise_operation, {weight(b, {2, 3, 64})}, {y});
  return y;
}
TensorId projected(Builder& b, bool bias, bool gate, bool residual) {
  const TensorId y = b.activation("y", {2, 3, 5});
  const auto maybe = [&](bool has, const Shape& shape) { return has ? weight(b, shape) : no_tensor; };
  const TensorIds inputs{weight(b, {2, 3, 4}),   weight(b, {5, 4}),          maybe(bias, {5}),
                         maybe(gate, {2, 3, 5}), maybe(residual, {2, 3, 5}), no_tensor};
  ProjectAttributes attributes;
  if (gate) attributes.activate = {Activation::silu};
  b.emit(project_operation, inputs, {y}, attributes);
  return y;
}
TensorId experts_projected(Builder& b) {
  const TensorId y = b.activation("y", {2, 3, 2, 5});
  b.emit(grouped_project_operation,
         {weight(b, {2, 3, 2, 4}), weight(b, {8, 5, 4}), no_tensor, weight(b, {2, 3, 2, 5}), no_tensor,
          whole_numbers(b, {9})},
         {y}, {.activate = ActivateAttributes{Activation::silu}});
  return y;
}
// Two gradients of 5 × 4 and 3 elements, 80 and 12 bytes, which take 128 and 64; summed over 4 ranks.
TensorId summed_over_ranks(Builder& b, const OperationOf<AllReduceAttributes>& operation) {
  const TensorId first = b.tensor(TensorKind::gradient, "g", {5, 4}, DType::float32);
  const TensorId second = b.tensor(TensorKind::gradient, "h", {3}, DType::float32);
  const bool wait = &operation == &all_reduce_wait_operation;
  b.emit(operation, {first, second}, wait ? TensorIds{first, second} : TensorIds{}, {.ranks = 4});
  return first;
}
// Over 4 ranks, along the second extent.
TensorId exchanged(Builder& b, const OperationOf<CollectiveAttributes>& operation, const Shape& from, const Shape& to) {
  return b.compute("y", to, operation, {weight(b, from)}, {Group::tensor, 4, 1});
}
TensorId marked(Builder& b) {
  const TensorId w = weight(b, {2, 4});
  b.emit(keep_alike_operation, {w}, {}, {Group::tensor, 4});
  return w;
}
TensorId stepped(Builder& b, const Shape& shape, bool decay) {
  const TensorId w = weight(b, shape);
  const TensorId gradient = b.tensor(TensorKind::gradient, "g", shape, DType::float32);
  const TensorId squares = b.tensor(TensorKind::activation, "squares", {}, DType::float32);
  adamw(b, w, gradient, squares, decay);
  return w;
}
// The same of another optimizer; `how` is its decay, or the steps of its iteration.
template <auto update>
TensorId stepped_by(Builder& b, const Shape& shape, std::int64_t how) {
  const TensorId w = weight(b, shape);
  const TensorId gradient = b.tensor(TensorKind::gradient, "g", shape, DType::float32);
  update(b, w, gradient, b.tensor(TensorKind::activation, "squares", {}, DType::float32), how);
  return w;
}
// Lowered: with the mask that it keeps, or of a gradient with the mask that was kept.
TensorId dropped(Builder& b, bool gradient) {
  const TensorId x = b.tensor(gradient ? TensorKind::gradient : TensorKind::activation, "x", {2, 3, 4}, DType::float32);
  const TensorId y = b.activation("y", {2, 3, 4});
  const TensorId mask = b.tensor(TensorKind::activation, Piece::mask, {2, 3, 4}, DType::boolean);
  if (gradient) {
    b.emit(dropout_operation, {x, mask}, {y}, {0.1, 0});
  } else {
    b.emit(dropout_operation, {x}, {y, mask}, {0.1, 0});
  }
  return y;
}

Workload exact() {
  Workload workload;
  workload.causal = Causal::exact;
  return workload;
}

// Two tokens in the cache.
Workload after_two() {
  Workload workload = workload_of(Phase::decode);
  workload.tokens = 3;
  workload.past = 2;
  return workload;
}

Workload training() { return workload_of(Phase::train); }

// Weights of two bytes behind which there are wide ones.
Workload mixed_precision() {
  Workload workload = training();
  workload.precision.weights = DType::bfloat16;
  return workload;
}

constexpr auto layer = Norm::Kind::layer;
constexpr auto rms = Norm::Kind::rms;
constexpr Stage back = Stage::backward;
constexpr Stage ahead = Stage::forward;
using A = Activation;
using S = Mixture::Scores;
using B = Builder;

}  // namespace

// clang-format off
// operation, variant, stage, nth, program | sizes of outputs | matmul, element-wise, bytes read, bytes written | symbols
const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> all = {
      {"activate", "gelu", ahead, 0, [](B& b) { return plain(b, A::gelu); }, {{2, 3, 4}}, 0, 120, 96, 96, {{"n", 24}}},
      {"activate", "gelu_tanh", ahead, 0, [](B& b) { return plain(b, A::gelu_tanh); }, {{2, 3, 4}}, 0, 216, 96, 96, {{"n", 24}}},
      {"activate", "relu", ahead, 0, [](B& b) { return plain(b, A::relu); }, {{2, 3, 4}}, 0, 24, 96, 96, {{"n", 24}}},
      {"activate", "relu_squared", ahead, 0, [](B& b) { return plain(b, A::relu_squared); }, {{2, 3, 4}}, 0, 48, 96, 96, {{"n", 24}}},
      {"activate", "silu", ahead, 0, [](B& b) { return plain(b, A::silu); }, {{2, 3, 4}}, 0, 96, 96, 96, {{"n", 24}}},
      {"activate", "sigmoid", ahead, 0, [](B& b) { return plain(b, A::sigmoid); }, {{2, 3, 4}}, 0, 96, 96, 96, {{"n", 24}}},
      {"activate", "softplus", ahead, 0, [](B& b) { return plain(b, A::softplus); }, {{2, 3, 4}}, 0, 72, 96, 96, {{"n", 24}}},
      {"activate", "sigmoid, gated", ahead, 0, [](B& b) { return gated(b, A::sigmoid); }, {{2, 3, 4}}, 0, 120, 192, 96, {{"n", 24}}},
      {"activate_backward", "sigmoid", back, 0, [](B& b) { return plain(b, A::sigmoid); }, {{2, 3, 4}}, 0, 168, 192, 96, {{"n", 24}}},
      {"activate_backward", "softplus", back, 0, [](B& b) { return plain(b, A::softplus); }, {{2, 3, 4}}, 0, 120, 192, 96, {{"n", 24}}},
      {"activate_backward", "sigmoid, gated", back, 0, [](B& b) { return gated(b, A::sigmoid); }, {{2, 3, 4}, {2, 3, 4}}, 0, 312, 288, 192, {{"n", 24}}},
      {"xielu", "", ahead, 0, curved, {{2, 3, 4}}, 0, 192, 112, 96, {{"n", 24}}},
      {"xielu_backward", "", back, 0, curved, {{2, 3, 4}, {2}}, 0, 288, 208, 104, {{"n", 24}}},
      {"multiply", "", ahead, 0, times_factors, {{2, 3, 4}}, 0, 24, 112, 96, {{"n", 24}}},
      {"multiply_backward", "", back, 0, times_factors, {{2, 3, 4}, {4}}, 0, 72, 208, 112, {{"n", 24}}},
      {"sparsify", "", ahead, 0, sparse, {{2, 3, 4}}, 0, 162, 96, 96, {{"n", 24}, {"r", 6}}},
      {"sparsify_backward", "", back, 0, sparse, {{2, 3, 4}}, 0, 270, 192, 96, {{"n", 24}, {"r", 6}}},
      {"difference", "", ahead, 0, subtracted, {{2, 3, 2, 8}}, 0, 214, 848, 384, {{"n", 96}, {"m", 5}}},
      {"difference_backward", "", back, 0, subtracted, {{2, 3, 4, 8}, {4, 5}}, 0, 332, 1232, 848, {{"n", 96}, {"m", 5}}},
      {"gather_heads", "", ahead, 0, gathered, {{2, 3, 4, 4}}, 0, 0, 432, 384, {}},
      {"gather_heads", "", back, 0, scattered, {{2, 3, 4, 4}}, 0, 0, 432, 384, {}},
      {"scatter_heads", "", ahead, 0, scattered, {{2, 3, 2, 8}}, 0, 0, 432, 384, {}},
      {"scatter_heads", "", back, 0, gathered, {{2, 3, 2, 8}}, 0, 0, 432, 384, {}},
      {"outer_sum", "", ahead, 0, all_sums, {{2, 3, 9}}, 0, 54, 144, 216, {{"n", 54}}},
      {"outer_sum_backward", "", back, 0, all_sums, {{2, 3, 6}}, 0, 72, 216, 144, {{"n", 54}, {"m", 36}}},
      {"exponential", "", ahead, 0, powers, {{2, 3, 4}}, 0, 48, 112, 96, {{"n", 24}}},
      {"exponential_backward", "", back, 0, powers, {{2, 3, 4}, {4}}, 0, 96, 304, 112, {{"n", 24}}},
      {"softmax", "with shifts of keys", ahead, 0, softmax_with_shifts, {{2, 4, 3, 5}}, 0, 1032, 560, 480, {{"p", 120}, {"r", 24}}},
      {"softmax_backward", "with shifts of keys", back, 0, softmax_with_shifts, {{2, 4, 3, 5}, {2, 5, 2, 1}}, 0, 576, 960, 560, {{"p", 120}, {"r", 24}}},
      {"unstack", "", ahead, 0, unstacked, {{2, 3, 4}, {2, 3, 4}}, 0, 0, 192, 192, {}},
      {"stack", "", back, 0, unstacked, {{2, 3, 2, 4}}, 0, 0, 96, 192, {}},
      {"predict", "", ahead, 0, predicted, {{2, 3, 4}, {2, 3, 4}}, 192, 48, 288, 192, {{"n", 24}, {"k", 2}}},
      {"predict_backward", "", back, 0, predicted, {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, 384, 48, 384, 288, {{"n", 24}, {"k", 2}}},
      {"correct", "", ahead, 0, corrected, {{2, 3, 4}, {2, 3, 4}}, 0, 132, 336, 192, {{"n", 24}, {"r", 6}, {"k", 2}}},
      {"correct_backward", "", back, 0, corrected, {{2, 3, 4}, {2, 3, 4}, {2, 3, 2}}, 0, 216, 432, 240, {{"n", 24}, {"k", 2}}},
      {"magnitude", "", ahead, 0, as_large, {{2, 3, 4}}, 0, 138, 192, 96, {{"n", 24}, {"r", 6}}},
      {"magnitude_backward", "", back, 0, as_large, {{2, 3, 4}, {2, 3, 4}}, 0, 288, 288, 192, {{"n", 24}, {"r", 6}}},
      {"gate", "sigmoid", ahead, 0, [](B& b) { return gated_rows(b, A::sigmoid); }, {{2, 3, 4}}, 0, 48, 120, 96, {{"n", 24}, {"r", 6}}},
      {"gate", "softplus", ahead, 0, [](B& b) { return gated_rows(b, A::softplus); }, {{2, 3, 4}}, 0, 42, 120, 96, {{"n", 24}, {"r", 6}}},
      {"gate_backward", "sigmoid", back, 0, [](B& b) { return gated_rows(b, A::sigmoid); }, {{2, 3, 4}, {2, 3}}, 0, 132, 216, 120, {{"n", 24}, {"r", 6}}},
      {"gate_backward", "softplus", back, 0, [](B& b) { return gated_rows(b, A::softplus); }, {{2, 3, 4}, {2, 3}}, 0, 114, 216, 120, {{"n", 24}, {"r", 6}}},
      {"activate", "identity, gated", ahead, 0, [](B& b) { return gated(b, A::identity); }, {{2, 3, 4}}, 0, 24, 192, 96, {{"n", 24}}},
      {"activate_backward", "identity, gated", back, 0, [](B& b) { return gated(b, A::identity); }, {{2, 3, 4}, {2, 3, 4}}, 0, 48, 288, 192, {{"n", 24}}},
      {"activate", "gelu, gated", ahead, 0, [](B& b) { return gated(b, A::gelu); }, {{2, 3, 4}}, 0, 144, 192, 96, {{"n", 24}}},
      {"activate", "gelu_tanh, gated", ahead, 0, [](B& b) { return gated(b, A::gelu_tanh); }, {{2, 3, 4}}, 0, 240, 192, 96, {{"n", 24}}},
      {"activate", "silu, gated", ahead, 0, [](B& b) { return gated(b, A::silu); }, {{2, 3, 4}}, 0, 120, 192, 96, {{"n", 24}}},
      {"activate", "clamped, gated", ahead, 0, [](B& b) { return gated(b, A::silu, 7.0); }, {{2, 3, 4}}, 0, 264, 192, 96, {{"n", 24}}},
      {"activate_backward", "gelu", back, 0, [](B& b) { return plain(b, A::gelu); }, {{2, 3, 4}}, 0, 264, 192, 96, {{"n", 24}}},
      {"activate_backward", "gelu_tanh", back, 0, [](B& b) { return plain(b, A::gelu_tanh); }, {{2, 3, 4}}, 0, 432, 192, 96, {{"n", 24}}},
      {"activate_backward", "relu", back, 0, [](B& b) { return plain(b, A::relu); }, {{2, 3, 4}}, 0, 24, 192, 96, {{"n", 24}}},
      {"activate_backward", "relu_squared", back, 0, [](B& b) { return plain(b, A::relu_squared); }, {{2, 3, 4}}, 0, 72, 192, 96, {{"n", 24}}},
      {"activate_backward", "silu", back, 0, [](B& b) { return plain(b, A::silu); }, {{2, 3, 4}}, 0, 216, 192, 96, {{"n", 24}}},
      {"activate_backward", "gelu, gated", back, 0, [](B& b) { return gated(b, A::gelu); }, {{2, 3, 4}, {2, 3, 4}}, 0, 432, 288, 192, {{"n", 24}}},
      {"activate_backward", "gelu_tanh, gated", back, 0, [](B& b) { return gated(b, A::gelu_tanh); }, {{2, 3, 4}, {2, 3, 4}}, 0, 696, 288, 192, {{"n", 24}}},
      {"activate_backward", "silu, gated", back, 0, [](B& b) { return gated(b, A::silu); }, {{2, 3, 4}, {2, 3, 4}}, 0, 360, 288, 192, {{"n", 24}}},
      {"activate_backward", "clamped, gated", back, 0, [](B& b) { return gated(b, A::silu, 7.0); }, {{2, 3, 4}, {2, 3, 4}}, 0, 456, 288, 192, {{"n", 24}}},

      {"squared_norm", "", ahead, 0, [](B& b) { return squared_norm(b, no_tensor, weight(b, {3, 4})); }, {{}}, 0, 24, 48, 4, {{"n", 12}}},
      // The whole is 2 × 4 × 4 = 32 elements, 128 bytes; a rank's part is 8 of them, 32 bytes, and 96 are the others'.
      {"all_reduce", "", ahead, 0, [](B& b) { return exchanged(b, all_reduce_operation, {2, 4, 4}, {2, 4, 4}); }, {{2, 4, 4}}, 0, 24, 0, 0, {{"R", 4}, {"s", 8}}, {}, -1, 192},
      {"all_gather", "", ahead, 0, [](B& b) { return exchanged(b, all_gather_operation, {2, 1, 4}, {2, 4, 4}); }, {{2, 4, 4}}, 0, 0, 0, 0, {}, {}, -1, 96},
      {"reduce_scatter", "", ahead, 0, [](B& b) { return exchanged(b, reduce_scatter_operation, {2, 4, 4}, {2, 1, 4}); }, {{2, 1, 4}}, 0, 24, 0, 0, {{"R", 4}, {"s", 8}}, {}, -1, 96},
      {"all_to_all", "", ahead, 0, [](B& b) { return exchanged(b, all_to_all_operation, {2, 4, 4}, {2, 4, 4}); }, {{2, 4, 4}}, 0, 0, 0, 0, {}, {}, -1, 96},
      {"send", "", ahead, 0, [](B& b) { return send(b, weight(b, {2, 4, 4}), 4); }, {{}}, 0, 0, 0, 0, {}, {}, -1, 128},
      {"receive", "", ahead, 0, [](B& b) { return receive(b, no_tensor, {2, 4, 4}, 4); }, {{2, 4, 4}}, 0, 0, 0, 0, {}},
      {"copy_to_group", "", ahead, 0, [](B& b) { return exchanged(b, copy_to_group_operation, {2, 4}, {2, 4}); }, {{2, 4}}, 0, 0, 0, 0, {}},
      {"own_part", "", ahead, 0, [](B& b) { return exchanged(b, own_part_operation, {2, 4}, {2, 1}); }, {{2, 1}}, 0, 0, 0, 0, {}},
      {"keep_alike", "", ahead, 0, [](B& b) { return marked(b); }, {}, 0, 0, 0, 0, {}},
      // Of 192 bytes, a rank keeps 48 and sends 144; it sums 12 elements of 4 ranks.
      {"all_reduce_start", "", ahead, 0, [](B& b) { return summed_over_ranks(b, all_reduce_start_operation); }, {}, 0, 0, 0, 0, {}, {}, -1, 144},
      {"all_reduce_wait", "", ahead, 0, [](B& b) { return summed_over_ranks(b, all_reduce_wait_operation); }, {{5, 4}, {3}}, 0, 36, 0, 0, {{"R", 4}, {"s", 12}}, {}, -1, 144},
      {"adamw", "with decay", ahead, 0, [](B& b) { return stepped(b, {3, 4}, true); }, {{3, 4}, {3, 4}, {3, 4}}, 0, 192, 196, 144, {{"n", 12}}},
      // The 24 bytes of the narrow weight are written alone, the 48 of its master read and written.
      {"adamw", "with decay", ahead, 0, [](B& b) { return stepped(b, {3, 4}, true); }, {{3, 4}, {3, 4}, {3, 4}, {3, 4}}, 0, 192, 196, 168, {{"n", 12}}, mixed_precision()},
      {"adamw", "without decay", ahead, 0, [](B& b) { return stepped(b, {5}, false); }, {{5}, {5}, {5}}, 0, 75, 84, 60, {{"n", 5}}},
      {"sgd", "with decay", ahead, 0, [](B& b) { return stepped_by<sgd>(b, {3, 4}, true); }, {{3, 4}, {3, 4}}, 0, 84, 148, 96, {{"n", 12}}},
      {"sgd", "with decay", ahead, 0, [](B& b) { return stepped_by<sgd>(b, {3, 4}, true); }, {{3, 4}, {3, 4}, {3, 4}}, 0, 84, 148, 120, {{"n", 12}}, mixed_precision()},
      {"sgd", "without decay", ahead, 0, [](B& b) { return stepped_by<sgd>(b, {5}, false); }, {{5}, {5}}, 0, 25, 64, 40, {{"n", 5}}},
      // Read: weight, gradient, row, column and norm, 48 + 48 + 12 + 16 + 4; the gradient and the update again.
      {"adafactor", "of a matrix", ahead, 0, [](B& b) { return stepped_by<adafactor>(b, {3, 4}, true); }, {{3, 4}, {3}, {4}, {3, 4}}, 0, 197, 224, 124, {{"n", 12}, {"r", 3}, {"c", 4}}},
      {"adafactor", "of a matrix", ahead, 0, [](B& b) { return stepped_by<adafactor>(b, {3, 4}, true); }, {{3, 4}, {3}, {4}, {3, 4}, {3, 4}}, 0, 197, 224, 148, {{"n", 12}, {"r", 3}, {"c", 4}}, mixed_precision()},
      {"adafactor", "of a matrix", ahead, 0, [](B& b) { return stepped_by<adafactor>(b, {2, 3, 4}, true); }, {{2, 3, 4}, {2, 3}, {2, 4}, {2, 3, 4}}, 0, 394, 444, 248, {{"n", 24}, {"r", 6}, {"c", 8}}},
      {"adafactor", "of a vector", ahead, 0, [](B& b) { return stepped_by<adafactor>(b, {5}, false); }, {{5}, {5}, {5}}, 0, 65, 104, 60, {{"n", 5}}},
      // Momentum, X in bfloat16 and the weight, or its master alone, are written.
      {"muon", "", ahead, 0, [](B& b) { return stepped_by<muon>(b, {3, 4}, 5); }, {{3, 4}, {3, 4}, {3, 4}}, 0, 132, 148, 120, {{"n", 12}}},
      {"muon", "", ahead, 0, [](B& b) { return stepped_by<muon>(b, {3, 4}, 5); }, {{3, 4}, {3, 4}, {3, 4}}, 0, 132, 148, 120, {{"n", 12}}, mixed_precision()},
      // X of 3 × 4 takes 24 bytes, its squares 18. Five times, 2·24 + 2·18 are read and 24 + 2·18 written.
      {"newton_schulz", "", ahead, 0, [](B& b) { return stepped_by<muon>(b, {3, 4}, 5); }, {{3, 4}, {3, 3}, {3, 3}}, 990, 255, 420, 300, {{"s", 5}, {"e", 1}, {"n", 3}, {"m", 4}}},
      // Two experts' matrices, taller than wide.
      {"newton_schulz", "", ahead, 0, [](B& b) { return stepped_by<muon>(b, {2, 4, 3}, 5); }, {{2, 3, 4}, {2, 3, 3}, {2, 3, 3}}, 1980, 510, 840, 600, {{"s", 5}, {"e", 2}, {"n", 3}, {"m", 4}}},
      {"muon_step", "", ahead, 0, [](B& b) { return stepped_by<muon>(b, {3, 4}, 5); }, {{3, 4}}, 0, 24, 72, 48, {{"n", 12}}},
      {"muon_step", "", ahead, 0, [](B& b) { return stepped_by<muon>(b, {3, 4}, 5); }, {{3, 4}, {3, 4}}, 0, 24, 72, 72, {{"n", 12}}, mixed_precision()},
      // 6,400 elements: 25 blocks of 260 bytes for each moment; 5,000: 20, the last of them not full.
      {"adam8bit", "with decay", ahead, 0, [](B& b) { return stepped_by<adam8bit>(b, {64, 100}, true); }, {{64, 100}, {64, 100}, {64, 100}}, 0, 140800, 64204, 38600, {{"n", 6400}}},
      {"adam8bit", "without decay", ahead, 0, [](B& b) { return stepped_by<adam8bit>(b, {5000}, false); }, {{5000}, {5000}, {5000}}, 0, 105000, 50404, 30400, {{"n", 5000}}},

      {"add", "", ahead, 0, [](B& b) { return add(b, weight(b, {2, 3, 4}), weight(b, {2, 3, 4}), "y"); }, {{2, 3, 4}}, 0, 24, 192, 96, {{"n", 24}}},
      {"add", "", ahead, 0, [](B& b) { return add(b, weight(b, {2, 3, 4}), weight(b, {3, 4}), "y"); }, {{2, 3, 4}}, 0, 24, 144, 96, {{"n", 24}}},
      {"append", "", ahead, 0, [](B& b) { return appended(b, DType::float32); }, {{2, 5, 3, 4}}, 0, 0, 96, 96, {}},
      {"append", "", ahead, 0, [](B& b) { return appended(b, DType::bfloat16); }, {{2, 5, 3, 4}}, 0, 0, 96, 48, {}},

      // Pairs: 2 sequences · 4 heads · 3 queries · 5 keys = 120; causal 2·4·(3 + 4 + 5) = 96; in a window of 4, 2·4·(3 + 4 + 4) = 88.
      {"scores", "unscaled", ahead, 0, [](B& b) { return scores_with(b, 1.0, 0.0); }, {{2, 4, 3, 5}}, 1920, 0, 1408, 480, {{"p", 120}, {"m", 8}}},
      {"scores", "scaled", ahead, 0, [](B& b) { return scores_with(b, 0.5, 0.0); }, {{2, 4, 3, 5}}, 1920, 120, 1408, 480, {{"p", 120}, {"m", 8}}},
      {"scores", "scaled", ahead, 0, [](B& b) { return scores_with(b, 0.5, 0.0); }, {{2, 4, 3, 5}}, 1536, 96, 1408, 480, {{"p", 96}, {"m", 8}}, exact()},
      {"scores", "scaled", ahead, 0, [](B& b) { return scores_with(b, 0.5, 0.0, 4); }, {{2, 4, 3, 5}}, 1408, 88, 1408, 480, {{"p", 88}, {"m", 8}}, exact()},
      {"scores", "scaled and capped", ahead, 0, [](B& b) { return scores_with(b, 0.5, 50.0); }, {{2, 4, 3, 5}}, 1920, 480, 1408, 480, {{"p", 120}, {"m", 8}}},
      {"scores_backward", "scaled", back, 0, [](B& b) { return scores_with(b, 0.5, 0.0); }, {{2, 4, 3, 5}}, 0, 120, 480, 480, {{"p", 120}}},
      {"scores_backward", "scaled and capped", back, 0, [](B& b) { return scores_with(b, 0.5, 50.0); }, {{2, 4, 3, 5}}, 0, 600, 960, 480, {{"p", 120}}},
      {"mix", "", ahead, 0, mixed, {{2, 3, 4, 8}}, 1920, 0, 1120, 768, {{"p", 120}, {"m", 8}}},
      {"mix", "", ahead, 0, mixed, {{2, 3, 4, 8}}, 1536, 0, 1120, 768, {{"p", 96}, {"m", 8}}, exact()},
      // The gradient of scores: dq is a mix of the keys, dk spreads over them; of mixing: the weights' is scores of the values.
      {"mix", "", back, 0, [](B& b) { return scores_with(b, 1.0, 0.0); }, {{2, 3, 4, 8}}, 1920, 0, 1120, 768, {{"p", 120}, {"m", 8}}},
      {"spread", "", back, 0, [](B& b) { return scores_with(b, 1.0, 0.0); }, {{2, 5, 2, 8}}, 1920, 0, 1248, 640, {{"p", 120}, {"m", 8}}},
      {"scores", "unscaled", back, 0, mixed, {{2, 4, 3, 5}}, 1920, 0, 1408, 480, {{"p", 120}, {"m", 8}}},
      {"spread", "", back, 0, mixed, {{2, 5, 2, 8}}, 1920, 0, 1248, 640, {{"p", 120}, {"m", 8}}},
      {"softmax", "plain", ahead, 0, [](B& b) { return softmax_with(b, false, false); }, {{2, 4, 3, 5}}, 0, 552, 480, 480, {{"p", 120}, {"r", 24}}},
      {"softmax", "plain", ahead, 0, [](B& b) { return softmax_with(b, false, false); }, {{2, 4, 3, 5}}, 0, 432, 480, 480, {{"p", 96}, {"r", 24}}, exact()},
      {"softmax", "with ALiBi", ahead, 0, [](B& b) { return softmax_with(b, true, false); }, {{2, 4, 3, 5}}, 0, 792, 480, 480, {{"p", 120}, {"r", 24}}},
      {"softmax", "with sinks", ahead, 0, [](B& b) { return softmax_with(b, false, true); }, {{2, 4, 3, 5}}, 0, 648, 496, 480, {{"p", 120}, {"r", 24}}},
      {"softmax", "with numbers by distance", ahead, 0, [](B& b) { return softmax(b, weight(b, {2, 4, 3, 5}), no_tensor, {}, "p", weight(b, {2, 3, 4, 2})); }, {{2, 4, 3, 5}}, 0, 672, 672, 480, {{"p", 120}, {"r", 24}}},
      {"softmax_backward", "plain", back, 0, [](B& b) { return softmax_with(b, true, false); }, {{2, 4, 3, 5}}, 0, 456, 960, 480, {{"p", 120}, {"r", 24}}},
      {"softmax_backward", "with sinks", back, 0, [](B& b) { return softmax_with(b, false, true); }, {{2, 4, 3, 5}, {4}}, 0, 648, 960, 496, {{"p", 120}, {"r", 24}}},

      // The queries at 2, 3 and 4 may see 3, 4 and 5 keys: 2 sequences · 4 heads · 12 = 96 pairs. Of these, 3 keys each
      // are chosen, 72 pairs; or, of blocks of 2, two: 2 + 1, 2 + 2 and 2 + 1 keys, 80 pairs.
      {"choose_keys", "by weighted heads", ahead, 0, [](B& b) { return chosen_keys(b, true); }, {{2, 3, 1, 3}}, 1536, 288, 1184, 72, {{"p", 96}, {"m", 8}}, after_two()},
      {"choose_keys", "by blocks", ahead, 0, [](B& b) { return chosen_keys(b, false); }, {{2, 3, 4, 2}}, 1536, 96, 1088, 192, {{"p", 96}, {"m", 8}}, after_two()},
      {"attend_chosen", "scaled", ahead, 0, [](B& b) { return attended_to(b, false); }, {{2, 3, 4, 8}}, 2304, 552, 2120, 768, {{"p", 72}, {"m", 8}, {"v", 8}, {"n", 192}}, after_two(), 1608},
      {"attend_chosen", "scaled", ahead, 0, [](B& b) { return attended_to(b, true); }, {{2, 3, 4, 8}}, 2560, 592, 2240, 768, {{"p", 80}, {"m", 8}, {"v", 8}, {"n", 192}}, after_two(), 1984},
      {"attend_chosen_backward", "scaled", back, 0, [](B& b) { return attended_to(b, false); }, {{2, 3, 4, 8}, {2, 5, 2, 8}, {2, 5, 2, 8}}, 5760, 1008, 3656, 2048, {{"p", 72}, {"m", 8}, {"v", 8}, {"n", 192}, {"r", 24}}, after_two()},

      {"cross_entropy", "", ahead, 0, loss, {{}, {2, 3}}, 0, 180, 192, 28, {{"n", 42}, {"r", 6}}},
      {"cross_entropy_backward", "", back, 0, loss, {{2, 3, 7}}, 0, 132, 216, 168, {{"n", 42}, {"r", 6}}},
      {"embed", "", ahead, 0, embedded, {{2, 3, 4}}, 0, 0, 120, 96, {}},
      {"embed_backward", "", back, 0, embedded, {{7, 4}}, 0, 24, 120, 112, {{"n", 24}}},

      {"head_matmul", "", ahead, 0, [](B& b) { return head_matmul(b, weight(b, {2, 3, 4, 5}), weight(b, {28, 6}), 0, 5, true, "y"); },
       {{2, 3, 4, 6}}, 1440, 0, 960, 576, {{"n", 120}, {"m", 6}}},
      {"head_matmul", "", ahead, 0, [](B& b) { return head_matmul(b, weight(b, {2, 3, 4, 6}), weight(b, {28, 6}), 5, 2, false, "y"); },
       {{2, 3, 4, 2}}, 576, 0, 768, 192, {{"n", 144}, {"m", 2}}},
      {"last", "", ahead, 0, [](B& b) { return last(b, weight(b, {2, 3, 4}), "y"); }, {{2, 1, 4}}, 0, 0, 32, 32, {}},
      {"matmul", "without bias", ahead, 0, [](B& b) { return multiplied(b, false); }, {{2, 3, 5}}, 240, 0, 176, 120, {{"n", 24}, {"m", 5}, {"r", 6}}},
      {"matmul", "with bias", ahead, 0, [](B& b) { return multiplied(b, true); }, {{2, 3, 5}}, 240, 30, 196, 120, {{"n", 24}, {"m", 5}, {"r", 6}}},
      {"matmul", "without bias", back, 0, [](B& b) { return multiplied(b, true); }, {{2, 3, 4}}, 240, 0, 200, 96, {{"n", 30}, {"m", 4}, {"r", 6}}},
      {"matmul", "without bias", back, 1, [](B& b) { return multiplied(b, true); }, {{5, 4}}, 240, 0, 216, 80, {{"n", 30}, {"m", 4}, {"r", 6}}},
      {"sum_rows", "", back, 0, [](B& b) { return multiplied(b, true); }, {{5}}, 0, 25, 120, 20, {{"n", 30}, {"m", 5}}},
      {"sum_rows", "", back, 0, [](B& b) { return add(b, weight(b, {2, 3, 4}), weight(b, {3, 4}), "y"); }, {{3, 4}}, 0, 12, 96, 48, {{"n", 24}, {"m", 12}}},

      // Per token 5·8 − 2 for the softmax, 2·7 comparisons, 2·2 − 1 to normalise.
      {"route", "softmax", ahead, 0, [](B& b) { return routed(b, S::softmax, false); }, {{2, 3, 2}, {2, 3, 2}}, 0, 312, 192, 96, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route", "softmax, normalised", ahead, 0, [](B& b) { return routed(b, S::softmax, true); }, {{2, 3, 2}, {2, 3, 2}}, 0, 330, 192, 96, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route", "softmax of the chosen", ahead, 0, [](B& b) { return routed(b, S::softmax_of_chosen, false); }, {{2, 3, 2}, {2, 3, 2}}, 0, 132, 192, 96, {{"r", 6}, {"E", 8}, {"k", 2}}},
      // 4·8 sigmoids, 8 corrections, groups 4·2·(2 − 1) + 4 + 2·3, choice 2·7, normalising 3, scaling 2: 77 a token.
      {"route", "sigmoid in groups", ahead, 0, routed_in_groups, {{2, 3, 2}, {2, 3, 2}}, 0, 462, 224, 96, {{"r", 6}, {"E", 8}, {"k", 2}, {"g", 4}, {"a", 2}, {"t", 2}}},
      {"route_backward", "softmax", back, 0, [](B& b) { return routed(b, S::softmax, false); }, {{2, 3, 8}}, 0, 192, 288, 192, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route_backward", "softmax, normalised", back, 0, [](B& b) { return routed(b, S::softmax, true); }, {{2, 3, 8}}, 0, 240, 288, 192, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route_backward", "softmax of the chosen", back, 0, [](B& b) { return routed(b, S::softmax_of_chosen, false); }, {{2, 3, 8}}, 0, 48, 288, 192, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route_backward", "sigmoid in groups", back, 0, routed_in_groups, {{2, 3, 8}}, 0, 96, 288, 192, {{"r", 6}, {"E", 8}, {"k", 2}}},
      // For each of the 2 chosen 10·8 − 2, and 2·7 comparisons: 170 a token.
      {"route", "√softplus", ahead, 0, [](B& b) { return routed(b, S::root_softplus, false); }, {{2, 3, 2}, {2, 3, 2}}, 0, 324, 192, 96, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route", "from a table", ahead, 0, routed_by_table, {{2, 3, 2}, {2, 3, 2}}, 0, 240, 264, 96, {{"r", 6}, {"E", 8}}},
      {"route", "sparsemixer", ahead, 0, [](B& b) { return routed(b, S::sparsemixer, false); }, {{2, 3, 2}, {2, 3, 2}}, 0, 1020, 192, 96, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"route_backward", "sparsemixer", back, 0, [](B& b) { return routed(b, S::sparsemixer, false); }, {{2, 3, 8}}, 0, 384, 288, 192, {{"r", 6}, {"E", 8}, {"k", 2}}},
      {"multiply", "", ahead, 0, [](B& b) { return multiply(b, weight(b, {2, 3, 4}), weight(b, {1}), "y"); }, {{2, 3, 4}}, 0, 24, 100, 96, {{"n", 24}}},
      {"take", "", ahead, 0, [](B& b) { return take(b, weight(b, {2, 3, 4}), 3, "y"); }, {{2, 3, 3}}, 0, 0, 72, 72, {}},
      {"pass_identity", "", ahead, 0, passed, {{2, 3, 2, 4}}, 0, 0, 420, 192, {}},
      {"pass_identity_backward", "", back, 0, passed, {{2, 3, 2, 4}, {2, 3, 2, 4}}, 0, 0, 228, 384, {}},
      {"weigh", "", ahead, 0, weighed, {{2, 3, 2, 4}}, 0, 48, 288, 192, {{"n", 24}, {"k", 2}}},
      {"weigh_backward", "", back, 0, weighed, {{2, 3, 2, 4}, {2, 3, 2}}, 0, 132, 480, 240, {{"n", 24}, {"k", 2}, {"r", 6}}},
      {"combine", "without weights", ahead, 0, collected, {{2, 3, 4}}, 0, 24, 240, 96, {{"n", 24}, {"k", 2}}},
      {"combine_backward", "without weights", back, 0, collected, {{2, 3, 2, 4}}, 0, 0, 144, 192, {}},
      {"dispatch", "", ahead, 0, dispatched, {{2, 3, 2, 4}, {2, 3, 2}, {9}}, 0, 0, 144, 276, {}},
      {"dispatch_backward", "", back, 0, dispatched, {{2, 3, 4}}, 0, 24, 240, 96, {{"n", 24}, {"k", 2}}},
      // Of 8 experts, 12 rows can choose all; if all tokens agree, 2 are read. An expert has (20 + 5)·4 bytes.
      {"grouped_matmul", "with bias", ahead, 0, [](B& b) { return experts_multiplied(b, true); }, {{2, 3, 2, 5}}, 480, 60, 1028, 240, {{"n", 48}, {"m", 5}, {"r", 12}}, {}, 428},
      {"grouped_matmul", "without bias", ahead, 0, [](B& b) { return experts_multiplied(b, false); }, {{2, 3, 2, 5}}, 480, 0, 868, 240, {{"n", 48}, {"m", 5}, {"r", 12}}, {}, 388},
      {"grouped_matmul", "without bias", ahead, 0,
       [](B& b) { return grouped_linear(b, weight(b, {1, 1, 2, 4}), weight(b, {8, 5, 4}), no_tensor, whole_numbers(b, {9}), "y"); },
       {{1, 1, 2, 5}}, 80, 0, 228, 40, {{"n", 8}, {"m", 5}, {"r", 2}}, {}, 228},
      {"grouped_weight_gradient", "", back, 0, [](B& b) { return experts_multiplied(b, true); }, {{8, 5, 4}}, 480, 0, 468, 640, {{"n", 60}, {"m", 4}}},
      {"grouped_bias_gradient", "", back, 0, [](B& b) { return experts_multiplied(b, true); }, {{8, 5}}, 0, 60, 276, 160, {{"n", 60}}},
      {"combine", "", ahead, 0, combined, {{2, 3, 4}}, 0, 72, 288, 96, {{"n", 24}, {"k", 2}}},
      {"combine_backward", "", back, 0, combined, {{2, 3, 2, 4}, {2, 3, 2}}, 0, 132, 384, 240, {{"n", 24}, {"k", 2}, {"r", 6}}},

      {"layer_norm", "plain", ahead, 0, [](B& b) { return normed(b, layer, false, false); }, {{2, 3, 4}}, 0, 132, 96, 96, {{"n", 24}, {"r", 6}}},
      {"layer_norm", "with weight", ahead, 0, [](B& b) { return normed(b, layer, true, false); }, {{2, 3, 4}}, 0, 156, 112, 96, {{"n", 24}, {"r", 6}}},
      {"layer_norm", "with weight and shift", ahead, 0, [](B& b) { return normed(b, layer, true, true); }, {{2, 3, 4}}, 0, 180, 128, 96, {{"n", 24}, {"r", 6}}},
      {"layer_norm", "with weight and shift", ahead, 0, [](B& b) { return normed(b, layer, true, true); }, {{2, 3, 4}, {2, 3, 2}}, 0, 180, 128, 144, {{"n", 24}, {"r", 6}}, training()},
      {"layer_norm_backward", "plain", back, 0, [](B& b) { return normed(b, layer, false, false); }, {{2, 3, 4}}, 0, 216, 240, 96, {{"n", 24}}, training()},
      {"layer_norm_backward", "with weight", back, 0, [](B& b) { return normed(b, layer, true, false); }, {{2, 3, 4}, {4}}, 0, 288, 256, 112, {{"n", 24}}, training()},
      {"layer_norm_backward", "with weight and shift", back, 0, [](B& b) { return normed(b, layer, true, true); }, {{2, 3, 4}, {4}, {4}}, 0, 312, 256, 128, {{"n", 24}}, training()},
      {"rms_norm", "plain", ahead, 0, [](B& b) { return normed(b, rms, false, false); }, {{2, 3, 4}}, 0, 84, 96, 96, {{"n", 24}, {"r", 6}}},
      {"rms_norm", "with weight", ahead, 0, [](B& b) { return normed(b, rms, true, false); }, {{2, 3, 4}}, 0, 108, 112, 96, {{"n", 24}, {"r", 6}}},
      {"rms_norm", "with 1 + weight", ahead, 0, [](B& b) { return normed(b, rms, true, false, true); }, {{2, 3, 4}}, 0, 112, 112, 96, {{"n", 24}, {"r", 6}, {"m", 4}}},
      {"rms_norm_backward", "plain", back, 0, [](B& b) { return normed(b, rms, false, false); }, {{2, 3, 4}}, 0, 144, 216, 96, {{"n", 24}}, training()},
      {"rms_norm_backward", "with weight", back, 0, [](B& b) { return normed(b, rms, true, false); }, {{2, 3, 4}, {4}}, 0, 216, 232, 112, {{"n", 24}}, training()},

      // 6 of a head's 8 elements turn: 2·3·4·6 = 144. Of the table, the rows of 3 tokens are read, however long it is.
      {"rope", "", ahead, 0, [](B& b) { return rotated(b, 3); }, {{2, 3, 4, 8}}, 0, 432, 840, 768, {{"n", 144}}},
      {"rope", "", ahead, 0, [](B& b) { return rotated(b, 1000); }, {{2, 3, 4, 8}}, 0, 432, 840, 768, {{"n", 144}}},
      {"rope", "", back, 0, [](B& b) { return rotated(b, 3); }, {{2, 3, 4, 8}}, 0, 432, 840, 768, {{"n", 144}}},
      {"position_scale", "", ahead, 0, [](B& b) { return scaled_by_position(b, 3); }, {{2, 3, 4, 8}}, 0, 192, 780, 768, {{"n", 192}}},
      {"position_scale", "", ahead, 0, [](B& b) { return scaled_by_position(b, 1000); }, {{2, 3, 4, 8}}, 0, 192, 780, 768, {{"n", 192}}},
      {"position_scale", "", back, 0, [](B& b) { return scaled_by_position(b, 3); }, {{2, 3, 4, 8}}, 0, 192, 780, 768, {{"n", 192}}},
      {"clip", "", ahead, 0, [](B& b) { return clip(b, weight(b, {2, 3, 4}), 3.0, "y"); }, {{2, 3, 4}}, 0, 48, 96, 96, {{"n", 24}}},
      {"clip", "from above", ahead, 0, [](B& b) { return clip(b, weight(b, {2, 3, 4}), 3.0, "y", true); }, {{2, 3, 4}}, 0, 24, 96, 96, {{"n", 24}}},
      {"clip_backward", "", back, 0, [](B& b) { return clip(b, weight(b, {2, 3, 4}), 3.0, "y"); }, {{2, 3, 4}}, 0, 48, 192, 96, {{"n", 24}}},
      {"scale", "", ahead, 0, [](B& b) { return scale(b, weight(b, {2, 3, 4}), 0.5, "y"); }, {{2, 3, 4}}, 0, 24, 96, 96, {{"n", 24}}},
      {"scale", "", back, 0, [](B& b) { return scale(b, weight(b, {2, 3, 4}), 0.5, "y"); }, {{2, 3, 4}}, 0, 24, 96, 96, {{"n", 24}}},
      {"softcap", "", ahead, 0, [](B& b) { return softcap(b, weight(b, {2, 3, 4}), 30.0, "y"); }, {{2, 3, 4}}, 0, 72, 96, 96, {{"n", 24}}},
      {"softcap_backward", "", back, 0, [](B& b) { return softcap(b, weight(b, {2, 3, 4}), 30.0, "y"); }, {{2, 3, 4}}, 0, 96, 192, 96, {{"n", 24}}},

      {"split", "", ahead, 0, [](B& b) { return split(b, weight(b, {2, 3, 6}), 2, 4, "a", "b").first; }, {{2, 3, 2}, {2, 3, 4}}, 0, 0, 0, 0, {}},
      {"join", "", ahead, 0, [](B& b) { return joined(b, 1); }, {{2, 3, 4, 5}}, 0, 0, 264, 480, {}},
      // Nothing depends on the split's second part: its place is filled without reading.
      {"join", "", back, 0, [](B& b) { return split(b, weight(b, {2, 3, 6}), 2, 4, "a", "b").first; }, {{2, 3, 6}}, 0, 0, 48, 144, {}},
      {"join_backward", "one part for all heads", back, 0, [](B& b) { return joined(b, 1); }, {{2, 3, 4, 2}, {2, 3, 1, 3}}, 0, 54, 480, 264, {{"n", 18}, {"H", 4}}},
      {"join_backward", "a part for each head", back, 0, [](B& b) { return joined(b, 4); }, {{2, 3, 4, 2}, {2, 3, 4, 3}}, 0, 0, 480, 480, {}},
      {"narrow", "", ahead, 0, [](B& b) { return converted(b, false); }, {{2, 3, 4}, {2, 3, 4}}, 0, 0, 96, 144, {}},
      {"widen", "", ahead, 0, [](B& b) { return converted(b, true); }, {{2, 3, 4}}, 0, 0, 48, 96, {}},
      {"quantise", "", ahead, 0, quantised, {{2, 3, 64}}, 0, 1536, 1536, 528, {{"n", 384}}},  // 12 blocks of 44 bytes
      {"dequantise", "", ahead, 0, dequantised, {{3, 64}}, 0, 192, 108, 768, {{"n", 192}}},  // 3 blocks of 36 bytes
      {"dropout", "", ahead, 0, [](B& b) { return dropout(b, weight(b, {2, 3, 4}), 0.1, 0, "y"); }, {{2, 3, 4}}, 0, 48, 96, 96, {{"n", 24}}},
      {"dropout", "", back, 0, [](B& b) { return dropout(b, weight(b, {2, 3, 4}), 0.1, 0, "y"); }, {{2, 3, 4}}, 0, 48, 96, 96, {{"n", 24}}},
      {"dropout", "with a mask that is kept", ahead, 0, [](B& b) { return dropped(b, false); }, {{2, 3, 4}, {2, 3, 4}}, 0, 48, 96, 120, {{"n", 24}}},
      {"dropout", "with a mask that is kept", ahead, 0, [](B& b) { return dropped(b, true); }, {{2, 3, 4}}, 0, 48, 120, 96, {{"n", 24}}},
      {"view", "", ahead, 0, [](B& b) { return view(b, weight(b, {2, 3, 4}), {6, 4}); }, {{6, 4}}, 0, 0, 0, 0, {}},

      {"block_matmul", "without bias", ahead, 0, [](B& b) { return in_blocks(b, false); }, {{2, 3, 4, 5}}, 1440, 0, 1056, 480, {{"n", 144}, {"m", 5}, {"r", 24}}},
      {"block_matmul", "with bias", ahead, 0, [](B& b) { return in_blocks(b, true); }, {{2, 3, 4, 5}}, 1440, 120, 1136, 480, {{"n", 144}, {"m", 5}, {"r", 24}}},
      {"block_matmul", "without bias", back, 0, [](B& b) { return in_blocks(b, true); }, {{2, 3, 4, 6}}, 1440, 0, 960, 576, {{"n", 120}, {"m", 6}, {"r", 24}}},
      {"block_weight_gradient", "", back, 0, [](B& b) { return in_blocks(b, true); }, {{4, 5, 6}}, 1440, 0, 1056, 480, {{"n", 120}, {"m", 6}}},
      // 24 elements, each with 3 weights; the state are two inputs of 4 channels, 2·2·4·4 = 64 bytes.
      {"open_streams", "", ahead, 0, [](B& b) { return open_streams(b, weight(b, {2, 3, 4}), 2, "y"); }, {{2, 3, 8}}, 0, 0, 96, 192, {}},
      // A row: 12·2 and (4·3 + 6)·4.
      {"hyper_weights", "of a sublayer", ahead, 0, [](B& b) { return weighed_streams(b, false); }, {{2, 3, 8}}, 0, 576, 236, 192, {{"r", 6}, {"k", 2}, {"i", 3}}},
      {"hyper_weights", "of the head", ahead, 0, [](B& b) { return weighed_streams(b, true); }, {{2, 3, 2}}, 0, 84, 60, 48, {{"r", 6}, {"k", 2}}},
      {"collapse", "", ahead, 0, [](B& b) { return collapse(b, weight(b, {2, 3, 8}), weight(b, {2, 3, 8}), 4, "y"); }, {{2, 3, 4}}, 0, 72, 384, 96, {{"n", 24}, {"k", 2}}},
      {"connect", "", ahead, 0, [](B& b) { return connect(b, weight(b, {2, 3, 8}), weight(b, {2, 3, 8}), weight(b, {2, 3, 4}), "y"); }, {{2, 3, 8}}, 192, 96, 480, 192, {{"n", 48}, {"k", 2}}},
      // Two entries of two sequences, of 3 tokens each; 2 elements of each are rotated.
      {"entries", "", ahead, 0, made_entries, {{2, 2, 1, 4}}, 0, 432, 544, 64, {{"t", 12}, {"e", 4}, {"m", 4}, {"d", 2}}},
      // One entry of two sequences, of 4 tokens; the state are 3 tokens' 8 numbers, 2·24·4 = 192 bytes.
      {"entries", "", ahead, 0, overlapping_entries, {{2, 2, 1, 2}}, 0, 148, 440, 208, {{"t", 8}, {"e", 2}, {"m", 2}, {"d", 2}}, after_two()},
      {"attend_entries", "", ahead, 0, [](B& b) { return attended_entries(b, false); }, {{2, 3, 4, 8}}, 1792, 568, 1040, 768, {{"p", 56}, {"m", 8}, {"n", 192}, {"r", 24}}},
      {"attend_entries", "", ahead, 0, [](B& b) { return attended_entries(b, true); }, {{2, 3, 4, 8}}, 1792, 568, 1064, 768, {{"p", 56}, {"m", 8}, {"n", 192}, {"r", 24}}, {}, 1064},
      // Without entries: 2·4·5 pairs; queries 768 bytes, keys 192, sinks 16.
      {"attend_entries", "", ahead, 0, [](B& b) { return attended_entries(b, false, false); }, {{2, 3, 4, 8}}, 1280, 488, 976, 768, {{"p", 40}, {"m", 8}, {"n", 192}, {"r", 24}}},
      // 24 elements, of each of which 3 tokens' 2 are read; weights and shifts are 24 and 2·4 numbers.
      {"head_convolution", "", ahead, 0, [](B& b) { return convolved_heads(b, false); }, {{2, 3, 2, 2}}, 288, 48, 224, 96, {{"n", 24}, {"m", 2}, {"w", 3}}},
      {"head_convolution", "", ahead, 0, [](B& b) { return convolved_heads(b, true); }, {{2, 3, 2, 2}}, 288, 48, 288, 160, {{"n", 24}, {"m", 2}, {"w", 3}}},
      // The state is a row of 4, 2·4·4 = 32 bytes, which is read and written.
      {"delay", "", ahead, 0, delayed, {{2, 3, 4}}, 0, 0, 128, 128, {}},
      // 2·3·4 queries and 2·3·2 keys of 5 elements.
      {"average_heads", "", ahead, 0, [](B& b) { return average_heads(b, weight(b, {2, 3, 4, 5}), weight(b, {2, 3, 2, 5})).first; }, {{2, 3, 4, 5}, {2, 3, 2, 5}}, 0, 360, 720, 720, {{"n", 120}}},
      {"scale_heads", "", ahead, 0, [](B& b) { return scale_heads(b, weight(b, {2, 3, 4, 5}), weight(b, {4}), "y"); }, {{2, 3, 4, 5}}, 0, 120, 496, 480, {{"n", 120}}},
      {"short_convolution", "without bias", ahead, 0, [](B& b) { return convolved(b, false, false); }, {{2, 3, 4}}, 144, 0, 144, 96, {{"n", 24}, {"m", 3}}},
      {"short_convolution", "with bias", ahead, 0, [](B& b) { return convolved(b, true, true); }, {{2, 3, 4}}, 144, 24, 224, 160, {{"n", 24}, {"m", 3}}},
      {"short_convolution_backward", "without bias", back, 0, [](B& b) { return convolved(b, false, false); }, {{2, 3, 4}, {4, 3}}, 288, 0, 240, 144, {{"n", 24}, {"m", 3}}},
      {"short_convolution_backward", "with bias", back, 0, [](B& b) { return convolved(b, true, false); }, {{2, 3, 4}, {4, 3}, {4}}, 288, 24, 240, 160, {{"n", 24}, {"m", 3}}},
      {"softplus", "plain", ahead, 0, [](B& b) { return softened(b, false, {}); }, {{2, 3, 4}}, 0, 72, 96, 96, {{"n", 24}}},
      {"softplus", "with bias", ahead, 0, [](B& b) { return softened(b, true, {}); }, {{2, 3, 4}}, 0, 96, 112, 96, {{"n", 24}}},
      {"softplus", "with bias and limits", ahead, 0, [](B& b) { return softened(b, true, {0.1, 2.0}); }, {{2, 3, 4}}, 0, 144, 112, 96, {{"n", 24}}},
      {"softplus_backward", "plain", back, 0, [](B& b) { return softened(b, false, {}); }, {{2, 3, 4}}, 0, 120, 192, 96, {{"n", 24}}},
      {"softplus_backward", "with bias", back, 0, [](B& b) { return softened(b, true, {}); }, {{2, 3, 4}, {4}}, 0, 168, 208, 112, {{"n", 24}}},
      {"softplus_backward", "with bias and limits", back, 0, [](B& b) { return softened(b, true, {0.1, 2.0}); }, {{2, 3, 4}, {4}}, 0, 216, 208, 112, {{"n", 24}}},
      // 2·3 tokens · 4 heads · 5 values = 120, with 6 states each 720. Bytes: x 480, steps 96, decays 16, keys and queries 288 each,
      // skips 16; a state of 120 elements for each of 2 sequences is 960.
      {"scan", "state space, a decay for each head", ahead, 0, [](B& b) { return scanned(b, ScanRule::state_space, false); }, {{2, 3, 4, 5}}, 2880, 1136, 1184, 480, {{"s", 720}, {"r", 6}, {"a", 4}, {"n", 120}}},
      {"scan", "state space, a decay for each head", ahead, 0, [](B& b) { return scanned(b, ScanRule::state_space, false, true); }, {{2, 3, 4, 5}}, 2880, 1136, 2144, 1440, {{"s", 720}, {"r", 6}, {"a", 4}, {"n", 120}}},
      {"scan", "state space, a decay for each state", ahead, 0, [](B& b) { return scanned(b, ScanRule::state_space, true); }, {{2, 3, 4, 5}}, 2880, 1416, 1264, 480, {{"s", 720}, {"r", 6}, {"a", 24}, {"n", 120}}},
      {"scan", "lightning", ahead, 0, [](B& b) { return scanned(b, ScanRule::lightning, false); }, {{2, 3, 4, 5}}, 2880, 728, 1072, 480, {{"s", 720}, {"a", 4}}},
      {"scan", "RG-LRU", ahead, 0, [](B& b) { return scanned(b, ScanRule::rg_lru, false); }, {{2, 3, 4, 1}}, 0, 208, 208, 96, {{"n", 24}, {"a", 4}}},
      {"scan_backward", "state space, a decay for each head", back, 0, [](B& b) { return scanned(b, ScanRule::state_space, false); }, {{2, 3, 4, 5}, {2, 3, 4}, {4}, {2, 3, 2, 6}, {2, 3, 2, 6}, {4}}, 7200, 4020, 1664, 1184, {{"s", 720}, {"r", 6}, {"a", 4}, {"n", 120}}},
      {"scan_backward", "state space, a decay for each state", back, 0, [](B& b) { return scanned(b, ScanRule::state_space, true); }, {{2, 3, 4, 5}, {2, 3, 4}, {4, 6}, {2, 3, 2, 6}, {2, 3, 2, 6}, {4}}, 7200, 4920, 1744, 1264, {{"s", 720}, {"r", 6}, {"a", 24}, {"n", 120}}},
      {"scan_backward", "lightning", back, 0, [](B& b) { return scanned(b, ScanRule::lightning, false); }, {{2, 3, 4, 5}, {2, 3, 2, 6}, {2, 3, 2, 6}}, 7200, 1448, 1552, 1056, {{"s", 720}, {"a", 4}}},
      {"scan_backward", "RG-LRU", back, 0, [](B& b) { return scanned(b, ScanRule::rg_lru, false); }, {{2, 3, 4, 1}, {2, 3, 4}, {4}}, 0, 516, 304, 208, {{"n", 24}, {"a", 4}}},
      {"delta_rule", "a step for each head", ahead, 0, [](B& b) { return moved(b, false); }, {{2, 3, 4, 5}}, 4320, 1016, 1264, 480, {{"s", 720}, {"d", 24}, {"n", 120}, {"a", 4}}},
      {"delta_rule", "a step for each head", ahead, 0, [](B& b) { return moved(b, false, true); }, {{2, 3, 4, 5}}, 4320, 1016, 2224, 1440, {{"s", 720}, {"d", 24}, {"n", 120}, {"a", 4}}},
      {"delta_rule", "a step for each element of a key", ahead, 0, [](B& b) { return moved(b, true); }, {{2, 3, 4, 5}}, 4320, 1256, 1744, 480, {{"s", 720}, {"d", 144}, {"n", 120}, {"a", 4}}},
      {"delta_rule_backward", "a step for each head", back, 0, [](B& b) { return moved(b, false); }, {{2, 3, 2, 6}, {2, 3, 2, 6}, {2, 3, 4, 5}, {2, 3, 4}, {4}, {2, 3, 4}}, 11520, 3756, 1744, 1264, {{"s", 720}, {"d", 24}, {"n", 120}, {"a", 4}}},
      {"delta_rule_backward", "a step for each element of a key", back, 0, [](B& b) { return moved(b, true); }, {{2, 3, 2, 6}, {2, 3, 2, 6}, {2, 3, 4, 5}, {2, 3, 4, 6}, {4}, {2, 3, 4}}, 11520, 4476, 2224, 1744, {{"s", 720}, {"d", 144}, {"n", 120}, {"a", 4}}},

      // One block of 3 queries sees all 5 keys: 2·4·3·5 = 120 pairs. Keys and values: 2·2·5·(8 + 8) elements.
      {"attend", "scaled", ahead, 0, [](B& b) { return attended(b, 0.0, false); }, {{2, 3, 4, 8}}, 3840, 672, 2048, 768, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}}, after_two()},
      {"attend", "scaled and capped", ahead, 0, [](B& b) { return attended(b, 50.0, false); }, {{2, 3, 4, 8}}, 3840, 864, 2048, 768, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}}, after_two()},
      {"attend", "scaled, with ALiBi", ahead, 0, [](B& b) { return attended(b, 0.0, true); }, {{2, 3, 4, 8}}, 3840, 864, 2048, 768, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}}, after_two()},
      {"attend", "scaled, with dropout", ahead, 0, [](B& b) { return attended(b, 0.0, false, 0.1f); }, {{2, 3, 4, 8}}, 3840, 864, 2048, 768, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}}, after_two()},
      {"project", "plain", ahead, 0, [](B& b) { return projected(b, false, false, false); }, {{2, 3, 5}}, 240, 0, 176, 120, {{"n", 24}, {"m", 5}, {"r", 6}}},
      {"project", "with bias and residual", ahead, 0, [](B& b) { return projected(b, true, false, true); }, {{2, 3, 5}}, 240, 60, 316, 120, {{"n", 24}, {"m", 5}, {"r", 6}}},
      {"project", "with bias and silu gate", ahead, 0, [](B& b) { return projected(b, true, true, false); }, {{2, 3, 5}}, 240, 180, 316, 120, {{"n", 24}, {"m", 5}, {"r", 6}}},
      {"weight_gradient", "plain", ahead, 0, [](B& b) { return weight_differentiated(b, false); }, {{5, 4}}, 240, 0, 216, 80, {{"n", 30}, {"m", 4}}},
      {"weight_gradient", "added to another", ahead, 0, [](B& b) { return weight_differentiated(b, true); }, {{5, 4}}, 240, 20, 296, 80, {{"n", 30}, {"m", 4}, {"w", 20}}},
      // The same 120 pairs; o has 192 elements.
      {"attend_backward", "scaled", ahead, 0, [](B& b) { return attended_back(b, 0.0, false); }, {{2, 3, 4, 8}, {2, 5, 2, 8}, {2, 5, 2, 8}}, 9600, 936, 3680, 2048, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}, {"r", 24}}, after_two()},
      {"attend_backward", "scaled and capped", ahead, 0, [](B& b) { return attended_back(b, 50.0, false); }, {{2, 3, 4, 8}, {2, 5, 2, 8}, {2, 5, 2, 8}}, 9600, 1512, 3680, 2048, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}, {"r", 24}}, after_two()},
      {"attend_backward", "scaled, with ALiBi", ahead, 0, [](B& b) { return attended_back(b, 0.0, true); }, {{2, 3, 4, 8}, {2, 5, 2, 8}, {2, 5, 2, 8}}, 9600, 1128, 3680, 2048, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}, {"r", 24}}, after_two()},
      {"attend_backward", "scaled, with dropout", ahead, 0, [](B& b) { return attended_back(b, 0.0, false, 0.1f); }, {{2, 3, 4, 8}, {2, 5, 2, 8}, {2, 5, 2, 8}}, 9600, 1224, 3680, 2048, {{"p", 120}, {"m", 8}, {"v", 8}, {"s", 96}, {"n", 192}, {"r", 24}}, after_two()},
      {"grouped_project", "with silu gate", ahead, 0, experts_projected, {{2, 3, 2, 5}}, 480, 300, 1108, 240, {{"n", 48}, {"m", 5}, {"r", 12}}, {}, 628},
      {"view", "", back, 0, [](B& b) { return view(b, weight(b, {2, 3, 4}), {6, 4}); }, {{2, 3, 4}}, 0, 0, 0, 0, {}},
  };
  return all;
}
// clang-format on

BuiltCase build(const OpCase& row) {
  Program program;
  program.workload = row.workload;
  Builder b(std::move(program));
  const TensorId output = row.build(b);
  b.program().output = output;
  program = b.finish();
  if (row.stage == Stage::backward) program = gradient(std::move(program)).program;
  int seen = 0;
  for (const Op& op : program.ops) {
    if (op.operation->name == row.operation && op.stage == row.stage && seen++ == row.nth) return {program, op};
  }
  throw std::logic_error("the program of this row holds no " + row.operation);
}

}  // namespace reckon
