// Programs of one rank: what it holds, computes and sends, against published figures and against the whole model.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include "compile/compile.h"
#include "count/ledger.h"
#include "family_references.h"
#include "model/load.h"
#include "model/modify.h"
#include "model/presets.h"
#include "network/stages.h"
#include "ops/adamw.h"
#include "ops/collectives.h"
#include "ops/mixture.h"
#include "passes/expand.h"
#include "passes/gradient.h"
#include "passes/shard.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace reckon {
namespace {

Workload training(std::int64_t batch, std::int64_t tokens, const Layout& layout) {
  Workload workload = workload_of(Phase::train);
  workload.batch = batch;
  workload.tokens = tokens;
  Precision& precision = workload.precision;
  precision.weights = precision.activations = precision.gradients = DType::bfloat16;
  workload.layout = layout;
  return workload;
}

std::string refusal(const Model& model, const Layout& layout) {
  try {
    validate_layout(model, layout);
    check_operations(model, layout);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

// ---- what divides

TEST(Layout, ThatDoesNotDivideIsRefusedWithWhatDoesNot) {
  const Model model = load_model("llama-3.1-405b");
  EXPECT_EQ(refusal(model, {.tensor = 12}),
            "llama-3.1-405b: 128 query heads cannot be shared out over 12 tensor ranks; expected a divisor of 128");
  EXPECT_EQ(refusal(load_model("gpt2"), {.tensor = 8}),
            "gpt2: 12 query heads cannot be shared out over 8 tensor ranks; expected a divisor of 12");
  EXPECT_EQ(refusal(model, {.pipeline = 5}),
            "llama-3.1-405b: 126 layers cannot be shared out over 5 stages; expected that they or 128 (with the "
            "embedding and the loss in the place of a layer each) divide by it");
  EXPECT_EQ(refusal(model, {.expert = 2, .data = 2}),
            "llama-3.1-405b: it has no experts to be shared out over 2 expert ranks; expected 1");
  EXPECT_EQ(refusal(load_model("mixtral-8x7b"), {.expert = 3, .data = 3}),
            "mixtral-8x7b: 8 experts cannot be shared out over 3 expert ranks; expected a divisor of 8");
  EXPECT_EQ(refusal(load_model("mixtral-8x7b"), {.expert = 8, .data = 4}),
            "mixtral-8x7b: 8 expert ranks are not a part of 4 data · 1 context ranks; expected as many data ranks as "
            "make data · context a multiple of 8");
  EXPECT_EQ(refusal(model, {.tensor = 0}), "a layout with a tensor size of 0; expected 1 to 16777216");
  EXPECT_EQ(refusal(model, {.data = 2, .zero = 4}), "a layout with a ZeRO stage of 4; expected 0 to 3");
  EXPECT_EQ(refusal(model, {.pipeline = 2, .stage = 2}), "a layout with a stage of 2; expected 0 to 1");
  EXPECT_EQ(refusal(model, {.virtual_stages = 2}),
            "virtual stages without a pipeline; expected a pipeline of 2 or more");
  EXPECT_EQ(refusal(model, {.tensor = 8, .pipeline = 16, .data = 128}), "no error");
}

TEST(Layout, OfRoutersThatReadTheOneBeforeThemHasNoVirtualStages) {
  Model model = load_model((family_references::folder() / "tiny/zaya").string());
  model.name = "zaya";
  EXPECT_EQ(refusal(model, {.pipeline = 2, .virtual_stages = 2}),
            "zaya: routers that read what the router before them made cannot be on virtual stages of a pipeline; "
            "expected 1 of these");
  EXPECT_EQ(refusal(model, {.pipeline = 2}), "no error");
}

TEST(Layout, OfExpertsThatTokensNameHasTheTokensOnEveryStageWithSuchLayers) {
  const Model model = load_model((family_references::folder() / "published/deepseek_v4.json").string());
  Changes changes;
  changes.layers = 6;  // the first three of which are such
  Workload workload = workload_of(Phase::prefill);
  workload.tokens = 16;
  workload.layout.pipeline = 3;
  const auto has_tokens = [&](std::int64_t stage) {
    workload.layout.stage = stage;
    const Program program = logical_program(modify(model, changes), workload);
    for (const Op& op : program.ops) {
      const bool by_table = std::string(op.operation->name) == "route" && op.inputs.size() == 4;
      EXPECT_FALSE(by_table && op.inputs[3] == no_tensor);
    }
    return std::any_of(program.tensors.begin(), program.tensors.end(),
                       [](const Tensor& tensor) { return tensor.label == Label(Piece::ids); });
  };
  EXPECT_TRUE(has_tokens(0));
  EXPECT_TRUE(has_tokens(1));
  EXPECT_FALSE(has_tokens(2));
}

TEST(Layout, OfTokensThatDoNotDivideIsRefused) {
  const Model model = load_model("llama-3-8b");
  const auto why = [&](std::int64_t tokens, const Layout& layout, Phase phase = Phase::train) -> std::string {
    Workload workload = workload_of(phase);
    workload.tokens = tokens;
    workload.layout = layout;
    try {
      logical_program(model, workload);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(why(36, {.tensor = 8, .sequence = true}),
            "llama-3-8b: 36 tokens cannot be shared out over 8 tensor ranks, which sequence parallelism asks for; "
            "expected a divisor of 36");
  EXPECT_EQ(why(36, {.context = 8}),
            "llama-3-8b: 36 tokens cannot be shared out over 16 pieces, two for each context rank; expected a divisor "
            "of 36");
  EXPECT_EQ(why(32, {.context = 8}, Phase::prefill),
            "llama-3-8b: context ranks are for phases train and forward, found prefill");
}

// Llama 3 405B takes a layer from the first and the last of 16 stages: 126 = 7 + 14·8 + 7 (arXiv 2407.21783, 3.3.2).
TEST(Stages, ShareOutLayersEvenlyOrWithTheEmbeddingAndTheLossInThePlaceOfOne) {
  const Model model = load_model("llama-3.1-405b");
  using Ranges = std::vector<LayerRange>;
  EXPECT_EQ(stage_layers(model, {.pipeline = 16, .stage = 0}), (Ranges{{0, 7}}));
  EXPECT_EQ(stage_layers(model, {.pipeline = 16, .stage = 1}), (Ranges{{7, 15}}));
  EXPECT_EQ(stage_layers(model, {.pipeline = 16, .stage = 15}), (Ranges{{119, 126}}));
  EXPECT_EQ(stage_layers(model, {.pipeline = 9, .stage = 8}), (Ranges{{112, 126}}));
  EXPECT_EQ(stage_layers(model, {.pipeline = 3, .virtual_stages = 2, .stage = 1}), (Ranges{{21, 42}, {84, 105}}));
}

// ---- what stays for the backward pass: Korthikanti et al. 2022 (arXiv 2205.05198), section 4

struct Set {
  std::int64_t h, a, layers, b;
};

Model gpt(const Set& set) {
  Changes changes;
  changes.layers = set.layers;
  changes.d_model = set.h;
  changes.heads = set.a;
  changes.vocab = 51200;
  changes.context = 2048;
  return modify(load_model("gpt3-175b"), changes);
}

// Bytes that one more layer keeps.
std::int64_t layer_bytes(Set set, const Workload& workload) {
  set.layers = 8;
  const std::int64_t few = compile(gpt(set), workload, megatron_target).plan.saved;
  set.layers = 9;
  return compile(gpt(set), workload, megatron_target).plan.saved - few;
}

// Without dropout a layer keeps no masks, and the softmax's output once: sbh(32 + 2as/h), of which 8 are whole tensors
// between the divided products (inputs of norms and what these make of them). Statistics of two LayerNorms, which the
// paper neglects, are two float32 a row each: 16sb.
TEST(Shard, KeepsOfALayerWhatTensorAndSequenceParallelismLeave) {
  const std::int64_t s = 2048, h = 6144, a = 64, b = 4, t = 8, sbh = s * b * h, scores = 2 * a * s * s * b;
  const Set set{h, a, 0, b};
  EXPECT_EQ(layer_bytes(set, training(b, s, {})), 32 * sbh + scores + 16 * s * b);
  EXPECT_EQ(layer_bytes(set, training(b, s, {.tensor = t})), 8 * sbh + 24 * sbh / t + scores / t + 16 * s * b);
  EXPECT_EQ(layer_bytes(set, training(b, s, {.tensor = t, .sequence = true})),
            32 * sbh / t + scores / t + 16 * s * b / t);
}

// The same with what their lowering keeps of dropout (table 2, and 4.2.2 for sequence parallelism).
TEST(Korthikanti, TensorAndSequenceParallelFormsComeOut) {
  for (const Set& set : {Set{6144, 64, 0, 4}, Set{12288, 96, 0, 1}}) {
    const std::int64_t s = 2048, h = set.h, a = set.a, b = set.b, t = 8, sbh = s * b * h, scores = 5 * a * s * s * b;
    const std::int64_t statistics = 16 * s * b;
    const auto kept = [&](bool sequence, Recompute recompute) {
      Workload workload = training(b, s, {.tensor = t, .sequence = sequence});
      workload.recompute = recompute;
      workload.dropout = workload.attention_dropout = 0.1;
      return layer_bytes(set, workload);
    };
    EXPECT_EQ(kept(false, Recompute::none), 10 * sbh + 24 * sbh / t + scores / t + statistics);
    EXPECT_EQ(kept(true, Recompute::none), 34 * sbh / t + scores / t + statistics / t);
    EXPECT_EQ(kept(false, Recompute::selective), 10 * sbh + 24 * sbh / t + statistics);
    EXPECT_EQ(kept(true, Recompute::selective), 34 * sbh / t + statistics / t);
    EXPECT_EQ(kept(false, Recompute::block), 2 * sbh);
  }
}

// Table 3's set-ups (section 6), on the first rank of the pipeline, without the terms of embedding and logits.
TEST(Korthikanti, FourSetUpsKeepTheirGibibytesOnTheFirstRank) {
  struct SetUp {
    Set set;
    Layout layout;
    double tensor, sequence_and_selective;  // GiB
  };
  const std::vector<SetUp> set_ups = {
      {{6144, 64, 48, 4}, {.tensor = 8, .micro_batches = 1}, 59.25, 9.5625},
      {{12288, 96, 96, 1},
       {.tensor = 8, .pipeline = 8, .virtual_stages = 3, .micro_batches = 64},
       66.84375,
       12.3515625},
      {{20480, 128, 105, 1},
       {.tensor = 8, .pipeline = 35, .virtual_stages = 3, .micro_batches = 280},
       114.0234375,
       23.076171875},
      {{25600, 160, 128, 1}, {.tensor = 8, .pipeline = 64, .micro_batches = 512}, 131.25, 26.5625},
  };
  constexpr std::int64_t s = 2048;
  for (const auto& [given, layout, tensor, sequence_and_selective] : set_ups) {
    SCOPED_TRACE(given.h);
    for (const bool present : {false, true}) {
      Workload workload = training(given.b, s, layout);
      workload.layout.sequence = present;
      workload.recompute = present ? Recompute::selective : Recompute::none;
      workload.dropout = workload.attention_dropout = 0.1;
      const std::int64_t pieces = layout.virtual_stages;
      const auto saved = [&, given = given](std::int64_t layers) {
        Set set = given;
        set.layers = layers;
        return compile(gpt(set), workload, megatron_target).plan.saved;
      };
      // One layer more in every piece.
      const std::int64_t more = saved(given.layers + layout.pipeline * pieces) - saved(given.layers);
      const std::int64_t statistics = 16 * s * given.b / (present ? layout.tensor : 1);
      const std::int64_t layer = more / pieces - statistics;
      const std::int64_t of_piece = layer * given.layers / layout.pipeline / pieces;
      const double gibibytes =
          static_cast<double>(of_piece * micro_batches_in_flight(workload.layout)) / (1024.0 * 1024.0 * 1024.0);
      EXPECT_EQ(gibibytes, present ? sequence_and_selective : tensor);
    }
  }
}

// The first stage of 1F1B has p micro-batches in flight, the last one; interleaved it is pV + p − 1 pieces, and never
// more than there are (Megatron-LM, schedules.py; Korthikanti et al., section 4.2.3 and appendix C).
TEST(Pipeline, HasMicroBatchesInFlightAsTheScheduleSays) {
  EXPECT_EQ(micro_batches_in_flight({}), 1);
  EXPECT_EQ(micro_batches_in_flight({.pipeline = 8, .micro_batches = 64}), 8);
  EXPECT_EQ(micro_batches_in_flight({.pipeline = 8, .stage = 7, .micro_batches = 64}), 1);
  EXPECT_EQ(micro_batches_in_flight({.pipeline = 8, .stage = 3, .micro_batches = 4}), 4);
  EXPECT_EQ(micro_batches_in_flight({.pipeline = 8, .virtual_stages = 3, .micro_batches = 64}), 8 * 3 + 7);
  EXPECT_EQ(micro_batches_in_flight({.pipeline = 8, .virtual_stages = 3, .stage = 7, .micro_batches = 64}), 2 * 8 + 1);
  EXPECT_EQ(micro_batches_in_flight({.pipeline = 16, .virtual_stages = 8, .micro_batches = 16}), 128);
}

// ---- traffic

Ledger ledger_of(const Model& model, const Workload& workload) { return read_ledger(logical_program(model, workload)); }

Count sent(const Ledger& ledger, Group group, Stage stage) {
  Count sum;
  for (const WorkEntry& entry : ledger.work)
    if (entry.group == group && entry.stage == stage) sum += entry.each.sent * entry.place.count;
  return sum;
}

Count sent_by_layers(const Ledger& ledger, Group group) {
  Count sum;
  for (const WorkEntry& entry : ledger.work)
    if (entry.group == group && entry.place.layer >= 0 && entry.stage != Stage::optimizer)
      sum += entry.each.sent * entry.place.count;
  return sum;
}

// Narayanan et al. 2021 (arXiv 2104.04473), section 3.2: a layer sends 8bsh(t − 1)/t elements. With sequence
// parallelism as much, and once more what is gathered again for the backward pass (Korthikanti et al., 4.2.2): 10.
TEST(Shard, SendsForTensorParallelismWhatNarayananCounts) {
  const Model model = load_model("llama-3.1-405b");
  const std::int64_t s = 8192, h = 16384, t = 8, layers = 126;
  const Ledger plain = ledger_of(model, training(1, s, {.tensor = t}));
  EXPECT_EQ(sent_by_layers(plain, Group::tensor), Count(layers) * 2 * 8 * s * h * (t - 1) / t);
  const Ledger sequence = ledger_of(model, training(1, s, {.tensor = t, .sequence = true}));
  EXPECT_EQ(sent_by_layers(sequence, Group::tensor), Count(layers) * 2 * 10 * s * h * (t - 1) / t);
}

TEST(Shard, OfALastStageSendsThreeNumbersATokenForTheLoss) {
  const Model model = load_model("llama-3-8b");
  const std::int64_t s = 64, b = 2, t = 8;
  std::int64_t sums = 0;
  for (const WorkEntry& entry : ledger_of(model, training(b, s, {.tensor = t})).work) {
    if (entry.place.role.block != Block::loss || entry.group != Group::tensor) continue;
    ++sums;
    EXPECT_EQ(entry.each.sent, 2 * 4 * s * b * (t - 1) / t);
  }
  EXPECT_EQ(sums, 3);
}

TEST(Pipeline, SendsTheResidualStreamForwardAndItsGradientBack) {
  const Model model = load_model("llama-3-8b");
  const std::int64_t bsh = 2 * 64 * 4096 * 2;  // bytes
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const Ledger ledger = ledger_of(model, training(2, 64, {.pipeline = 4, .stage = stage}));
    EXPECT_EQ(sent(ledger, Group::pipeline, Stage::forward), stage < 3 ? bsh : 0) << stage;
    EXPECT_EQ(sent(ledger, Group::pipeline, Stage::backward), stage > 0 ? bsh : 0) << stage;
    // Interleaved, once more for each further piece.
    const Ledger twice = ledger_of(model, training(2, 64, {.pipeline = 4, .virtual_stages = 2, .stage = stage}));
    EXPECT_EQ(sent(twice, Group::pipeline, Stage::forward), (stage < 3 ? 2 : 1) * bsh) << stage;
    EXPECT_EQ(sent(twice, Group::pipeline, Stage::backward), (stage > 0 ? 2 : 1) * bsh) << stage;
  }
}

// 40 layers of width 2048 on 4 stages, or 38 and the places of the embedding and the loss: with each token's residual
// goes what the last router made of it, 256 numbers. All stages together have what the whole model has.
TEST(Pipeline, SendsWhatChainedRoutersMadeWithTheResidualStream) {
  const Model whole = load_model((family_references::folder() / "published/zaya.json").string());
  for (const std::int64_t layers : {40, 38}) {
    Changes changes;
    changes.layers = layers;
    const Model model = modify(whole, changes);
    for (const Phase phase : {Phase::forward, Phase::prefill, Phase::decode}) {
      Workload workload = workload_of(phase);
      workload.batch = 3;
      workload.tokens = phase == Phase::decode ? 1 : 64;
      workload.precision.activations = DType::bfloat16;
      const Ledger all = ledger_of(model, workload);
      Count parameters, products;
      workload.layout.pipeline = 4;
      for (std::int64_t stage = 0; stage < 4; ++stage) {
        workload.layout.stage = stage;
        const Ledger ledger = ledger_of(model, workload);
        parameters += ledger.parameter_totals.total;
        products += ledger.forward.matmul;
        EXPECT_EQ(sent(ledger, Group::pipeline, Stage::forward),
                  stage < 3 ? 2 * 3 * workload.tokens * (2048 + 256) : 0);
        EXPECT_GT(compile(model, workload, cpu_target).plan.arena, 0);
      }
      EXPECT_EQ(products, all.forward.matmul);
      EXPECT_EQ(parameters,
                all.parameter_totals.total + Count(2048) * 262272);  // the tied table is on the last stage too
    }
  }
}

// ---- all ranks together are the whole

Count matmul(const Ledger& ledger) { return ledger.forward.matmul + ledger.backward.matmul; }

TEST(Shard, OfAllRanksDoesTheProductsOfTheWholeModel) {
  for (const char* name : {"llama-3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gemma-2-9b", "olmo2-7b"}) {
    SCOPED_TRACE(name);
    const Model model = load_model(name);
    const Workload whole = training(1, 64, {});
    const Count all = matmul(ledger_of(model, whole));
    for (const Layout& layout : {Layout{.tensor = 4}, Layout{.tensor = 4, .sequence = true}, Layout{.context = 4},
                                 Layout{.tensor = 4, .sequence = true, .context = 2}}) {
      const std::int64_t ranks = layout.tensor * layout.context;
      // What latents and routers make is made by every tensor rank, unless these have other tokens.
      const bool repeated = !layout.sequence && layout.tensor > 1;
      const Count sum = ranks * matmul(ledger_of(model, training(1, 64, layout)));
      if (repeated && std::string(name) != "llama-3-8b" && std::string(name) != "gemma-2-9b" &&
          std::string(name) != "olmo2-7b") {
        EXPECT_GT(sum, all);
      } else {
        EXPECT_EQ(sum, all);
      }
    }
  }
}

TEST(Pipeline, OfAllStagesIsTheWholeModel) {
  for (const char* name : {"llama-3-8b", "deepseek-v2-lite", "gemma-3-1b", "gpt-oss-20b", "llama-3.1-405b"}) {
    SCOPED_TRACE(name);
    const Model model = load_model(name);
    const Ledger whole = ledger_of(model, training(1, 64, {}));
    for (const Layout& layout :
         {Layout{.pipeline = 2}, Layout{.pipeline = 3}, Layout{.pipeline = 3, .virtual_stages = 2},
          Layout{.pipeline = 4, .virtual_stages = 3}}) {
      if (refusal(model, layout) != "no error") continue;
      Count products, parameters;
      for (std::int64_t stage = 0; stage < layout.pipeline; ++stage) {
        Layout own = layout;
        own.stage = stage;
        const Ledger part = ledger_of(model, training(1, 64, own));
        products += matmul(part);
        parameters += part.parameter_totals.total;
      }
      EXPECT_EQ(products, matmul(whole));
      // A table that is tied to the head is on the first and on the last stage.
      const Count copy = model.head.tied ? Count(model.vocab_size) * model.d_model : Count(0);
      EXPECT_EQ(parameters, whole.parameter_totals.total + copy);
    }
  }
}

TEST(Shard, OfAllRanksHasTheParametersOfTheWholeModelAndCopiesOfNorms) {
  const Model model = load_model("llama-3-8b");
  const Count whole = ledger_of(model, training(1, 64, {})).parameter_totals.total;
  const Count rank = ledger_of(model, training(1, 64, {.tensor = 8})).parameter_totals.total;
  const Count norms = (2 * 32 + 1) * 4096;
  EXPECT_EQ(8 * (rank - norms) + norms, whole);
  // Eight key/value heads on sixteen ranks: two of them hold the same.
  const Count sixteen = ledger_of(model, training(1, 64, {.tensor = 16})).parameter_totals.total;
  const Count keys_and_values = Count(32) * 2 * 1024 * 4096;
  EXPECT_EQ(16 * (sixteen - norms) + norms, whole + keys_and_values);
}

// ---- ZeRO: Rajbhandari et al. 2019 (arXiv 1910.02054), table 1, 7.5 billion parameters

// Weights, gradients and the optimizer's state, all float32 here: 4, 4 and 8 bytes a parameter.
TEST(Zero, SharesOutTheOptimizersStateThenGradientsThenWeights) {
  const Model model = load_model("llama-3-8b");  // whose parameters all divide by 64
  const std::int64_t n = 64, parameters = 8'030'261'248;
  const auto plan = [&](std::int64_t zero) {
    Workload workload = training(1, 64, {.data = n, .zero = zero});
    workload.precision = {};
    return compile(model, workload, megatron_target).plan;
  };
  const Plan none = plan(0), one = plan(1), two = plan(2), three = plan(3);
  EXPECT_EQ(none.weights, 4 * parameters);
  EXPECT_EQ(none.gradients, 4 * parameters);
  EXPECT_EQ(none.optimizer, 8 * parameters);
  EXPECT_EQ(one.weights, 4 * parameters);
  EXPECT_EQ(one.gradients, 4 * parameters);
  EXPECT_EQ(one.optimizer, 8 * parameters / n);
  EXPECT_EQ(two.weights, 4 * parameters);
  EXPECT_EQ(two.gradients, 4 * parameters / n);
  EXPECT_EQ(two.optimizer, 8 * parameters / n);
  EXPECT_EQ(three.weights, 4 * parameters / n);
  EXPECT_EQ(three.gradients, 4 * parameters / n);
  EXPECT_EQ(three.optimizer, 8 * parameters / n);
}

// Table 1: GB of 7.5 billion parameters in mixed precision, 2 + 2 + 12 bytes each.
TEST(Zero, HasTheBytesOfTable1) {
  struct Line {
    std::int64_t ranks;
    double one, two, three;
  };
  const Model model = load_model("llama-3-8b");
  for (const auto& [ranks, one, two, three] :
       {Line{1, 120, 120, 120}, Line{4, 52.5, 41.3, 30}, Line{16, 35.6, 21.6, 7.5}, Line{64, 31.4, 16.6, 1.88},
        Line{256, 30.4, 15.4, 0.47}, Line{1024, 30.1, 15.1, 0.12}}) {
    const auto gigabytes = [&, data = ranks](std::int64_t zero) {
      const Plan plan = compile(model, training(1, 64, {.data = data, .zero = zero}), megatron_target).plan;
      return static_cast<double>(plan.weights + plan.gradients + plan.optimizer) / 8'030'261'248.0 * 7.5;
    };
    EXPECT_NEAR(gigabytes(1), one, 0.0501) << ranks;
    EXPECT_NEAR(gigabytes(2), two, 0.0501) << ranks;
    EXPECT_NEAR(gigabytes(3), three, 0.0051) << ranks;
  }
}

// Section 7: stages 1 and 2 send as much as summing gradients does, Ψ to each way; 3 gathers weights twice. Once a step
// or for every micro-batch: 1 sums once; 2 sums each time and gathers once; 3 does all each time.
TEST(Zero, SendsTwiceTheParametersAStepOrThrice) {
  const Model model = load_model("llama-3-8b");
  const std::int64_t n = 64;
  const Count once = Count(4) * 8'030'261'248 * (n - 1) / n;  // Ψ(n − 1)/n in float32
  const auto sends = [&](std::int64_t zero, bool each_step) {
    Workload workload = training(1, 64, {.data = n, .zero = zero});
    workload.precision = {};
    const Program program = compile(model, workload, megatron_target).lowered;
    Count sum;
    for (const Op& op : program.ops) {
      const Cost cost = op.operation->cost(program, op);
      if (cost.group == Group::data && once_a_step(op) == each_step) sum += cost.sent * program.count(op.repeat);
    }
    return sum;
  };
  EXPECT_EQ(sends(0, true), 2 * once);
  EXPECT_EQ(sends(0, false), 0);
  EXPECT_EQ(sends(1, true), 2 * once);
  EXPECT_EQ(sends(1, false), 0);
  EXPECT_EQ(sends(2, true), once);
  EXPECT_EQ(sends(2, false), once);
  EXPECT_EQ(sends(3, true), 0);
  // The table of the embedding is not needed on the way back.
  EXPECT_EQ(sends(3, false), 3 * once - Count(4) * 128'256 * 4096 * (n - 1) / n);
}

// ---- expert and context parallelism

// Dispatch and combine send a token's rows to k experts and back, forward and again backward: 4·T·k·h·(e − 1)/e.
TEST(Experts, AreSentTheirRowsAndSendThemBack) {
  const Model model = load_model("mixtral-8x7b");
  const std::int64_t e = 4, tokens = 64, k = 2, h = 4096, layers = 32;
  const Ledger ledger = ledger_of(model, training(1, tokens, {.expert = e, .data = e}));
  EXPECT_EQ(sent_by_layers(ledger, Group::expert), Count(layers) * 4 * tokens * k * h * 2 * (e - 1) / e);
  const Ledger whole = ledger_of(model, training(1, tokens, {}));
  EXPECT_EQ(matmul(ledger), matmul(whole));
  const Count experts = Count(layers) * 8 * 3 * 4096 * 14336;
  EXPECT_EQ(ledger.parameter_totals.total, whole.parameter_totals.total - experts + experts / e);
}

// Each rank runs the recurrences of its own sequences, as the whole model does: of its weights experts alone are fewer.
TEST(Experts, LeaveRecurrencesToEachRank) {
  for (const char* name : {"jamba", "qwen3_next", "qwen3_5_moe_text", "granitemoehybrid", "kimi_linear", "lfm2_moe",
                           "nemotron_h", "minimax"}) {
    SCOPED_TRACE(name);
    const Model model = load_model((family_references::folder() / "tiny" / name).string());
    ASSERT_NE(find<Recurrence>(model), nullptr);
    const Ledger whole = ledger_of(model, training(1, 64, {}));
    const std::int64_t e = find<Mixture>(model)->n_experts;
    const Ledger ledger = ledger_of(model, training(1, 64, {.expert = e, .data = e}));
    EXPECT_EQ(matmul(ledger), matmul(whole));
    EXPECT_EQ(ledger.forward.elementwise, whole.forward.elementwise);
    Count experts;
    for (const ParameterEntry& entry : whole.parameters)
      if (entry.place.role.expert == Expert::routed) experts += entry.each * entry.place.count;
    EXPECT_GT(experts, 0);
    EXPECT_EQ(ledger.parameter_totals.total, whole.parameter_totals.total - experts + experts / e);
    EXPECT_GT(sent_by_layers(ledger, Group::expert), 0);
  }
}

// So they do attention to keys that are values too, and hyper-connections: of a prompt that a rank works through,
// experts alone are shared out, to which each token's rows go and from which they come back: 2·T·k·h·(e − 1)/e elements
// of 4 bytes.
TEST(Experts, OfDeepSeekV4LeaveAttentionToEachRank) {
  const Model model = load_model((family_references::folder() / "tiny/deepseek_v4").string());
  const Mixture& mixture = *find<Mixture>(model);
  const std::int64_t e = mixture.n_experts, tokens = 16, layers = static_cast<std::int64_t>(model.layers.size());
  Workload workload = workload_of(Phase::prefill);
  workload.tokens = tokens;
  const Ledger whole = ledger_of(model, workload);
  workload.layout = {.expert = e, .data = e};
  const Ledger ledger = ledger_of(model, workload);
  EXPECT_EQ(ledger.forward.matmul, whole.forward.matmul);
  const Count experts = Count(layers) * e * 3 * model.d_model * mixture.expert.d_ff;
  EXPECT_EQ(ledger.parameter_totals.total, whole.parameter_totals.total - experts + experts / e);
  EXPECT_EQ(sent_by_layers(ledger, Group::expert),
            Count(layers) * 2 * tokens * mixture.n_active * model.d_model * 4 * (e - 1) / e);
  for (const Layout& layout : {Layout{.tensor = 2}, Layout{.context = 2}})
    EXPECT_NE(refusal(model, layout).find("cannot be shared out over tensor or context ranks"), std::string::npos);
}

// The heads that tokens choose are experts of attention, which nothing sends their rows.
TEST(Layout, OfRoutedHeadsHasDataRanksAlone) {
  const Model model = load_model((family_references::folder() / "tiny/jetmoe").string());
  EXPECT_EQ(refusal(model, {.data = 2}), "no error");
  EXPECT_NE(refusal(model, {.expert = 2, .data = 2}).find("routed heads cannot be shared out"), std::string::npos);
}

TEST(Layout, OfRecurrencesHasExpertAndDataRanksAlone) {
  const Model model = load_model("qwen3-next-80b-a3b");
  EXPECT_EQ(refusal(model, {.expert = 2, .data = 2}), "no error");
  for (const Layout& layout : {Layout{.tensor = 2}, Layout{.context = 2}})
    EXPECT_NE(refusal(model, layout).find("recurrences cannot be shared out over tensor or context ranks"),
              std::string::npos);
}

// Of what a model has.
TEST(Layout, NamesTheFormOfAttentionThatHasNoRule) {
  const auto names = [](const char* tiny, const std::string& form) {
    const Model model = load_model((family_references::folder() / "tiny" / tiny).string());
    for (const Layout& layout : {Layout{.tensor = 2}, Layout{.context = 2}}) {
      const std::string said = refusal(model, layout);
      EXPECT_NE(said.find(": " + form + " cannot be shared out over tensor or context ranks"), std::string::npos)
          << said;
    }
  };
  names("deepseek_v4", "keys that are values too");
  names("zaya", "convolutions of heads");
  names("diffllama", "differences of heads");
  names("doge", "dynamic masks");
}

// All-gather of keys and values: 2·s·b·kvd·(c − 1)/c elements; back, once more, and the sum of their gradients.
TEST(Context, GathersKeysAndValuesAndSumsTheirGradients) {
  const Model model = load_model("llama-3-8b");
  const std::int64_t c = 4, tokens = 64, width = 1024, layers = 32;
  const Ledger ledger = ledger_of(model, training(1, tokens, {.context = c}));
  EXPECT_EQ(sent_by_layers(ledger, Group::context), Count(layers) * 3 * 2 * tokens * width * 2 * (c - 1) / c);
}

// Identity experts give back the rows of the rank's own tokens: both ranks together do the products of the whole model,
// and each copies half of the rows, 2 layers · 64 tokens · 3 experts a token.
TEST(Context, OfIdentityExpertsHasTheRowsOfEachRanksTokens) {
  const Model model = load_model((family_references::folder() / "tiny/longcat_flash").string());
  const auto ledger = [&](std::int64_t ranks) { return ledger_of(model, training(1, 64, {.context = ranks})); };
  EXPECT_EQ(2 * matmul(ledger(2)), matmul(ledger(1)));
  Count written;
  for (const WorkEntry& entry : ledger(2).work)
    if (entry.operation == &pass_identity_operation) written += entry.each.written * entry.place.count;
  EXPECT_EQ(written, Count(2) * 32 * 3 * model.d_model * 2);
}

// ---- rules

TensorId parameter(Builder& b) { return b.parameter({}, Piece::weight, {2, 4, 8}); }

// The gradient of each collective is its conjugate (Korthikanti et al., figures 4 to 6).
TEST(Collectives, HaveTheirConjugatesAsGradients) {
  using B = Builder;
  const auto backward = [](TensorId (*build)(B&)) {
    B b{Program{}};
    b.program().workload.phase = Phase::train;
    b.program().output = build(b);
    std::string names;
    for (const Op& op : gradient(b.finish()).program.ops)
      if (op.stage == Stage::backward) names += (names.empty() ? "" : " ") + std::string(op.operation->name);
    return names;
  };
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 4, 8}, all_reduce_operation, {parameter(b)}, {Group::tensor, 4});
            }),
            "");
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 4, 8}, copy_to_group_operation, {parameter(b)}, {Group::tensor, 4});
            }),
            "all_reduce");
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 16, 8}, all_gather_operation, {parameter(b)}, {Group::tensor, 4, 1});
            }),
            "reduce_scatter");
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 16, 8}, all_gather_operation, {parameter(b)}, {Group::tensor, 4, 1, true});
            }),
            "own_part");
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 1, 8}, reduce_scatter_operation, {parameter(b)}, {Group::tensor, 4, 1});
            }),
            "all_gather");
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 1, 8}, own_part_operation, {parameter(b)}, {Group::tensor, 4, 1});
            }),
            "all_gather");
  EXPECT_EQ(backward([](B& b) {
              return b.compute("y", {2, 4, 8}, all_to_all_operation, {parameter(b)}, {Group::expert, 4});
            }),
            "all_to_all");
  EXPECT_EQ(backward([](B& b) { return send(b, parameter(b), 4); }), "receive");
  EXPECT_EQ(backward([](B& b) { return receive(b, no_tensor, {2, 4, 8}, 4); }), "send");
}

TEST(Shard, RefusesAnOperationWithoutARuleByName) {
  Builder b{Program{}};
  b.program().workload.layout.tensor = 2;
  b.set_role({Block::optimizer});
  const TensorId w = b.parameter({Block::head, Part::project}, Piece::weight, {4});
  b.program().output = squared_norm(b, no_tensor, w);
  try {
    shard(b.finish());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[squared_norm] of optimizer cannot be shared out over ranks: it has no rule for that");
  }
}

// Norms, and biases of what is divided by rows, are on all tensor ranks. With sequence parallelism each has seen other
// tokens: their gradients are summed once a step, 2·n·(t − 1)/t.
TEST(Shard, KeepsParametersOfAllTensorRanksAlike) {
  const Model model = load_model("llama-3-8b");
  const std::int64_t t = 8, norms = (2 * 32 + 1) * 4096;
  EXPECT_EQ(sent(ledger_of(model, training(1, 64, {.tensor = t})), Group::tensor, Stage::optimizer), 0);
  EXPECT_EQ(sent(ledger_of(model, training(1, 64, {.tensor = t, .sequence = true})), Group::tensor, Stage::optimizer),
            Count(2) * 2 * norms * (t - 1) / t);
  // A head's norm is the same for all heads, of which each rank has some: 2 · 36 layers · 128.
  const Model qwen = load_model("qwen3-8b");
  EXPECT_EQ(sent(ledger_of(qwen, training(1, 64, {.tensor = t})), Group::tensor, Stage::optimizer),
            Count(2) * 2 * 2 * 36 * 128 * (t - 1) / t);
}

// Both ends of a pipeline have a tied table, and sum its gradient over two ranks once a step: 2·S·½.
TEST(Pipeline, KeepsATiedTableAlikeOnItsFirstAndLastStage) {
  const Model model = load_model("gpt2");
  const Count table = Count(2) * 50257 * 768;
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    const Ledger ledger = ledger_of(model, training(1, 64, {.pipeline = 3, .stage = stage}));
    EXPECT_EQ(sent(ledger, Group::pipeline, Stage::optimizer), stage == 1 ? Count(0) : table) << stage;
  }
}

// A rank's part of a matrix has its formula: d·f/8.
TEST(Shard, SaysInFormulasWhatIsShared) {
  const Model model = load_model("llama-3-8b");
  const Ledger ledger = ledger_of(model, training(1, 64, {.tensor = 8}));
  for (const ParameterEntry& entry : ledger.parameters) {
    const Part part = entry.place.role.part;
    if (part == Part::up || part == Part::output) {
      EXPECT_EQ(entry.elements.symbols(ledger.width), part == Part::up ? "d·f/8" : "d²/8");
    }
  }
}

// Bodies stand for what they say: written out, a rank's program does and sends the same.
TEST(Shard, WrittenOutHasTheLedgerOfTheFoldedProgram) {
  for (const char* name : {"gemma-2-2b", "mixtral-8x7b", "deepseek-v2-lite", "gpt2"}) {
    SCOPED_TRACE(name);
    const Model model = load_model(name);
    for (const Layout& layout :
         {Layout{.tensor = 2, .sequence = true, .context = 2, .data = 2, .zero = 3},
          Layout{.tensor = 2, .pipeline = 2, .stage = 1, .data = 2, .zero = 2}, Layout{.context = 2, .zero = 1}}) {
      if (refusal(model, layout) != "no error") continue;
      const Program folded = logical_program(model, training(1, 64, layout));
      const Ledger one = read_ledger(folded), all = read_ledger(expand(folded));
      EXPECT_EQ(one.total().matmul, all.total().matmul);
      EXPECT_EQ(one.total().elementwise, all.total().elementwise);
      EXPECT_EQ(one.total().sent, all.total().sent);
      EXPECT_EQ(one.parameter_totals.total, all.parameter_totals.total);
    }
  }
}

// ---- everything compiles

TEST(Shard, OfEveryPresetAndTypeCompilesInEveryPhaseOrSaysWhyNot) {
  const std::vector<Layout> layouts = {
      {.tensor = 2},
      {.tensor = 8, .sequence = true},
      {.pipeline = 2, .stage = 1},
      {.tensor = 2,
       .sequence = true,
       .context = 2,
       .pipeline = 2,
       .stage = 0,
       .data = 4,
       .zero = 1,
       .micro_batches = 8},
      {.expert = 2, .data = 2, .zero = 3},
      {.tensor = 2, .expert = 4, .data = 4, .zero = 2},
      {.context = 2, .data = 2, .zero = 2},
      {.data = 4, .zero = 3},  // which any network can have
  };
  std::vector<std::string> models;
  for (const Preset& preset : presets()) models.emplace_back(preset.name);
  for (const std::string& name : family_references::found("tiny"))
    models.push_back((family_references::folder() / "tiny" / name).string());
  std::map<std::string, int> compiled;
  for (const std::string& name : models) {
    const Model model = load_model(name);
    for (const Layout& layout : layouts) {
      for (Phase phase : {Phase::forward, Phase::prefill, Phase::decode, Phase::train}) {
        Workload workload = workload_of(phase);
        workload.tokens = phase == Phase::decode ? 1 : 64;
        if (phase == Phase::decode) workload.past = 63;
        workload.layout = layout;
        for (const Target& target : {gpu_target, megatron_target}) {
          try {
            const Compiled one = compile(model, workload, target);
            read_ledger(one.lowered);
            ++compiled[model.name];
          } catch (const UsageError&) {
          } catch (const Error& error) {
            ADD_FAILURE() << model.name << ": " << error.what();
          }
        }
      }
    }
    EXPECT_GT(compiled[model.name], 0) << model.name;
  }
}

}  // namespace
}  // namespace reckon
