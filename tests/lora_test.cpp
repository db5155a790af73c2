// Low-rank adapters: their parameters, what a step with them computes, and what stays frozen.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <set>

#include "compile/compile.h"
#include "count/adapters.h"
#include "count/ledger.h"
#include "model/modify.h"
#include "model/presets.h"
#include "network/forward.h"
#include "network/parameter_types.h"
#include "ops/dequantise.h"
#include "passes/expand.h"
#include "program/trained.h"
#include "small_models.h"

namespace reckon {
namespace {

using Targets = Lora::Targets;

Workload adapted(Phase phase, std::int64_t rank, Targets targets = Targets::query_value, std::int64_t tokens = 4) {
  Workload workload = workload_of(phase);
  workload.tokens = tokens;
  workload.lora = {rank, targets};
  return workload;
}

Count adapter_elements(const Ledger& ledger) {
  Count sum;
  for (const ParameterEntry& entry : ledger.parameters)
    if (entry.piece == Piece::lora_a || entry.piece == Piece::lora_b) sum += entry.each * entry.place.count;
  return sum;
}

// What peft prints as trainable parameters: r·(in + out) of each matrix.
TEST(Adapters, HaveTheParametersThatPeftSaysForLlama3) {
  const Model model = load_model("llama-3-8b");
  EXPECT_EQ(adapter_elements(count(model, adapted(Phase::train, 8))), 3407872);
  EXPECT_EQ(adapter_elements(count(model, adapted(Phase::train, 8, Targets::all))), 20971520);
  const auto found = count_adapters(model, adapted(Phase::train, 8));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->adapters, 3407872);
  EXPECT_EQ(found->all, 8033669120);
  EXPECT_NEAR(found->share, 0.000424, 1e-6);  // "trainable%: 0.0424"
  EXPECT_FALSE(count_adapters(model, adapted(Phase::train, 0)));
}

// peft adapts gpt2's one matrix for queries, keys and values; queries and values apart are as many.
TEST(Adapters, OfGpt2AreAsManyAsOfItsJoinedMatrix) {
  EXPECT_EQ(adapter_elements(count(load_model("gpt2"), adapted(Phase::train, 8))), 12 * 8 * (768 + 3 * 768));
}

// 2 layers of d 8, heads 4 × 6, key heads 2 × 6, feed-forward 12, vocabulary 11: in a layer the matrices have
// q 192, k 96, v 96, o 192, gate, up, down 96 each: 864; the head 88. Of rank 2, q has 16 + 48, v 16 + 24.
// A product of T tokens with a matrix of n is 2·T·n; each of attention's is 2·4·T²·6 = 48·T².
TEST(Adapters, OfQueryAndValueCostWhatIsWorkedOutByHand) {
  const std::int64_t t = 4, pairs = 48 * t * t, lora = 64 + 40;
  const Ledger ledger = count(testing_models::small_llama(), adapted(Phase::train, 2));
  EXPECT_EQ(ledger.forward.matmul, 2 * t * (2 * 864 + 88 + 2 * lora) + 2 * 2 * pairs);
  // The second layer: gradients of every input, none of a frozen weight; of an adapter both.
  const std::int64_t second = 2 * t * 864 + 4 * t * lora + 4 * pairs;
  // The first: what enters it depends on nothing that is trained. So q, k and v have no gradients to hand on, nor have
  // the A of q and v; and keys have none at all.
  const std::int64_t first = 2 * t * (192 + 3 * 96) + 2 * t * lora + 2 * t * (48 + 24) + 3 * pairs;
  EXPECT_EQ(ledger.backward.matmul, 2 * t * 88 + second + first);
  // AdamW's 16 and the norm's 2 of each element of an adapter.
  EXPECT_EQ(ledger.optimizer.elementwise, 18 * 2 * lora);
}

// …and k 16 + 24, o 48 + 16, gate and up 16 + 24, down 24 + 16.
TEST(Adapters, OfAllMatricesCostWhatIsWorkedOutByHand) {
  const std::int64_t t = 4, pairs = 48 * t * t, lora = 64 + 40 + 40 + 64 + 3 * 40;
  const Ledger ledger = count(testing_models::small_llama(), adapted(Phase::train, 2, Targets::all));
  EXPECT_EQ(ledger.forward.matmul, 2 * t * (2 * 864 + 88 + 2 * lora) + 2 * 2 * pairs);
  const std::int64_t second = 2 * t * 864 + 4 * t * lora + 4 * pairs;
  const std::int64_t inner = 64 + 3 * 40;  // o and the feed-forward
  const std::int64_t first =
      2 * t * (192 + 3 * 96) + 4 * t * inner + 2 * t * (64 + 40 + 40) + 2 * t * (48 + 24 + 24) + 4 * pairs;
  EXPECT_EQ(ledger.backward.matmul, 2 * t * 88 + second + first);
}

// 4·N instead of 6·N of the base, and 6·N of the adapters: exact but for the first layer and attention.
TEST(Adapters, CostAboutFourTimesTheBaseAndSixTimesThemselvesATokenOfTraining) {
  const Model model = load_model("llama-3-8b");
  const Ledger base = count(model, adapted(Phase::train, 0, Targets::all, 128));
  const Ledger ledger = count(model, adapted(Phase::train, 16, Targets::all, 128));
  const double n = static_cast<double>(base.parameter_totals.non_embedding), lora = 2.0 * 20971520;
  const double matmul = static_cast<double>(ledger.total().matmul) / 128;
  EXPECT_NEAR(matmul / (4 * n + 6 * lora), 1, 0.01);
}

TEST(Adapters, AddTheirOpsWithoutTrainingToo) {
  const Model model = testing_models::small_llama();
  for (const Phase phase : {Phase::forward, Phase::prefill, Phase::decode}) {
    Workload workload = adapted(phase, 2);
    workload.past = phase == Phase::decode ? 3 : 0;
    const Count with = count(model, workload).total().matmul;
    workload.lora = {};
    EXPECT_EQ(with - count(model, workload).total().matmul, 2 * 4 * 2 * (64 + 40));
  }
}

// Decoding with latents folds the up-projection into queries and output, and so its adapter: the products with B are
// those with a head's rows of it, those with A once for each head.
TEST(Adapters, OfLatentAttentionAreFoldedWhereItIs) {
  const Model model = load_model("deepseek-v2-lite");  // 27 layers, 16 heads, 128 + 128 rows a head, latent 512
  Workload workload = adapted(Phase::decode, 4, Targets::query_value, 1);
  workload.past = 7;
  const Count with = count(model, workload).total().matmul;
  workload.lora = {};
  const std::int64_t query = 4 * (2048 + 16 * 192), up = 16 * (128 + 128) * 4 + 2 * 16 * 4 * 512;
  EXPECT_EQ(with - count(model, workload).total().matmul, 27 * 2 * (query + up));
}

// In float32: 16 bytes of a parameter that is trained, 4 of a frozen one.
TEST(Adapters, AloneHaveGradientsAndMoments) {
  const Model model = load_model("gpt2");
  const Ledger ledger = count(model, adapted(Phase::train, 8));
  const Count lora = 12 * 8 * 4 * 768;
  EXPECT_EQ(ledger.state.weights, 4 * (124439808 + lora));
  EXPECT_EQ(ledger.state.gradients, 4 * lora);
  EXPECT_EQ(ledger.state.moments, 8 * lora);
  const Plan plan = compile(model, adapted(Phase::train, 8), gpu_target).plan;
  EXPECT_EQ(plan.weights, 4 * (124439808 + static_cast<std::int64_t>(lora)));
  EXPECT_EQ(plan.gradients, 4 * static_cast<std::int64_t>(lora));
  EXPECT_EQ(plan.optimizer, 8 * static_cast<std::int64_t>(lora));
}

// The inputs of frozen matrices are not kept: a step needs less than one that trains everything.
TEST(Adapters, KeepFewerActivationsThanFullTraining) {
  const Model model = load_model("llama-3.2-1b");
  const auto arena = [&](std::int64_t rank, Targets targets) {
    return compile(model, adapted(Phase::train, rank, targets, 512), gpu_target).plan.arena;
  };
  const std::int64_t all_trained = arena(0, Targets::all), query_value = arena(8, Targets::query_value);
  EXPECT_LT(query_value, all_trained);
  EXPECT_LT(query_value, arena(8, Targets::all));
}

// Layers fold with adapters as without; the first stands alone in training. Written out, the program costs the same.
TEST(Adapters, FoldWithTheirLayers) {
  for (const char* name : {"llama-3.2-1b", "gemma-2-2b", "deepseek-v2-lite", "mixtral-8x7b", "gpt-oss-20b"}) {
    for (const Targets targets : {Targets::query_value, Targets::all}) {
      SCOPED_TRACE(name);
      const Model model = load_model(name);
      const Program folded = logical_program(model, adapted(Phase::train, 4, targets, 8));
      EXPECT_LT(folded.ops.size(), 1200U);
      const Ledger a = read_ledger(folded), b = read_ledger(expand(folded));
      EXPECT_EQ(a.backward.matmul, b.backward.matmul);
      EXPECT_EQ(a.backward.elementwise, b.backward.elementwise);
      EXPECT_EQ(a.optimizer.elementwise, b.optimizer.elementwise);
      EXPECT_EQ(adapter_elements(a), adapter_elements(b));
      EXPECT_GT(compile(model, adapted(Phase::train, 4, targets, 8), gpu_target).plan.arena, 0);
    }
  }
}

// All that is trained is in layers: the sum of squares goes through their bodies from the first iteration on.
TEST(Adapters, HaveTheirSquaresSummedOverAllLayers) {
  for (const Phase phase : {Phase::train, Phase::decode}) {
    const Program program = logical_program(load_model("gpt-oss-20b"), adapted(phase, 4, Targets::all, 8));
    for (const Repeat& repeat : program.repeats) {
      for (const auto& [entering, leaving] : repeat.carried) {
        EXPECT_NE(entering, no_tensor);
        EXPECT_NE(leaving, no_tensor);
      }
    }
  }
}

TEST(Adapters, AloneAreUpdated) {
  const Program program = logical_program(load_model("mixtral-8x7b"), adapted(Phase::train, 4, Targets::all));
  std::set<TensorId> updated;
  for (const Op& op : program.ops) {
    if (op.stage != Stage::optimizer) continue;
    for (TensorId id : op.inputs)
      if (id != no_tensor && program[id].kind == TensorKind::parameter) updated.insert(id);
  }
  EXPECT_FALSE(updated.empty());
  for (TensorId id : updated) EXPECT_TRUE(is_trained(program.workload, program[id])) << full_name(program[id]);
}

// A router and the experts that it chooses from have none; the shared expert has.
TEST(Adapters, AreNotBesideRoutedExperts) {
  for (const ParameterEntry& entry :
       count(load_model("mixtral-8x7b"), adapted(Phase::train, 4, Targets::all)).parameters)
    if (entry.piece == Piece::lora_a) {
      EXPECT_EQ(entry.place.role.block, Block::attention);
    }
  bool shared = false;
  for (const ParameterEntry& entry :
       count(load_model("deepseek-v2-lite"), adapted(Phase::train, 4, Targets::all)).parameters)
    if (entry.piece == Piece::lora_a) shared = shared || entry.place.role.expert == Expert::shared;
  EXPECT_TRUE(shared);
}

Workload in_sixteen_bits(Workload workload, DType gradients = DType::bfloat16) {
  workload.precision = {
      .weights = DType::bfloat16, .activations = DType::bfloat16, .cache = DType::bfloat16, .gradients = gradients};
  return workload;
}

// Weight 2, gradient 2, moments 8 and master 4 of an adapter; 2 bytes of a frozen weight.
TEST(Adapters, HaveSixteenBytesEachBesideTwoOfAFrozenWeight) {
  const Model model = load_model("llama-3-8b");
  const Count n = 8030261248, lora = 3407872;
  EXPECT_EQ(count(model, in_sixteen_bits(adapted(Phase::train, 8))).state.total(), 2 * n + 16 * lora);
  EXPECT_EQ(count(model, in_sixteen_bits(adapted(Phase::train, 8), DType::float32)).state.total(), 2 * n + 18 * lora);
  const Plan plan = compile(model, in_sixteen_bits(adapted(Phase::train, 8)), gpu_target).plan;
  EXPECT_EQ(plan.weights + plan.gradients + plan.optimizer, 2 * n + 16 * lora);
}

Workload quantised(const Model& model, Workload workload) {
  workload = in_sixteen_bits(std::move(workload));
  workload.parameter_types = layer_matrices_as(model, DType::nf4);
  return workload;
}

// 32 layers of 218,103,808 in matrices, at 36 bytes a block of 64; all else, and the adapters, at 2 bytes.
TEST(QuantisedBase, WeighsNineSixteenthsOfAByteAndAllElseTwo) {
  const Model model = load_model("llama-3-8b");
  const std::int64_t matrices = 32 * std::int64_t{218103808}, others = 8030261248 - matrices;
  const Plan plan = compile(model, quantised(model, adapted(Phase::train, 8)), gpu_target).plan;
  EXPECT_EQ(plan.weights, matrices / 64 * 36 + 2 * (others + 3407872));
  EXPECT_EQ(plan.gradients, 2 * 3407872);
  EXPECT_EQ(plan.optimizer, 12 * 3407872);
}

std::int64_t dequantised(const Program& lowered) {
  std::int64_t sum = 0;
  for (const Op& op : lowered.ops)
    if (op.operation == &dequantise_operation) sum += lowered.count(op.repeat);
  return sum;
}

// Each of the seven matrices of a layer forward, and backward where an input has a gradient: in the first layer not of
// q, k and v. A product of few rows reads the blocks itself.
TEST(QuantisedBase, IsWidenedForEveryProductOfManyRows) {
  const Model model = load_model("llama-3-8b");
  EXPECT_EQ(dequantised(compile(model, quantised(model, adapted(Phase::train, 8)), gpu_target).lowered),
            32 * 7 + 31 * 7 + 4);
  Workload decode = quantised(model, adapted(Phase::decode, 0, Targets::all, 1));
  decode.batch = 16;
  EXPECT_EQ(dequantised(compile(model, decode, gpu_target).lowered), 0);
  decode.batch = 17;
  EXPECT_EQ(dequantised(compile(model, decode, gpu_target).lowered), 32 * 7);
}

// Products are in 16 bits whatever the weights are kept in, and read them as they are kept.
TEST(QuantisedBase, IsMultipliedInSixteenBits) {
  const Model model = load_model("llama-3-8b");
  const Ledger ledger = count(model, quantised(model, adapted(Phase::train, 8)));
  for (const PrecisionFlops& part : flops_by_precision(ledger))
    if (part.matmul > 0) {
      EXPECT_EQ(part.type, DType::bfloat16);
    }
}

std::string complaint(const Model& model, const Workload& workload) {
  try {
    logical_program(model, workload);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(AdaptersOfWrongSizes, AreRefusedInASentence) {
  const Model model = testing_models::small_llama();
  EXPECT_EQ(complaint(model, adapted(Phase::train, -1)), "`lora` is -1; expected 1 to 65536, or 0 for none");
  EXPECT_EQ(complaint(model, adapted(Phase::train, 9)),
            "`lora` is 9, but the attention/query matrices of small llama are 24 × 8; expected 1 to 8");
  EXPECT_EQ(complaint(model, adapted(Phase::train, 8)), "none");
}

TEST(QuantisedWeights, AreNotTrained) {
  const Model model = load_model("gpt2");
  const Workload workload = quantised(model, adapted(Phase::train, 0));
  EXPECT_EQ(
      complaint(model, workload),
      "layers.0.attention.query.weight is of nf4, which cannot be trained; expected float32, bfloat16 or float16, "
      "or adapters (`lora`) beside matrices of layers that are frozen");
  Workload all = adapted(Phase::train, 8);
  all.precision.weights = DType::nf4;
  EXPECT_EQ(complaint(model, all),
            "adapters and all weights are of nf4, which cannot be trained; expected float32, bfloat16 or float16, or "
            "adapters (`lora`) beside matrices of layers that are frozen");
  EXPECT_EQ(complaint(model, quantised(model, adapted(Phase::forward, 0))), "none");
}

}  // namespace
}  // namespace reckon
