// Choosing experts: scores, the best k, their weights.
#include "ops/mixture.h"
#include "ops/rules.h"

namespace reckon {
namespace {

using Scores = Mixture::Scores;

// Per token, with E experts of which k are chosen:
//   scores       softmax over all 5E − 2, over the chosen 5k − 2; sigmoid 4E; √softplus 5E; sparsemixer, for each of
//   the chosen,
//                how far each is from the best (absolute value, maximum, difference, quotient, comparison) 5E and a
//                softmax 5E − 2
//   correction   + E
//   groups       each group's best `group_top` by comparison, their sums, the best groups by comparison
//   choice       k passes of E − 1 comparisons, or a row of a table
//   weights      normalised: k − 1 additions, k divisions; scaled: k
Cost cost(const Program& program, const Op& op) {
  Formula operations;
  const auto& a = op.attributes<RouteAttributes>();
  const Shape& logits = program[op.inputs[0]].shape;
  const Dim experts = logits[-1], active = program[op.outputs[0]].shape[-1];
  const Shape tokens = logits.leading();
  const auto per_token = [&](std::int64_t coefficient, Dim first = {}, Dim second = {}) {
    operations += tokens.product(coefficient).times(first).times(second);
  };
  switch (a.scores) {
    case Scores::softmax:
      per_token(5, experts);
      per_token(-2);
      break;
    case Scores::softmax_of_chosen:
      per_token(5, active);
      per_token(-2);
      break;
    case Scores::sigmoid:
      per_token(4, experts);
      break;
    case Scores::root_softplus:
      per_token(5, experts);
      break;
    case Scores::sparsemixer:
      per_token(10, active, experts);
      per_token(-2, active);
      break;
  }
  if (op.inputs[1] != no_tensor) {
    per_token(1, experts);
    if (a.always > 0) per_token(-a.always);
  }
  if (a.groups > 1) {
    per_token(a.group_top, experts);  // top passes over each group: top·(E/groups − 1) comparisons a group
    per_token(-a.group_top * a.groups + (a.group_top - 1) * a.groups);
    per_token(a.active_groups * (a.groups - 1));
  }
  if (op.inputs.size() == 2) {
    per_token(1, active, experts);
    per_token(-1, active);
  }
  if (a.normalize) {
    per_token(2, active);
    per_token(-1);
  }
  if (a.scale != 1.0) per_token(1, active);
  Cost cost = streaming_cost(program, op, std::move(operations));
  if (op.inputs.size() > 2) {  // of the table, a row for each token
    cost.read -= bytes(program[op.inputs[2]]);
    cost.read += Count(4) * program[op.outputs[0]].shape.elements();
  }
  return cost;
}

// Back through scale k, normalisation 4k, and the softmax (4 per score it spans; a sparsemixer's span all, for each of
// the chosen) or the sigmoid (3 per chosen one).
Cost backward_cost(const Program& program, const Op& op) {
  Formula operations;
  const auto& a = op.attributes<RouteAttributes>();
  const Shape& weights = program[op.inputs[0]].shape;
  const Dim experts = program[op.outputs[0]].shape[-1];
  std::int64_t per_active = 0;
  if (a.scale != 1.0) per_active += 1;
  if (a.normalize) per_active += 4;
  if (a.scores == Scores::softmax) operations += weights.leading().product(4).times(experts);
  if (a.scores == Scores::softmax_of_chosen) per_active += 4;
  if (a.scores == Scores::sigmoid) per_active += 3;
  if (a.scores == Scores::sparsemixer) operations += weights.product(4).times(experts);
  if (per_active > 0) operations += weights.product(per_active);
  return streaming_cost(program, op, std::move(operations));
}

void gradient(Gradient& g, const Op& op) {
  const TensorId logits = op.inputs[0], choice = op.outputs[0], d_weights = g.of(op.outputs[1]);
  g.contribute(logits, route_backward_operation, {d_weights, logits, choice}, op.attributes<RouteAttributes>());
}

}  // namespace

const OperationOf<RouteAttributes> route_operation{{"route", cost, gradient}};
const OperationOf<RouteAttributes> route_backward_operation{{"route_backward", backward_cost, nullptr}};

std::pair<TensorId, TensorId> route(Builder& builder, const Mixture& mixture, TensorId logits, TensorId correction,
                                    TensorId table, TensorId ids) {
  const Shape chosen = builder.shape(logits).leading().push({mixture.n_active, Symbol::active_experts});
  const TensorId choice = builder.tensor(TensorKind::activation, "choice", chosen, DType::int32);
  const TensorId weights = builder.activation("weights", chosen);
  TensorIds inputs{logits, correction};
  if (table != no_tensor) inputs.insert(inputs.end(), {table, ids});
  builder.emit(route_operation, std::move(inputs), {choice, weights},
               {.scores = mixture.scores,
                .normalize = mixture.normalize,
                .closed_as_zero = mixture.closed_as_zero,
                .scale = mixture.scale,
                .groups = mixture.n_groups,
                .active_groups = mixture.n_active_groups,
                .group_top = mixture.group_top,
                .jitter = mixture.scores == Scores::sparsemixer ? mixture.jitter : 0.0,
                .always = mixture.n_always});
  return {choice, weights};
}

}  // namespace reckon
