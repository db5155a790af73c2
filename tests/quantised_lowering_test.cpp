// What lowering makes of quantised weights: activations are quantised once for all products that read them.
#include <gtest/gtest.h>
#include <reckon/reckon.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <vector>

#include "compile/compile.h"
#include "network/forward.h"
#include "network/parameter_types.h"
#include "ops/project.h"
#include "ops/quantise.h"
#include "passes/expand.h"

namespace reckon {
namespace {

Workload quantised(const Model& model, Phase phase, DType dtype) {
  Workload workload = workload_of(phase);
  workload.tokens = phase == Phase::decode ? 1 : 64;
  if (phase == Phase::decode) workload.past = 8;
  workload.parameter_types = layer_matrices_as(model, dtype);
  return workload;
}

std::vector<Op> quantises(const Program& program) {
  std::vector<Op> found;
  for (const Op& op : expand(program).ops)
    if (op.operation == &quantise_operation) found.push_back(op);
  return found;
}

// A layer has four: for query, key and value, for the output, for gate and up, for down.
TEST(QuantisedWeights, MeetActivationsThatAreQuantisedOnceForAllThatReadThem) {
  const Model model = load_model("llama-3-8b");
  for (const Phase phase : {Phase::prefill, Phase::decode}) {
    const Program lowered = compile(model, quantised(model, phase, DType::q4_k), cpu_target).lowered;
    EXPECT_EQ(quantises(lowered).size(), 4u * 32);
    for (const Op& op : lowered.ops) {
      if (op.operation != &project_operation) continue;
      const bool blocks = is_quantised(lowered[op.inputs[project_input::weight]].dtype);
      EXPECT_EQ(lowered[op.inputs[project_input::x]].dtype == DType::activation8, blocks);
    }
  }
}

// 64 tokens of width 4,096 take 64·4,096/32 blocks of 44 bytes; the cost is 4 operations an element.
TEST(QuantisedWeights, HaveTheirActivationsInTheArenaAndInTheCosts) {
  const Model model = load_model("llama-3-8b");
  const Program lowered = compile(model, quantised(model, Phase::prefill, DType::q4_k), cpu_target).lowered;
  const Op& first = *std::find_if(lowered.ops.begin(), lowered.ops.end(),
                                  [](const Op& op) { return op.operation == &quantise_operation; });
  const Tensor& x = lowered[first.outputs[0]];
  EXPECT_EQ(bytes(x), 64 * 4096 / 32 * 44);
  EXPECT_EQ(x.kind, TensorKind::activation);
  const Cost cost = first.operation->cost(lowered, first);
  EXPECT_EQ(cost.elementwise.value(), 4 * 64 * 4096);
  EXPECT_EQ(cost.read, 4 * 64 * 4096);
  EXPECT_EQ(cost.written, 64 * 4096 / 32 * 44);
}

TEST(QuantisedWeights, OfExpertsShareWhatGateAndUpRead) {
  const Model model = load_model("mixtral-8x7b");
  const Program lowered = compile(model, quantised(model, Phase::decode, DType::q4_0), cpu_target).lowered;
  EXPECT_EQ(quantises(lowered).size(), 4u * 32);
}

TEST(QuantisedWeights, AreDecodedByTargetsWithoutIntegerProducts) {
  const Model model = load_model("llama-3-8b");
  for (const Target& target : {reference_target, gpu_target})
    EXPECT_TRUE(quantises(compile(model, quantised(model, Phase::decode, DType::q8_0), target).lowered).empty());
}

}  // namespace
}  // namespace reckon
