// What is kept and moved: the cache, the state of training, bytes and FLOPs per byte.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "count/cache.h"
#include "count/ledger.h"
#include "compile/compile.h"
#include "lowering/lower.h"
#include "model/modify.h"
#include "passes/expand.h"

namespace reckon {
namespace {

CacheCost cache(const Model& model, std::int64_t tokens, std::int64_t batch = 1, DType type = DType::bfloat16) {
  Workload workload;
  workload.tokens = tokens;
  workload.batch = batch;
  workload.precision.cache = type;
  return cache_cost(model, workload);
}

// 32 layers, keys and values of 8 heads of 128, two bytes each.
TEST(CacheCost, OfGroupedHeadsIsThatOfTheKeyAndValueHeads) {
  const Model model = load_model("llama-3-8b");
  const CacheCost cost = cache(model, 8192);
  EXPECT_EQ(cost.first_token, 32 * 2 * 8 * 128 * 2);
  EXPECT_EQ(cost.last_token, cost.first_token);
  EXPECT_EQ(cost.total, std::int64_t{1} << 30);
  EXPECT_EQ(cache(model, 8192, 4).total, std::int64_t{4} << 30);
  EXPECT_EQ(cache(model, 8192, 4).first_token, cost.first_token);
  EXPECT_EQ(cache(model, 8192, 1, DType::float32).total, std::int64_t{2} << 30);
  EXPECT_EQ(cache(model, 1).total, cost.first_token);
}

// DeepSeek-V2, section 2.1.4: (d_c + d_h^R)·l elements a token, here (512 + 64)·61.
TEST(CacheCost, OfLatentAttentionIsOneLatentAndOneRotatedKeyALayer) {
  const CacheCost cost = cache(load_model("deepseek-v3"), 4096);
  EXPECT_EQ(cost.first_token, 61 * (512 + 64) * 2);
  EXPECT_EQ(cost.total, std::int64_t{61} * (512 + 64) * 2 * 4096);
}

// gpt-oss-120b: 36 layers with 8 key/value heads of 64; every second one sees 128 tokens.
TEST(CacheCost, StopsGrowingWhereAWindowIsFull) {
  const Model model = load_model("gpt-oss-120b");
  const std::int64_t layer = 2 * 8 * 64 * 2;
  const CacheCost cost = cache(model, 131072);
  EXPECT_EQ(cost.first_token, 36 * layer);
  EXPECT_EQ(cost.last_token, 18 * layer);
  EXPECT_EQ(cost.total, 18 * layer * 131072 + 18 * layer * 128);
  EXPECT_EQ(cache(model, 128).last_token, 36 * layer);
  EXPECT_EQ(cache(model, 129).last_token, 18 * layer);
}

TEST(CacheCost, HoldsWhatCrossAttentionKeepsOfAnEncoder) {
  Changes changes;
  changes.cross_attention = true;
  const Model model = modify(load_model("gpt2"), changes);
  Workload workload;
  workload.tokens = 10;
  workload.encoder_tokens = 7;
  const CacheCost cost = cache_cost(model, workload);  // float32, as the workload has it
  EXPECT_EQ(cost.first_token, 12 * 2 * 768 * 4);
  EXPECT_EQ(cost.encoder_tokens, 7);
  EXPECT_EQ(cost.total, 12 * 2 * 768 * 4 * (10 + 7));
}

TEST(TrainingState, IsWeightsGradientsAndTwoMomentsOfEachParameter) {
  for (const char* name : {"gpt2", "mini-gpt", "deepseek-v2-lite", "gpt-oss-20b", "gemma-2-2b"}) {
    const Model model = load_model(name);
    Workload workload = workload_of(Phase::train);
    workload.tokens = 8;
    const Ledger ledger = count(model, workload);
    const Count n = ledger.parameter_totals.total;
    EXPECT_EQ(ledger.state.weights, 4 * n) << name;
    EXPECT_EQ(ledger.state.gradients, 4 * n) << name;
    EXPECT_EQ(ledger.state.moments, 8 * n) << name;
    EXPECT_EQ(ledger.state.total(), 16 * n) << name;
    EXPECT_EQ(count(model).state.total(), 0) << name;
  }
}

// Products read two bytes of an element, the optimizer keeps four.
TEST(TrainingState, HasAWideMasterOfEveryNarrowWeight) {
  Workload workload = workload_of(Phase::train);
  workload.tokens = 8;
  workload.precision.weights = DType::bfloat16;
  const Program program =
      keep_narrow(lower(expand(logical_program(load_model("gpt2"), workload)), cpu_target), DType::bfloat16);
  const Count n = 124439808;
  const TrainingState state = training_state(program);
  EXPECT_EQ(state.weights, (2 + 4) * n);
  EXPECT_EQ(state.gradients, 4 * n);
  EXPECT_EQ(state.moments, 8 * n);
}

// gpt2's head is its table of tokens, all of which is read; of the tables of tokens and positions a row each.
TEST(Traffic, OfWeightsIsWhatOneTokenNeeds) {
  const WorkTotals gpt2 = count(load_model("gpt2"), workload_of(Phase::decode)).total();
  EXPECT_EQ(gpt2.weights, 4 * (124439808 - 1024 * 768 + 2 * 768));
  const Ledger llama = count(load_model("llama-3-8b"), workload_of(Phase::decode));
  EXPECT_EQ(llama.total().weights, 4 * (llama.parameter_totals.non_embedding + 4096));
  const Ledger mixtral = count(load_model("mixtral-8x7b"), workload_of(Phase::decode));
  EXPECT_EQ(mixtral.total().weights, 4 * (mixtral.parameter_totals.active_non_embedding + 4096));
}

TEST(Flops, AreCountedByTheTypeThatTheyAreComputedIn) {
  Workload workload = workload_of(Phase::forward);
  workload.precision.weights = DType::bfloat16;
  const Model model = load_model("gpt2");
  const auto wide = flops_by_precision(count(model, workload));  // activations in float32
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_EQ(wide[0].type, DType::float32);
  workload.precision.activations = DType::bfloat16;
  const Ledger ledger = count(model, workload);
  const auto narrow = flops_by_precision(ledger);
  ASSERT_EQ(narrow.size(), 1u);
  EXPECT_EQ(narrow[0].type, DType::bfloat16);
  EXPECT_EQ(narrow[0].matmul, ledger.total().matmul);
  EXPECT_EQ(narrow[0].elementwise, ledger.total().elementwise);
}

// One token of llama-3-8b after 8,191 others, two bytes an element: every weight but the embedding's other rows, the
// cache of 8,192 tokens, and little besides; about 2 FLOPs for each weight.
TEST(Traffic, OfDecodingIsTheWeightsAndTheCache) {
  Workload workload = workload_of(Phase::decode);
  workload.precision.weights = workload.precision.activations = workload.precision.cache = DType::bfloat16;
  const Ledger ledger = count(load_model("llama-3-8b"), workload);
  const WorkTotals work = ledger.total();
  const double least = 2 * static_cast<double>(ledger.parameter_totals.non_embedding) + (std::int64_t{1} << 30);
  EXPECT_GT(static_cast<double>(work.read), least);
  EXPECT_LT(static_cast<double>(work.read), 1.01 * least);
  EXPECT_EQ(work.read, work.read_least);
  EXPECT_DOUBLE_EQ(work.flops_per_byte(),
                   static_cast<double>(work.flops()) / static_cast<double>(work.read + work.written));
  EXPECT_NEAR(work.flops_per_byte(), 1.1, 0.1);
}

TEST(Traffic, OfAMixtureIsARange) {
  Workload workload = workload_of(Phase::decode);
  workload.batch = 4;
  const WorkTotals work = count(load_model("mixtral-8x7b"), workload).total();
  EXPECT_LT(work.read_least, work.read);
  EXPECT_GT(work.flops_per_byte_most(), work.flops_per_byte());
}

}  // namespace
}  // namespace reckon
