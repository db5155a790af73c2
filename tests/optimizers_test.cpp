// What optimizers keep of each parameter, and what they compute.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <set>
#include <string>

#include "compile/compile.h"
#include "count/ledger.h"
#include "memory/plan.h"
#include "ops/adamw.h"
#include "ops/optimizers.h"
#include "ops/update.h"

namespace reckon {
namespace {

Workload training_with(Optimizer optimizer, DType weights = DType::float32, DType gradients = DType::float32) {
  Workload workload = workload_of(Phase::train);
  workload.tokens = 8;
  workload.optimizer = optimizer;
  workload.precision.weights = workload.precision.activations = weights;
  workload.precision.gradients = gradients;
  return workload;
}

TrainingState state_of(const std::string& model, const Workload& workload) {
  return count(load_model(model), workload).state;
}

constexpr std::int64_t gpt2_parameters = 124439808;
// Of these in vectors: in 12 layers, biases of 5·768 + 3072 and two norms of 2·768; the last norm.
constexpr std::int64_t gpt2_vectors = 12 * (5 * 768 + 3072 + 4 * 768) + 2 * 768;

// 2 + 2 + 4 + 8, with float32 gradients 2 + 4 + 4 + 8: as in "ZeRO" (Rajbhandari et al., arXiv 1910.02054, section 3.1)
// and in Megatron's dist_optimizer.md.
TEST(TrainingState, OfMixedPrecisionAdamWIsSixteenBytesAParameterAndEighteenWithWideGradients) {
  for (const Target& target : {gpu_target, megatron_target}) {
    for (const DType gradients : {DType::bfloat16, DType::float32}) {
      const std::int64_t each = gradients == DType::bfloat16 ? 2 : 4;
      const Compiled step =
          compile(load_model("gpt2"), training_with(Optimizer::adamw, DType::bfloat16, gradients), target);
      const TrainingState state = training_state(step.lowered);
      EXPECT_EQ(state.weights, (2 + 4) * gpt2_parameters) << target.name;
      EXPECT_EQ(state.gradients, each * gpt2_parameters) << target.name;
      EXPECT_EQ(state.moments, 8 * gpt2_parameters) << target.name;
      EXPECT_EQ(state.total(), (14 + each) * gpt2_parameters) << target.name;
      EXPECT_EQ(step.plan.weights, 2 * gpt2_parameters) << target.name;
      EXPECT_EQ(step.plan.gradients, each * gpt2_parameters) << target.name;
      EXPECT_EQ(step.plan.optimizer, (4 + 8) * gpt2_parameters) << target.name;
    }
  }
}

TEST(TrainingState, HasNoMastersWhereNoneAreAskedForOrWeightsAreAsWide) {
  Workload workload = training_with(Optimizer::adamw, DType::bfloat16, DType::bfloat16);
  workload.precision.master = DType::bfloat16;
  EXPECT_EQ(state_of("gpt2", workload).total(), (2 + 2 + 8) * gpt2_parameters);
  workload.precision.optimizer = DType::bfloat16;
  EXPECT_EQ(state_of("gpt2", workload).total(), (2 + 2 + 4) * gpt2_parameters);
  EXPECT_EQ(state_of("gpt2", training_with(Optimizer::adamw)).total(), 16 * gpt2_parameters);
}

TEST(MixedPrecision, HasGradientsAsWhatTheyAreOfAndStatisticsAndTheLossInFloat32) {
  for (const Target& target : {gpu_target, megatron_target}) {
    for (const char* name : {"gpt2", "llama-3-8b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"}) {
      SCOPED_TRACE(std::string(target.name) + ", " + name);
      const Program program =
          compile(load_model(name), training_with(Optimizer::adamw, DType::bfloat16), target).lowered;
      const std::vector<bool> of_parameters = parameter_gradients(program);
      EXPECT_EQ(program[program.output].dtype, DType::float32);
      for (std::size_t i = 0; i < program.tensors.size(); ++i) {
        const Tensor& tensor = program.tensors[i];
        if (tensor.label.piece == Piece::statistics) {
          EXPECT_EQ(tensor.dtype, DType::float32) << full_name(tensor);
        }
        if (tensor.kind != TensorKind::gradient || tensor.storage != no_tensor) continue;
        // One of two terms that meet in a parameter's gradient is as wide as the gradient.
        const bool of_parameter = of_parameters[i] || tensor.label.piece == Piece::weight;
        EXPECT_EQ(tensor.dtype, of_parameter ? DType::float32 : DType::bfloat16) << full_name(tensor);
      }
      for (const Op& op : program.ops) {
        EXPECT_NE(op.operation->name, "narrow");
        EXPECT_NE(op.operation->name, "widen");
      }
    }
  }
}

// Products run in 16 bits, also those with gradients that are summed in float32.
TEST(MixedPrecision, HasEveryProductInBfloat16) {
  for (const auto& [type, matmul, elementwise] :
       flops_by_precision(count(load_model("llama-3-8b"), training_with(Optimizer::adamw, DType::bfloat16)))) {
    if (type != DType::bfloat16) {
      EXPECT_EQ(matmul, 0);
    }
  }
}

TEST(Sgd, KeepsOneMoment) {
  const TrainingState state = state_of("gpt2", training_with(Optimizer::sgd));
  EXPECT_EQ(state.moments, 4 * gpt2_parameters);
  EXPECT_EQ(state_of("gpt2", training_with(Optimizer::sgd, DType::bfloat16, DType::bfloat16)).total(),
            (2 + 2 + 4 + 4) * gpt2_parameters);
}

// transformers, optimization.py, class Adafactor: a row and a column of each matrix, every element of a vector.
TEST(Adafactor, KeepsARowAndAColumnOfAMatrixAndAllOfAVector) {
  const std::int64_t tables = 50257 + 768 + 1024 + 768;
  const std::int64_t layer = 4 * (768 + 768) + 2 * (768 + 3072);
  EXPECT_EQ(state_of("gpt2", training_with(Optimizer::adafactor)).moments, 4 * (tables + 12 * layer + gpt2_vectors));
  // Of 8 experts of 14,336 × 4,096, each has its own; 32 layers with three such tensors, and projections and a router.
  const std::int64_t mixtral = 32 * (3 * 8 * (14336 + 4096) + 2 * (4096 + 4096) + 2 * (1024 + 4096) + (8 + 4096));
  const std::int64_t rest = 2 * (32000 + 4096) + (2 * 32 + 1) * 4096;  // table, head, norms
  EXPECT_EQ(state_of("mixtral-8x7b", training_with(Optimizer::adafactor)).moments, 4 * (mixtral + rest));
}

// bitsandbytes, optim/optimizer.py: blocks of 256 with a float32 each; tensors below 4,096 elements in float32.
TEST(Adam8bit, KeepsTwoBytesAnElementAndAMaximumOfEachBlock) {
  const std::int64_t matrices = gpt2_parameters - gpt2_vectors;  // whole blocks, all of them; no vector has 4,096
  EXPECT_EQ(state_of("gpt2", training_with(Optimizer::adam8bit)).moments,
            2 * (matrices / 256 * 260) + 8 * gpt2_vectors);
  const Program program = logical_program(load_model("gpt2"), training_with(Optimizer::adam8bit));
  for (const Op& op : program.ops) {
    if (!is_update(*op.operation)) continue;
    const bool large = program[op.inputs[0]].shape.elements() >= 4096;
    EXPECT_EQ(op.operation == &adam8bit_operation, large) << full_name(program[op.inputs[0]]);
    EXPECT_EQ(program[op.inputs[2]].dtype, large ? DType::block8 : DType::float32);
  }
}

// Jordan's code: hidden matrices; embeddings, the head, gains and biases have AdamW.
TEST(Muon, IsForTheMatricesInsideOfLayers) {
  const Program program = logical_program(load_model("mixtral-8x7b"), training_with(Optimizer::muon));
  std::set<std::string> with_muon, with_adamw;
  for (const Op& op : program.ops) {
    if (!is_update(*op.operation)) continue;
    (op.operation == &muon_operation ? with_muon : with_adamw).insert(full_name(program[op.inputs[0]]));
  }
  EXPECT_EQ(with_muon, (std::set<std::string>{
                           "layers.0.attention.query.weight", "layers.0.attention.key.weight",
                           "layers.0.attention.value.weight", "layers.0.attention.output.weight",
                           "layers.0.feed_forward.router.weight", "layers.0.feed_forward.experts.gate.weight",
                           "layers.0.feed_forward.experts.up.weight", "layers.0.feed_forward.experts.down.weight"}));
  EXPECT_EQ(with_adamw, (std::set<std::string>{"embedding.token.weight", "head.weight", "final_norm.weight",
                                               "layers.0.attention.norm.weight", "layers.0.feed_forward.norm.weight"}));
}

// Five steps of 4n²m + 2n³: 2.06e12 for 4,096 × 4,096, 5.50e12 for 4,096 × 14,336.
TEST(Muon, CountsTheProductsOfItsIteration) {
  const auto iteration = [](std::int64_t n, std::int64_t m) { return Count(5) * (4 * n * n * m + 2 * n * n * n); };
  EXPECT_EQ(iteration(4096, 4096), Count(2061584302080));
  const Ledger ledger = count(load_model("llama-3-8b"), training_with(Optimizer::muon));
  EXPECT_EQ(ledger.optimizer.matmul,
            Count(32) * (2 * iteration(4096, 4096) + 2 * iteration(1024, 4096) + 3 * iteration(4096, 14336)));
  EXPECT_EQ(count(load_model("llama-3-8b"), training_with(Optimizer::adamw)).optimizer.matmul, 0);
}

// 2 + 2 + 4 + 4 bytes of what Muon has, 16 of the rest: two tables of 128,256 × 4,096 and 65 norms.
TEST(Muon, KeepsOneMomentum) {
  const std::int64_t parameters = 8030261248, rest = 2 * std::int64_t{128256} * 4096 + 65 * 4096;
  EXPECT_EQ(state_of("llama-3-8b", training_with(Optimizer::muon, DType::bfloat16, DType::bfloat16)).total(),
            12 * (parameters - rest) + 16 * rest);
}

// Two of X, n × m, and the two squares of n × n, in bfloat16, while the matrix is stepped.
TEST(Muon, HasItsTemporariesInTheArena) {
  const Model model = load_model("gpt2");
  const auto live = [&](Optimizer optimizer) {
    const Compiled step = compile(model, training_with(optimizer), megatron_target);
    for (std::size_t i = 0; i < step.lowered.ops.size(); ++i) {
      const Op& op = step.lowered.ops[i];
      const bool steps = op.operation == &newton_schulz_operation ||
                         (op.operation == &adamw_operation && step.lowered[op.inputs[0]].shape.rank() > 1);
      if (steps && op.scope.role == Role{Block::feed_forward, Part::up}) return step.plan.live[i].first;
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(live(Optimizer::muon) - live(Optimizer::adamw), 2 * (2 * 768 * 3072) + 2 * (2 * 768 * 768));
}

// Its products are in bfloat16 whatever gradients and masters are in.
TEST(Muon, ComputesItsProductsInBfloat16) {
  for (const WorkEntry& entry : count(load_model("gpt2"), training_with(Optimizer::muon)).work) {
    if (entry.stage != Stage::optimizer || entry.each.matmul == 0) continue;
    EXPECT_EQ(entry.precision, DType::bfloat16);
  }
}

TEST(Muon, IsRefusedWhereRanksHavePartsOfMatrices) {
  Workload workload = training_with(Optimizer::muon);
  workload.layout.data = 4;
  EXPECT_NO_THROW(logical_program(load_model("gpt2"), workload));
  workload.layout.zero = 1;
  EXPECT_THROW(logical_program(load_model("gpt2"), workload), UsageError);
}

TEST(Optimizers, AllStepEveryParameterOnceAndClipByOneNorm) {
  for (const Optimizer optimizer :
       {Optimizer::adamw, Optimizer::sgd, Optimizer::adafactor, Optimizer::muon, Optimizer::adam8bit}) {
    const Program program = logical_program(load_model("mixtral-8x7b"), training_with(optimizer));
    std::set<TensorId> stepped, gradients, written;
    for (const Op& op : program.ops) {
      if (op.stage == Stage::optimizer) written.insert(op.outputs.begin(), op.outputs.end());
      if (!is_update(*op.operation)) continue;
      EXPECT_TRUE(stepped.insert(op.inputs[update_input::parameter]).second);
      EXPECT_EQ(program[op.inputs[update_input::gradient]].kind, TensorKind::gradient);
      EXPECT_TRUE(gradients.insert(op.inputs[update_input::gradient]).second);
    }
    std::size_t parameters = 0;
    for (const Tensor& tensor : program.tensors) parameters += tensor.kind == TensorKind::parameter ? 1 : 0;
    EXPECT_EQ(stepped.size(), parameters);
    for (TensorId id : stepped) EXPECT_TRUE(written.contains(id)) << full_name(program[id]);
  }
}

}  // namespace
}  // namespace reckon
