// Two sweeps over the parameters: the sum of squared gradients, for clipping, and the updates. Parameters of a
// repeated block are swept in a repeat of their own, so that each stays one op that stands for all layers.
#include "passes/optimizer.h"

#include "ops/adamw.h"
#include "ops/optimizers.h"
#include "ops/view.h"

#include <map>

namespace reckon {
namespace {

// The parameters by the repeat whose body they belong to (-1: none).
using Parameters = std::map<std::int32_t, std::vector<TensorId>>;

// Calls visit(parameter) for each, inside a repeat where it belongs to one; `sum` is carried through.
template <class Visit>
void sweep(Builder& b, const Parameters& parameters, const std::vector<Repeat>& repeats, TensorId& sum, Visit visit) {
  for (const auto& [repeat, ids] : parameters) {
    const TensorId entering = sum;
    if (repeat >= 0) {
      const Repeat& body = repeats[static_cast<std::size_t>(repeat)];
      b.begin_repeat(body.count, body.layers, repeat);
    }
    for (TensorId id : ids) {
      b.set_scope(b[id].scope);
      visit(id);
    }
    if (repeat < 0) continue;
    std::vector<std::pair<TensorId, TensorId>> carried;
    if (sum != entering) carried.push_back({entering, sum});
    b.end_repeat(std::move(carried));
  }
}

// Muon is for the matrices inside of layers; the rest, embeddings and the head among it, has AdamW.
bool is_hidden_matrix(const Tensor& parameter) {
  return parameter.scope.layer >= 0 && parameter.shape.rank() > 1 && !is_norm(parameter.scope.role);
}

void update(Builder& b, TensorId parameter, TensorId gradient, TensorId norm) {
  const bool decay = b.shape(parameter).rank() > 1;  // of matrices, not of biases and norms
  switch (b.program().workload.optimizer) {
    case Optimizer::adamw:
      return adamw(b, parameter, gradient, norm, decay);
    case Optimizer::sgd:
      return sgd(b, parameter, gradient, norm, decay);
    case Optimizer::adafactor:
      return adafactor(b, parameter, gradient, norm, decay);
    case Optimizer::muon:
      return is_hidden_matrix(b[parameter]) ? muon(b, parameter, gradient, norm, usual_muon_steps)
                                            : adamw(b, parameter, gradient, norm, decay);
    case Optimizer::adam8bit:
      return b.shape(parameter).product().value() < least_8bit_elements ? adamw(b, parameter, gradient, norm, decay)
                                                                        : adam8bit(b, parameter, gradient, norm, decay);
  }
}

}  // namespace

Program optimizer_step(Differentiated differentiated) {
  Parameters parameters;
  const Program& program = differentiated.program;
  for (std::size_t id = 0; id < differentiated.gradients.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind == TensorKind::parameter && differentiated.gradients[id] != no_tensor) {
      parameters[tensor.repeat].push_back(static_cast<TensorId>(id));
    }
  }
  const std::vector<Repeat> repeats = program.repeats;
  const auto gradient_of = [&](TensorId id) { return differentiated.gradients[static_cast<std::size_t>(id)]; };

  Builder b(std::move(differentiated.program));
  b.set_stage(Stage::optimizer);
  TensorId norm = no_tensor;
  if (!parameters.empty() && parameters.begin()->first >= 0) {
    // All of them are in bodies, which hand the sum on: the first iteration of the first adds to this one.
    b.set_scope({{Block::optimizer}});
    norm = b.tensor(TensorKind::constant, "zero", {}, DType::float32);
  }
  sweep(b, parameters, repeats, norm, [&](TensorId id) { norm = squared_norm(b, norm, gradient_of(id)); });
  // Seen from outside the repeats, so that every layer reads the whole sum and not what its own iteration held.
  b.set_scope({{Block::optimizer}});
  norm = view(b, norm, {});
  sweep(b, parameters, repeats, norm, [&](TensorId id) { update(b, id, gradient_of(id), norm); });
  return b.finish();
}

}  // namespace reckon
