// Scaling laws against what their authors state.
#include "count/scaling_laws.h"

#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <cmath>
#include <string>
#include <string_view>

#include "count/training_amounts.h"
#include "model/presets.h"

namespace reckon {
namespace {

const ScalingLaw& law(std::string_view name) {
  for (const ScalingLaw& one : scaling_laws())
    if (one.name == name) return one;
  throw Error("no law " + std::string(name));
}

// Hoffmann et al. 2022, section 3.4: for Gopher's compute, 5.76e23, the three approaches give 67B, 63B and 40B.
TEST(ScalingLaws, GiveTheSizesThatHoffmannEtAlStateForGophersCompute) {
  EXPECT_NEAR(law("Chinchilla, approach 1").parameters(5.76e23) / 1e9, 67, 1);
  EXPECT_NEAR(law("Chinchilla, approach 2").parameters(5.76e23) / 1e9, 63, 1);
  EXPECT_NEAR(law("Chinchilla, approach 3").parameters(5.76e23) / 1e9, 40, 1);
}

// Table 2: N grows as C^0.50, C^0.49 and C^0.46.
TEST(ScalingLaws, GrowAsTheExponentsOfTable2) {
  const auto exponent = [](const char* name) { return 1 / (1 + law(name).exponent); };
  EXPECT_NEAR(exponent("Chinchilla, approach 1"), 0.50, 0.005);
  EXPECT_NEAR(exponent("Chinchilla, approach 2"), 0.49, 0.005);
  EXPECT_NEAR(exponent("Chinchilla, approach 3"), 0.46, 0.005);
}

// Tables 3 and A3, each within what a straight line through nine rounded sizes can give.
TEST(ScalingLaws, GiveTheTokensOfTheirTables) {
  EXPECT_NEAR(law("Chinchilla, approach 1").tokens(1e9), 20.2e9, 0.2e9);
  EXPECT_NEAR(law("Chinchilla, approach 1").tokens(1e12), 21.2e12, 0.3e12);
  EXPECT_NEAR(law("Chinchilla, approach 2").tokens(1e9), 20.0e9, 0.2e9);
  EXPECT_NEAR(law("Chinchilla, approach 2").tokens(1e12), 26.5e12, 0.3e12);
}

// Besiroglu et al. 2024: about 20 tokens a parameter (18.3 at 5.76e23), as approaches 1 and 2 and Chinchilla itself
// (70B, 1.4T), where approach 3 has 59.
TEST(ScalingLaws, FittedAgainAgreeWithTheOtherApproaches) {
  const ScalingLaw& corrected = law("Chinchilla, approach 3 corrected");
  const double n = corrected.parameters(5.76e23);
  EXPECT_NEAR(n / 1e9, 72.4, 0.1);
  EXPECT_NEAR(corrected.tokens(n) / n, 18.3, 0.1);
  EXPECT_NEAR(law("Chinchilla, approach 3").tokens(40.4e9) / 40.4e9, 58.9, 0.2);
}

TEST(ScalingLaws, SpendTheComputeThatTheyAreGiven) {
  for (const ScalingLaw& one : scaling_laws()) {
    const double n = one.parameters(1e22);
    EXPECT_NEAR(6 * n * one.tokens(n), 1e22, 1e13) << one.name;
    EXPECT_NE(one.reference, "") << one.name;
  }
}

// Of a fit, the optimum has the least loss of all that cost as much.
TEST(ScalingLaws, HaveTheLeastLossOfTheirCompute) {
  for (const ScalingLaw& one : scaling_laws()) {
    if (!one.fit) continue;
    const double n = one.parameters(1e23), best = one.fit->loss(n, one.tokens(n));
    for (const double factor : {0.5, 0.9, 1.1, 2.0})
      EXPECT_GT(one.fit->loss(n * factor, 1e23 / (6 * n * factor)), best) << one.name;
  }
}

// Sardana et al. 2023, figure 1: the quality of a Chinchilla-optimal 13B with 2T tokens of inference is had with a 7B
// model at 1.7e22 FLOPs less, 17%.
TEST(InferenceAwareTraining, IsTheSmallerAndLongerOneThatSardanaEtAlState) {
  const ScalingLaw& sardana = law("Sardana");
  const double tokens = sardana.tokens(13e9);
  const TrainedAndServed plain = trained_and_served(13e9, tokens, 2e12);
  const TrainedAndServed best = cheapest(*sardana.fit, sardana.fit->loss(13e9, tokens), 2e12);
  EXPECT_NEAR(best.parameters / 1e9, 7, 0.1);
  EXPECT_NEAR((plain.flops() - best.flops()) / 1e22, 1.7, 0.05);
  EXPECT_NEAR(1 - best.flops() / plain.flops(), 0.17, 0.005);
  EXPECT_NEAR(sardana.fit->loss(best.parameters, best.tokens), sardana.fit->loss(13e9, tokens), 1e-9);
}

TEST(InferenceAwareTraining, IsChinchillasWhereNothingIsInferred) {
  for (const ScalingLaw& one : scaling_laws()) {
    if (!one.fit) continue;
    const double tokens = one.tokens(13e9);
    EXPECT_NEAR(tokens_for_inference(*one.fit, 13e9, 0) / tokens, 1, 1e-9) << one.name;
    EXPECT_NEAR(cheapest(*one.fit, one.fit->loss(13e9, tokens), 0).parameters / 13e9, 1, 1e-4) << one.name;
  }
}

// Asked for the tokens of a size and for the size of a loss, the two agree.
TEST(InferenceAwareTraining, OfASizeIsTheCheapestWayToItsLoss) {
  for (const ScalingLaw& one : scaling_laws()) {
    if (!one.fit) continue;
    const double tokens = tokens_for_inference(*one.fit, 8e9, 2e12);
    EXPECT_GT(tokens, one.tokens(8e9)) << one.name;
    EXPECT_NEAR(cheapest(*one.fit, one.fit->loss(8e9, tokens), 2e12).parameters / 8e9, 1, 1e-4) << one.name;
  }
}

TEST(InferenceAwareTraining, RefusesALossThatNoModelReaches) {
  EXPECT_THROW(cheapest(*law("Sardana").fit, 1.69, 1e12), UsageError);
  EXPECT_THROW(cheapest(*law("Sardana").fit, std::nan(""), 1e12), UsageError);
}

// Of gpt2's 124,439,808 parameters, with the products of its step at 1,024 tokens; Sardana's constants are for
// inference alone.
TEST(TrainingAmounts, AreTheTokensOfEachLawAndTheProgramsFlops) {
  const Model model = load_model("gpt2");
  const Ledger step = count(model, workload_of(Phase::train));
  const TrainingAmounts plain = training_amounts(step, std::nullopt, std::nullopt);
  EXPECT_EQ(plain.parameters, 124439808);
  ASSERT_EQ(plain.amounts.size(), 4U);
  EXPECT_TRUE(plain.optima.empty());
  EXPECT_TRUE(plain.served.empty());
  for (const TrainingAmount& one : plain.amounts) {
    EXPECT_DOUBLE_EQ(one.tokens, law(one.name).tokens(124439808));
    EXPECT_DOUBLE_EQ(one.six_nd, 6 * 124439808 * one.tokens);
    EXPECT_DOUBLE_EQ(one.flops, static_cast<double>(step.total().matmul) / 1024 * one.tokens);
  }
  const TrainingAmounts asked = training_amounts(step, 10e9, 1e12);
  EXPECT_EQ(asked.amounts.size(), 5U);
  EXPECT_EQ(asked.served.size(), 3U);
  for (const ComputeOptimum& one : asked.optima)
    EXPECT_NEAR(6 * one.parameters * one.tokens / (6 * 124439808 * 10e9), 1, 1e-9);
  for (const ServedOptimum& one : asked.served) {
    EXPECT_GT(one.tokens, law(one.name).tokens(124439808));
    EXPECT_LT(one.best.parameters, 124439808);
    EXPECT_GT(one.saved, 0);
  }
}

}  // namespace
}  // namespace reckon
