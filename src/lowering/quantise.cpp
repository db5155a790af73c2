// Products with quantised weights multiply integers: what they read is quantised before the first of them, once for all
// that read the same (query, key and value; gate and up).
#include "lowering/lower.h"
#include "ops/project.h"
#include "ops/quantise.h"

#include <map>
#include <utility>

namespace reckon {

Program quantise_activations(Program program, const Target& target) {
  if (!target.integer_products) return program;
  std::map<std::pair<TensorId, std::int32_t>, TensorId> made;  // by what was quantised, and in which body
  std::vector<Op> ops;
  ops.reserve(program.ops.size());
  for (Op& op : program.ops) {
    const bool product = op.operation == &project_operation || op.operation == &grouped_project_operation;
    if (product && is_quantised(program[op.inputs[project_input::weight]].dtype)) {
      TensorId& x = op.inputs[project_input::x];
      const auto [found, fresh] = made.try_emplace({x, op.repeat}, static_cast<TensorId>(program.tensors.size()));
      if (fresh) {
        program.tensors.push_back(
            {op.scope, "quantised", TensorKind::activation, DType::activation8, program[x].shape, op.repeat});
        ops.emplace_back(quantise_operation, TensorIds{x}, TensorIds{found->second}, NoAttributes{}, op.scope, op.stage,
                         op.repeat);
      }
      x = found->second;
    }
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
  find_bodies(program);
  return program;
}

}  // namespace reckon
