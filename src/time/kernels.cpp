#include "time/kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "lowering/regions.h"
#include "ops/attend.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/project.h"

namespace reckon {
namespace {

// The parts that are stored as one matrix, by the first of them.
Part joined_part(Part part) {
  return part == Part::key || part == Part::value ? Part::query : part == Part::up ? Part::gate : part;
}

bool is_joined(Part part) {
  return part == Part::query || part == Part::key || part == Part::value || part == Part::gate || part == Part::up;
}

// What joined products share: forward what they read, backward what they add up to, and the input of their gradients.
TensorId shared_tensor(const Op& op) {
  if (op.operation == &project_operation || op.operation == &grouped_project_operation)
    return op.attributes<ProjectAttributes>().transposed ? op.outputs[0] : op.inputs[project_input::x];
  if (op.operation == &weight_gradient_operation) return op.inputs[1];
  return no_tensor;
}

bool may_join(const Op& op) {
  return is_joined(op.scope.role.part) &&
         (op.operation == &project_operation || op.operation == &grouped_project_operation ||
          op.operation == &weight_gradient_operation || op.operation == &sum_rows_operation);
}

bool is_norm_backward(const Op& op) {
  return op.operation == &layer_norm_backward_operation || op.operation == &rms_norm_backward_operation;
}

bool elementwise(const Cost& cost) { return cost.matmul.empty() && cost.group == Group::none && cost.launches > 0; }

}  // namespace

std::vector<std::size_t> kernels_of(const Program& program, const std::vector<Cost>& costs) {
  using Key = std::tuple<const Operation*, std::int32_t, Stage, Scope, bool, TensorId, std::int64_t>;
  std::map<Key, std::size_t> joined;
  std::vector<std::size_t> kernels(program.ops.size());
  bool open = false;  // whether the op before may be gone on with
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    kernels[i] = i;
    if (may_join(op)) {
      const TensorId shared = shared_tensor(op);
      const Placement at = shared == no_tensor ? Placement{no_tensor, 0} : placement(program, shared);
      Scope scope = op.scope;
      scope.role.part = joined_part(scope.role.part);
      const bool backward = shared != no_tensor && shared == op.outputs[0];
      kernels[i] =
          joined.try_emplace({op.operation, op.repeat, op.stage, scope, backward, at.root, at.offset}, i).first->second;
      open = false;
      continue;
    }
    const bool streams = elementwise(costs[i]);
    const bool follows =
        open && i > 0 && program.ops[i - 1].repeat == op.repeat && program.ops[i - 1].stage == op.stage;
    if (streams && follows) kernels[i] = kernels[i - 1];
    open = streams;
  }
  return kernels;
}

double launches_of(const Op& op) {
  if (op.operation == &sum_rows_operation) return 2;
  if (op.operation == &attend_backward_operation || (is_norm_backward(op) && op.outputs[1] != no_tensor)) return 3;
  return 1;
}

std::vector<KernelBytes> bytes_of_kernels(const Program& program, const std::vector<std::size_t>& kernels) {
  std::vector<KernelBytes> moved(program.ops.size());
  std::map<std::size_t, std::set<std::pair<TensorId, std::int64_t>>> touched;  // by kernel
  std::set<TensorId> beside;  // gradients of parts that lie beside each other already
  const auto place = [&](TensorId id) {
    const Placement at = placement(program, id);
    return std::pair(at.root, at.offset);
  };
  const auto size = [&](TensorId id) { return static_cast<double>(bytes(program[id])); };
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const bool first = kernels[i] == i;
    auto& had = touched[kernels[i]];
    for (TensorId id : op.inputs) {
      if (id != no_tensor && !had.insert(place(id)).second && !first) moved[i].read -= size(id);
    }
    for (TensorId id : op.outputs) {
      // A sum of products that goes on in place is written once, by the last.
      if (id != no_tensor && !had.insert(place(id)).second && !first && is_product(op)) moved[i].written -= size(id);
    }
    if (is_norm_backward(op) && op.outputs[1] != no_tensor) moved[i].read += size(op.inputs[0]) + size(op.inputs[1]);
  }
  // The products of a kernel that read several gradients want them as one.
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.stage != Stage::backward || !may_join(op) || kernels[i] == i || !is_product(op)) continue;
    for (const std::size_t part : {kernels[i], i}) {
      const TensorId gradient = program.ops[part].inputs[0];
      if (beside.insert(placement(program, gradient).root).second) moved[part].copied += size(gradient);
    }
  }
  return moved;
}

}  // namespace reckon
