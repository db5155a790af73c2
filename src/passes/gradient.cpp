// Walks the ops backwards. A repeated body is differentiated once and stands for all its iterations again: what
// enters its backward body is the gradient of what left the forward body.
#include "passes/gradient.h"

#include <reckon/error.h>

#include "ops/collectives.h"
#include "ops/rules.h"
#include "program/trained.h"

#include <algorithm>

namespace reckon {
namespace {

// A gradient is asked for of every parameter that is trained, and of all that depends on one, here or on the rank that
// sent it.
std::vector<bool> wanted(const Program& program) {
  std::vector<bool> want(program.tensors.size());
  const auto index = [](TensorId id) { return static_cast<std::size_t>(id); };
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = is_trained(program.workload, program.tensors[i]);
  for (bool changed = true; changed;) {
    for (const Op& op : program.ops) {
      const bool depends = op.operation == &receive_operation ||
                           std::any_of(op.inputs.begin(), op.inputs.end(),
                                       [&](TensorId id) { return id != no_tensor && want[index(id)]; });
      if (!depends) continue;
      for (TensorId id : op.outputs) {
        if (id != no_tensor && program[id].dtype != DType::int32) want[index(id)] = true;
      }
    }
    // What leaves an iteration enters the next one, and a body is the same for all.
    changed = false;
    for (const Repeat& repeat : program.repeats) {
      for (const auto& [entering, leaving] : repeat.carried) {
        if (repeat.count == 1 || !want[index(leaving)] || want[index(entering)]) continue;
        want[index(entering)] = changed = true;
      }
    }
  }
  return want;
}

void differentiate(Gradient& g, const Op& op) {
  const bool reached = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
    return id != no_tensor && g.wanted(id) && g.of(id) != no_tensor;
  });
  if (!reached) return;
  if (op.operation->gradient == nullptr) {
    throw Error("[" + std::string(op.operation->name) + "] cannot be differentiated");
  }
  g.builder().set_scope(op.scope);
  op.operation->gradient(g, op);
}

}  // namespace

Differentiated gradient(Program program) {
  const std::vector<Op> ops = program.ops;
  const std::vector<Repeat> repeats = program.repeats;
  const TensorId loss = program.output;
  const std::size_t tensors = program.tensors.size();
  std::vector<bool> want = wanted(program);
  Builder b(std::move(program));
  b.set_stage(Stage::backward);
  Gradient g(b, std::move(want));
  g.set(loss, loss);  // dloss/dloss = 1: the loss's own rule needs nothing more

  for (std::int64_t i = static_cast<std::int64_t>(ops.size()) - 1; i >= 0;) {
    const Op& op = ops[static_cast<std::size_t>(i)];
    if (op.repeat < 0) {
      differentiate(g, op);
      --i;
      continue;
    }
    const Repeat& body = repeats[static_cast<std::size_t>(op.repeat)];
    const auto [entering, leaving] = body.carried.at(0);
    const TensorId arriving = g.of(leaving);
    if (arriving == no_tensor) {  // nothing in it is trained, nor before it
      i = body.first_op - 1;
      continue;
    }
    b.begin_repeat(body.count, body.layers, op.repeat, true);
    for (; i >= body.first_op; --i) differentiate(g, ops[static_cast<std::size_t>(i)]);
    if (g.of(entering) != no_tensor) {
      b.end_repeat({{arriving, g.of(entering)}});
    } else {
      b.end_repeat({});
    }
  }

  Differentiated result;
  result.gradients.resize(tensors, no_tensor);
  for (std::size_t id = 0; id < tensors; ++id) result.gradients[id] = g.of(static_cast<TensorId>(id));
  result.program = b.finish();
  return result;
}

}  // namespace reckon
