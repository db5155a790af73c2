// Products of many rows read a matrix of nf4 from a copy in 16 bits, which is made before each of them: so do forward
// and backward of bitsandbytes' MatMul4Bit (0.50). Its kernel for few rows (gemm_4bit) reads the blocks themselves, as
// kernels for experts do.
#include "lowering/lower.h"
#include "ops/dequantise.h"
#include "ops/head_matmul.h"
#include "ops/matmul.h"
#include "ops/project.h"

#include <utility>

namespace reckon {
namespace {

bool needs_copy(const Program& program, const Op& op, const Target& target) {
  if (op.operation != &project_operation && op.operation != &matmul_operation && op.operation != &head_matmul_operation)
    return false;
  if (program[op.inputs[1]].dtype != DType::nf4) return false;
  return program.workload.phase == Phase::train ||
         program[op.inputs[0]].shape.leading().product().value() > target.few_rows;
}

}  // namespace

Program dequantise(Program program, const Target& target) {
  std::vector<Op> ops;
  ops.reserve(program.ops.size());
  for (Op& op : program.ops) {
    if (needs_copy(program, op, target)) {
      const auto copy = static_cast<TensorId>(program.tensors.size());
      program.tensors.push_back({op.scope, "dequantised", TensorKind::activation,
                                 program.workload.precision.activations, program[op.inputs[1]].shape, op.repeat});
      ops.emplace_back(dequantise_operation, TensorIds{op.inputs[1]}, TensorIds{copy}, NoAttributes{}, op.scope,
                       op.stage, op.repeat);
      op.inputs[1] = copy;
    }
    ops.push_back(std::move(op));
  }
  program.ops = std::move(ops);
  find_bodies(program);
  return program;
}

}  // namespace reckon
