// Examples that can be worked out by hand or are published, each with all its numbers.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <stdexcept>

#include "count/rules.h"
#include "model/modify.h"

namespace reckon {
namespace {

constexpr double tera = 1e12, giga = 1e9;
constexpr double gib = 1024.0 * 1024.0 * 1024.0;

Model changed(const std::string& name, const Changes& changes) { return modify(load_model(name), changes); }

Ledger at(const std::string& name, std::int64_t tokens) {
  Workload workload;
  workload.tokens = tokens;
  return count(load_model(name), workload);
}

Row component(const Ledger& ledger, Quantity quantity, const std::string& name) {
  for (const Row& row : rows(ledger, quantity, By::component)) {
    if (row.name == name) return row;
  }
  throw std::logic_error("there is no component " + name);
}

Count parameters_of(const Ledger& ledger, const std::string& name) {
  return component(ledger, Quantity::parameters, name).value;
}

// Matmul FLOPs in one block, and in all.
Count flops_each(const Ledger& ledger, const std::string& name) {
  return component(ledger, Quantity::matmul, name).each;
}
Count flops_of(const Ledger& ledger, const std::string& name) {
  return component(ledger, Quantity::matmul, name).value;
}
Count pairwise_flops(const Ledger& ledger) { return flops_of(ledger, "scores") + flops_of(ledger, "mixing"); }

double share(Count part, Count whole) { return static_cast<double>(part) / static_cast<double>(whole); }

Rule rule(const Model& model, const std::string& name, double train_tokens = 0) {
  for (const Rule& rule : rules_of_thumb(model, count(model), train_tokens)) {
    if (rule.name == name) return rule;
  }
  throw std::logic_error("there is no rule " + name);
}

// ---- mini-gpt: d = 64, 2 layers, 4 heads, d_ff = 256, 512 tokens, context 32

TEST(WorkedMiniGpt, HasItsParametersInEveryComponent) {
  const Ledger ledger = count(load_model("mini-gpt"));
  EXPECT_EQ(parameters_of(ledger, "token embedding"), 32768);                      // 512·64
  EXPECT_EQ(component(ledger, Quantity::parameters, "attention").each, 16384);     // 4·64²
  EXPECT_EQ(component(ledger, Quantity::parameters, "feed-forward").each, 32768);  // 2·64·256
  EXPECT_EQ(component(ledger, Quantity::parameters, "norms").each, 128);           // 2·64
  EXPECT_EQ(parameters_of(ledger, "attention") + parameters_of(ledger, "feed-forward") + parameters_of(ledger, "norms"),
            2 * 49280);
  EXPECT_EQ(parameters_of(ledger, "final norm"), 64);
  EXPECT_EQ(ledger.parameter_totals.total, 131392);
  EXPECT_EQ(count_parameters(load_model("mini-gpt")), 131392);
}

TEST(WorkedMiniGpt, ShowsTheFormulaOfEachComponent) {
  const Ledger ledger = count(load_model("mini-gpt"));
  const Row attention = component(ledger, Quantity::parameters, "attention");
  EXPECT_EQ(attention.formula, "4·L·d²");
  EXPECT_EQ(attention.numbers, "4·2·64²");
  EXPECT_EQ(component(ledger, Quantity::parameters, "feed-forward").formula, "2·L·d·f");
  EXPECT_EQ(component(ledger, Quantity::parameters, "token embedding").formula, "V·d");
}

TEST(WorkedMiniGpt, LearnedPositionsAdd2048) {
  Changes changes;
  changes.positions = Changes::PositionKind::learned;
  EXPECT_EQ(count_parameters(changed("mini-gpt", changes)), 131392 + 2048);
}

TEST(WorkedMiniGpt, AnUntiedHeadAdds32768) {
  Changes changes;
  changes.tied = false;
  EXPECT_EQ(count_parameters(changed("mini-gpt", changes)), 131392 + 32768);
}

TEST(WorkedMiniGpt, BiasesAdd256ToAttentionAnd320ToFeedForwardInEachBlock) {
  Changes changes;
  changes.bias = true;
  const Ledger ledger = count(changed("mini-gpt", changes));
  EXPECT_EQ(component(ledger, Quantity::parameters, "attention").each, 16384 + 256);
  EXPECT_EQ(component(ledger, Quantity::parameters, "feed-forward").each, 32768 + 320);
  EXPECT_EQ(ledger.parameter_totals.total, 131392 + 2 * (256 + 320));
}

TEST(WorkedMiniGpt, CrossAttentionAddsFourSquaredWidthsToEachLayer) {
  Changes changes;
  changes.cross_attention = true;
  EXPECT_EQ(count_parameters(changed("mini-gpt", changes)), 131392 + 2 * 4 * 64 * 64);
}

TEST(WorkedMiniGpt, HalfAsWideHas41120Parameters) { EXPECT_EQ(count_parameters(load_model("mini-gpt-small")), 41120); }

TEST(WorkedMiniGpt, WeighsMoreThanALevelOneCache) {
  const Ledger ledger = count(load_model("mini-gpt"));
  EXPECT_EQ(weight_bytes(ledger, DType::float32), 525568);
  EXPECT_EQ(weight_bytes(ledger, DType::bfloat16), 262784);
  EXPECT_EQ(weight_bytes(ledger, DType::int8), 131392);
  EXPECT_EQ(weight_bytes(ledger, DType::int4), 65696);
  EXPECT_GT(weight_bytes(ledger, DType::bfloat16), 64 * 1024);
}

// ---- gpt2

TEST(WorkedGpt2, Has124439808Parameters) { EXPECT_EQ(count_parameters(load_model("gpt2")), 124439808); }

TEST(WorkedGpt2, WithoutQueryKeyValueBiasesHasTheTextbooksNumbers) {
  Changes changes;
  changes.qkv_bias = false;
  const Ledger ledger = count(changed("gpt2", changes));
  const Count total = ledger.parameter_totals.total;
  EXPECT_EQ(total, 124412160);
  EXPECT_EQ(parameters_of(ledger, "token embedding"), 38597376);
  EXPECT_EQ(parameters_of(ledger, "position embedding"), 786432);
  EXPECT_EQ(ledger.parameter_totals.embedding, 39383808);
  EXPECT_NEAR(share(ledger.parameter_totals.embedding, total), 0.317, 0.0005);
  EXPECT_EQ(component(ledger, Quantity::parameters, "attention").each, 2360064);
  EXPECT_EQ(component(ledger, Quantity::parameters, "feed-forward").each, 4722432);
  EXPECT_EQ(component(ledger, Quantity::parameters, "norms").each, 3072);
  EXPECT_EQ(2360064 + 4722432 + 3072, 7085568);
  EXPECT_EQ(parameters_of(ledger, "final norm"), 1536);
  EXPECT_EQ(39383808 + 12 * 7085568 + 1536, total);
  EXPECT_NEAR(share(parameters_of(ledger, "attention"), total), 0.228, 0.0005);
  EXPECT_NEAR(share(parameters_of(ledger, "feed-forward"), total), 0.455, 0.001);  // 45.55%
  changes.tied = false;
  EXPECT_EQ(count_parameters(changed("gpt2", changes)), 163009536);
}

// ---- cs336-gpt2-xl: 48 layers, d = 1,600, 25 heads, SwiGLU of 6,400, untied

TEST(WorkedXl, Has2127057600ParametersIn7Point92GiB) {
  const Ledger ledger = count(load_model("cs336-gpt2-xl"));
  EXPECT_EQ(ledger.parameter_totals.total, 2127057600);
  EXPECT_NEAR(static_cast<double>(weight_bytes(ledger, DType::float32)) / gib, 7.92, 0.005);
  Count block;
  for (const Row& row : rows(ledger, Quantity::parameters, By::component))
    block += row.group == "block" ? row.each : Count();
  EXPECT_EQ(block, 40963200);
}

TEST(WorkedXl, SpendsItsFlopsAt1024TokensWhereTheyBelong) {
  const Ledger ledger = at("cs336-gpt2-xl", 1024);
  EXPECT_EQ(flops_each(ledger, "query, key, value"), 15728640000);
  EXPECT_EQ(flops_each(ledger, "scores"), 3355443200);
  EXPECT_EQ(flops_each(ledger, "mixing"), 3355443200);
  EXPECT_EQ(flops_each(ledger, "output"), 5242880000);
  EXPECT_EQ(flops_each(ledger, "gate and up"), 41943040000);
  EXPECT_EQ(flops_each(ledger, "down"), 20971520000);
  EXPECT_EQ(flops_of(ledger, "head"), 164682137600);
  const std::int64_t block = 90596966400, total = 4513336524800;
  EXPECT_EQ(15728640000 + 2 * 3355443200 + 5242880000 + 41943040000 + 20971520000, block);
  EXPECT_EQ(ledger.forward.matmul, total);
  EXPECT_EQ(48 * block + flops_of(ledger, "head"), total);
  EXPECT_NEAR(share(48 * block, total), 0.9635, 0.00005);
}

TEST(WorkedXl, Spends33TimesAsMuchAt16384Tokens) {
  const Ledger shorter = at("cs336-gpt2-xl", 1024), longer = at("cs336-gpt2-xl", 16384);
  EXPECT_NEAR(static_cast<double>(longer.forward.matmul) / tera, 149.52, 0.005);
  EXPECT_NEAR(share(longer.forward.matmul, shorter.forward.matmul), 33.13, 0.005);
  for (const char* name : {"query, key, value", "output", "gate and up", "down", "head"}) {
    EXPECT_EQ(flops_of(longer, name), 16 * flops_of(shorter, name)) << name;
  }
  EXPECT_EQ(pairwise_flops(longer), 256 * pairwise_flops(shorter));
  EXPECT_NEAR(share(pairwise_flops(shorter), shorter.forward.matmul), 0.071, 0.0005);
  EXPECT_NEAR(share(pairwise_flops(longer), longer.forward.matmul), 0.55, 0.005);
  const auto attention_of_block = [](const Ledger& ledger) {
    Count attention, block;
    for (const Row& row : rows(ledger, Quantity::matmul, By::component)) {
      if (row.group == "attention") attention += row.each;
      block += row.each;
    }
    return share(attention, block);
  };
  EXPECT_NEAR(attention_of_block(shorter), 0.306, 0.0005);
  EXPECT_NEAR(attention_of_block(longer), 0.671, 0.0005);
}

TEST(WorkedXl, SmallerOnesGiveMoreToTheHead) {
  const struct {
    const char* name;
    double flops, head;
  } expected[] = {
      {"cs336-gpt2-small", 0.350, 0.226}, {"cs336-gpt2-medium", 1.033, 0.102}, {"cs336-gpt2-large", 2.258, 0.058}};
  for (const auto& [name, flops, head] : expected) {
    const Ledger ledger = at(name, 1024);
    EXPECT_NEAR(static_cast<double>(ledger.forward.matmul) / tera, flops, 0.0005) << name;
    EXPECT_NEAR(share(flops_of(ledger, "head"), ledger.forward.matmul), head, 0.0005) << name;
  }
}

TEST(WorkedXl, RulesForNormsAndRotationsStandBesideTheExactCount) {
  const Model model = load_model("cs336-gpt2-xl");
  const Rule norms = rule(model, "3·(2·L + 1)·T·d");
  EXPECT_EQ(norms.estimate, 476774400);
  EXPECT_EQ(norms.exact, 97.0 * (4 * 1024 * 1600 + 2 * 1024));  // with the weight, and ε and the root of each row
  const Rule rotations = rule(model, "2·dₕ²·(H + K)·L·T");
  EXPECT_EQ(rotations.estimate, 20132659200);
  EXPECT_EQ(rotations.exact, 48.0 * 1024 * (25 + 25) * 64 * 3);
}

// ---- rules of thumb

TEST(WorkedRules, TwelveLayersSquaredWidthAgainstTheExactParameters) {
  const auto blocks = [](const char* name) { return rule(load_model(name), "12·L·d²"); };
  EXPECT_EQ(blocks("gpt2").estimate, 84934656);
  EXPECT_NEAR(*blocks("gpt3-125m").error(), -0.32, 0.005);
  EXPECT_EQ(blocks("gpt3-175b").estimate, 173946175488);
  EXPECT_EQ(blocks("gpt3-175b").exact, 174604259328);
  EXPECT_EQ(blocks("llama-7b").estimate, 6442450944);
  EXPECT_EQ(blocks("llama-7b").exact, 6738415616);
  EXPECT_FALSE(load_model("llama-7b").head.tied);
}

TEST(WorkedRules, Gpt3TookAbout314SextillionFlops) {
  const Rule compute = rule(load_model("gpt3-175b"), "6·N·D", 300e9);
  EXPECT_NEAR(compute.estimate / 1e23, 3.14, 0.005);
  EXPECT_EQ(compute.estimate, 6.0 * 174604259328 * 300e9);
}

TEST(WorkedRules, LearnedPositionsFor8192TokensAt4096WideAre33554432) {
  Changes changes;
  changes.positions = Changes::PositionKind::learned;
  changes.context = 8192;
  EXPECT_EQ(parameters_of(count(changed("llama-7b", changes)), "position embedding"), 33554432);
}

TEST(WorkedRules, WeightsInBytes) {
  const Ledger llama = count(load_model("llama-7b"));
  EXPECT_NEAR(static_cast<double>(weight_bytes(llama, DType::float32)) / giga, 26.95, 0.005);
  EXPECT_NEAR(static_cast<double>(weight_bytes(llama, DType::bfloat16)) / giga, 13.48, 0.005);
  const Ledger gpt3 = count(load_model("gpt3-175b"));
  EXPECT_NEAR(static_cast<double>(weight_bytes(gpt3, DType::bfloat16)) / giga, 349.2, 0.05);
}

TEST(WorkedRules, ScoresAndMixingMeetTheProjectionsOfGpt2At1536Tokens) {
  const Rule crossover = rule(load_model("gpt2"), "T = 2·d");
  EXPECT_EQ(crossover.estimate, 1536);
  EXPECT_DOUBLE_EQ(*crossover.exact, 1536);
  Changes changes;
  changes.context = 1536;
  const Ledger ledger = count(changed("gpt2", changes));
  EXPECT_EQ(pairwise_flops(ledger), flops_of(ledger, "query, key, value") + flops_of(ledger, "output"));
}

// By hand: the projections of a token over 2·(what a pair costs).
//   deepseek-v3, decode    (7168·1536 + 1536·24576 + 7168·576 + 128·256·512 + 16384·7168) / (128·(576 + 512)) = 1343.5
//   llama-3-8b, exact      ½(T + 1)·2·4096 = 2·4096² + 2·4096·1024 at T = 10,239
//   mistral-7b-v0.1        a window of 4,096 everywhere: at most 2·4096·4096 a token against 2·4096² + 2·4096·1024
TEST(WorkedRules, TheCrossoverIsThatOfThePhaseAndOfTheWayToCount) {
  const auto length = [](const char* name, Phase phase, Causal causal) {
    Workload workload = workload_of(phase);
    workload.causal = causal;
    return crossover(load_model(name), workload);
  };
  EXPECT_EQ(length("deepseek-v3", Phase::decode, Causal::full), 1344);
  EXPECT_EQ(length("deepseek-v3", Phase::forward, Causal::full), 4568);  // rebuilt: 187,105,280 / (128·(192 + 128))
  EXPECT_EQ(length("llama-3-8b", Phase::forward, Causal::full), 5120);
  EXPECT_EQ(length("llama-3-8b", Phase::forward, Causal::exact), 10239);
  EXPECT_EQ(length("llama-3-8b", Phase::train, Causal::exact), 10239);
  EXPECT_EQ(length("llama-3-8b", Phase::decode, Causal::exact), 5120);
  EXPECT_EQ(length("mistral-7b-v0.1", Phase::forward, Causal::full), 5120);
  EXPECT_EQ(length("mistral-7b-v0.1", Phase::forward, Causal::exact), std::nullopt);
  EXPECT_EQ(length("mistral-7b-v0.1", Phase::decode, Causal::full), std::nullopt);
}

TEST(WorkedRules, RowsReallyCrossAtTheCrossover) {
  const auto reached = [](const std::string& name, Workload workload, std::int64_t length) {
    Model model = load_model(name);
    model.context = std::max(model.context, length);
    (workload.phase == Phase::decode ? workload.past : workload.tokens) =
        length - (workload.phase == Phase::decode ? 1 : 0);
    Count pairs, projections;
    for (const Row& row : rows(count(model, workload), Quantity::matmul, By::component)) {
      if (row.group == "attention") (row.name == "scores" || row.name == "mixing" ? pairs : projections) += row.value;
    }
    return pairs >= projections;
  };
  for (const char* name : {"gpt2", "llama-3.1-70b", "gemma-3-1b", "gemma-2-9b", "gpt-oss-20b", "deepseek-v2-lite",
                           "mistral-7b-v0.1", "falcon-7b", "mini-gpt", "phi-3-mini"}) {
    for (Phase phase : {Phase::forward, Phase::prefill, Phase::decode, Phase::train}) {
      for (Causal causal : {Causal::full, Causal::exact}) {
        SCOPED_TRACE(testing::Message() << name << " " << static_cast<int>(phase) << " " << static_cast<int>(causal));
        Workload workload = workload_of(phase);
        workload.causal = causal;
        workload.tokens = phase == Phase::decode ? 1 : 0;
        const auto length = crossover(load_model(name), workload);
        if (length) {
          EXPECT_TRUE(reached(name, workload, *length)) << *length;
          EXPECT_FALSE(reached(name, workload, *length - 1)) << *length;
        } else {
          EXPECT_FALSE(reached(name, workload, 1 << 20));
        }
      }
    }
  }
}

// mini-gpt has 2 layers and H·dₕ = 64: scores and mixing are 4·2·64 FLOPs a pair.
TEST(WorkedRules, PairsPastSixtyFourBitsAreCountedExactly) {
  const Model model = load_model("mini-gpt");
  Workload workload;
  workload.tokens = std::int64_t{1} << 33;
  const Ledger full = count(model, workload);
  workload.causal = Causal::exact;
  const Ledger exact = count(model, workload);
  const Count t = workload.tokens;
  EXPECT_EQ(pairwise_flops(full), t * t * (4 * 2 * 64));
  EXPECT_EQ(pairwise_flops(exact), t * (t + 1) / 2 * (4 * 2 * 64));
  EXPECT_EQ(full.matmul_exact, exact.total().matmul);
}

TEST(WorkedRules, DoublingALongContextQuadruplesScoresAndMixing) {
  Changes changes;
  changes.context = 65536;
  const Ledger shorter = count(changed("gpt2", changes));
  changes.context = 131072;
  const Ledger longer = count(changed("gpt2", changes));
  EXPECT_EQ(pairwise_flops(longer), 4 * pairwise_flops(shorter));
  EXPECT_GT(share(longer.forward.matmul, shorter.forward.matmul), 3.5);
}

// ---- published conventions, worked out for gpt2 at its context: N = 124,439,808, L 12, d 768, H·Q 768, T 1,024

TEST(WorkedConventions, AreThePublishedFormulas) {
  const Model model = load_model("gpt2");
  const Ledger forward = count(model), training = count(model, workload_of(Phase::train));
  const double n = 124439808, without = n - 39383808, t = 1024, square = 768.0 * 768.0;
  const auto flops = [&](Convention convention, const Ledger& ledger) {
    return convention_flops(convention, model, ledger).estimate;
  };
  EXPECT_DOUBLE_EQ(flops(Convention::kaplan, forward), 2 * without * t);
  EXPECT_DOUBLE_EQ(flops(Convention::kaplan, training), 6 * without * t);
  EXPECT_DOUBLE_EQ(flops(Convention::palm, training), (6 * n + 12 * 12 * 768 * t) * t);
  EXPECT_DOUBLE_EQ(flops(Convention::megatron, training),
                   72 * t * 12 * square * (1 + t / (6 * 768) + 50257 / (12.0 * 12 * 768)));
  const double attention = 2 * 3 * square + 4 * t * 768 + 3 * 12 * t + 2 * square, dense = 16 * square;
  EXPECT_DOUBLE_EQ(flops(Convention::chinchilla, training), 3 * t * (4.0 * 50257 * 768 + 12 * (attention + dense)));
  EXPECT_EQ(flops(Convention::exact, forward), static_cast<double>(forward.forward.matmul));
  // Megatron's counts every product of gpt2's blocks and head, so it is exact for it.
  EXPECT_DOUBLE_EQ(flops(Convention::megatron, training), static_cast<double>(training.total().matmul));
}

}  // namespace
}  // namespace reckon
