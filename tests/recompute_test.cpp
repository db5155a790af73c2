// Values that are computed again are the same values: also what dropout draws.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/reference/evaluate.h"
#include "compile/compile.h"
#include "files/random.h"
#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/update.h"
#include "passes/expand.h"
#include "tiny_models.h"

namespace reckon {
namespace {

Workload step(Recompute recompute) {
  Workload workload = workload_of(Phase::train);
  workload.batch = 2;
  workload.tokens = 6;
  workload.recompute = recompute;
  workload.dropout = 0.2;
  workload.attention_dropout = 0.3;
  return workload;
}

// The gradient of every parameter, as the reference computes it from weights and ids that only depend on the names.
std::map<std::string, std::vector<double>> gradients(const Model& model, const Workload& workload) {
  const Program program = expand(compile(model, workload, reference_target).lowered);
  std::vector<std::vector<double>> values;
  for (const Tensor& tensor : program.tensors) {
    std::vector<double>& all = values.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
    std::uint64_t state = 1;
    for (char c : full_name(tensor)) state = mixed(state ^ static_cast<unsigned char>(c));
    const bool numbers = tensor.dtype == DType::int32;
    for (double& value : all) {
      state = mixed(state);
      value = numbers ? static_cast<double>(state % 5) : static_cast<double>(state >> 40) * 0x1p-24 - 0.5;
    }
  }
  ReferenceOptions options;
  options.step.drops = true;
  static const std::initializer_list<Stage> both = {Stage::forward, Stage::backward};
  options.stages = both;
  evaluate(program, ReferenceValues(values.begin(), values.end()), options);
  std::map<std::string, std::vector<double>> found;
  for (const Op& op : program.ops) {
    if (!is_update(*op.operation)) continue;
    found[full_name(program[op.inputs[update_input::parameter]])] =
        values[static_cast<std::size_t>(op.inputs[update_input::gradient])];
  }
  return found;
}

TEST(Recompute, GivesTheSameGradientsWithDropoutOfAttention) {
  for (const char* name : {"gpt2", "llama-gqa", "gpt_oss"}) {
    const Model model = load_model((testing_models::tiny_folder() / name).string());
    const auto kept = gradients(model, step(Recompute::none));
    EXPECT_EQ(gradients(model, step(Recompute::selective)), kept) << name;
    EXPECT_EQ(gradients(model, step(Recompute::block)), kept) << name;
    Workload without = step(Recompute::none);
    without.attention_dropout = 0;
    EXPECT_NE(gradients(model, without), kept) << name << ": nothing was dropped";
  }
}

TEST(Recompute, SelectiveIsScoresSoftmaxDropoutAndMixingAlone) {
  const Program program = logical_program(load_model("llama-3-8b"), step(Recompute::selective));
  std::vector<const Operation*> again;
  for (const Op& op : program.ops) {
    if (op.stage == Stage::backward && program[op.outputs[0]].kind == TensorKind::activation)
      again.push_back(op.operation);
  }
  EXPECT_EQ(again,
            (std::vector<const Operation*>{&scores_operation, &softmax_operation, &dropout_operation, &mix_operation}));
}

TEST(AttentionDropout, IsRefusedOutsideOfZeroToOne) {
  for (double wrong : {-0.1, 1.0, 2.0}) {
    Workload workload = step(Recompute::none);
    workload.attention_dropout = wrong;
    EXPECT_THROW(logical_program(load_model("gpt2"), workload), UsageError) << wrong;
  }
}

// Weights of the softmax are no activations of the residual stream: neither dropout brings the other.
TEST(AttentionDropout, StandsBehindTheSoftmaxOfEveryLayerAndOnlyThere) {
  Workload workload = step(Recompute::none);
  workload.dropout = 0;
  const Program program = logical_program(load_model("gpt2"), workload);
  std::size_t dropouts = 0;
  for (const Op& op : program.ops) {
    if (op.operation != &dropout_operation || op.stage != Stage::forward) continue;
    ++dropouts;
    EXPECT_EQ(op.scope.role, (Role{Block::attention, Part::softmax}));
    EXPECT_EQ(program.count(op.repeat), 12);
  }
  EXPECT_EQ(dropouts, 1u);
  workload.phase = Phase::forward;
  for (const Op& op : logical_program(load_model("gpt2"), workload).ops) EXPECT_NE(op.operation, &dropout_operation);
}

}  // namespace
}  // namespace reckon
