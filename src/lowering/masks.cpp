// What drops an activation makes the mask; what drops its gradient reads the one that was made last for it.
#include "lowering/lower.h"

#include "ops/elementwise.h"

#include <map>
#include <tuple>

namespace reckon {

Program keep_masks(Program program) {
  // By the repeat of the forward pass, the place in it, and the stream. What is computed again makes it again.
  std::map<std::tuple<std::int32_t, Scope, std::int64_t>, TensorId> masks;
  const bool blocks = program.workload.recompute == Recompute::block;
  for (Op& op : program.ops) {
    if (op.operation != &dropout_operation) continue;
    const std::int32_t root = op.repeat < 0 ? -1 : program.repeats[static_cast<std::size_t>(op.repeat)].root;
    const std::tuple key{root, op.scope, op.attributes<DropoutAttributes>().stream};
    if (program[op.inputs[0]].kind == TensorKind::gradient) {
      if (const auto found = masks.find(key); found != masks.end()) op.inputs.push_back(found->second);
      continue;
    }
    // Of a block that is computed again nothing is kept: a dropout whose result is not needed again is drawn again.
    if (blocks && op.scope.layer >= 0 && op.stage == Stage::forward) continue;
    const Tensor dropped = program[op.outputs[0]];
    masks[key] = static_cast<TensorId>(program.tensors.size());
    op.outputs.push_back(masks[key]);
    program.tensors.push_back(
        {dropped.scope, Piece::mask, TensorKind::activation, DType::boolean, dropped.shape, dropped.repeat});
  }
  return program;
}

}  // namespace reckon
