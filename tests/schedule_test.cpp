// The learning rate at steps that are worked out by hand.
#include "train/schedule.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

namespace reckon {
namespace {

using Kind = Schedule::Kind;

TEST(LearningRate, RisesInAStraightLineAndReachesThePeakWithTheLastStepOfTheWarmUp) {
  for (Kind kind : {Kind::constant, Kind::linear, Kind::cosine, Kind::wsd}) {
    const Schedule schedule{kind, 0.5, 0.1, 4, 20};
    EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 0.125);
    EXPECT_DOUBLE_EQ(learning_rate(schedule, 1), 0.25);
    EXPECT_DOUBLE_EQ(learning_rate(schedule, 3), 0.5);
  }
}

TEST(LearningRate, OfACosineIsHalfWayInTheMiddleAndLeastAtTheLastStep) {
  const Schedule schedule{Kind::cosine, 1.0, 0.2, 4, 20};  // 16 steps fall: the k-th has 0.2 + 0.4·(1 + cos(π·k/16))
  EXPECT_NEAR(learning_rate(schedule, 4), 0.2 + 0.4 * (1 + 0.98078528), 1e-7);
  EXPECT_NEAR(learning_rate(schedule, 11), 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 19), 0.2);
}

TEST(LearningRate, OfALineFallsByTheSameAmountInEveryStep) {
  const Schedule schedule{Kind::linear, 1.0, 0.0, 0, 10};
  EXPECT_NEAR(learning_rate(schedule, 0), 0.9, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 4), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 9), 0.0, 1e-12);
}

TEST(LearningRate, OfWsdStaysAtThePeakUntilTheLastShare) {
  const Schedule schedule{Kind::wsd, 1.0, 0.0, 10, 100, 0.2};  // steps 80 to 99 fall by 1/20 each
  EXPECT_EQ(learning_rate(schedule, 10), 1.0);
  EXPECT_EQ(learning_rate(schedule, 79), 1.0);
  EXPECT_NEAR(learning_rate(schedule, 80), 0.95, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 99), 0.0, 1e-12);
}

TEST(LearningRate, StaysAtItsLeastPastTheLastStep) {
  EXPECT_DOUBLE_EQ(learning_rate({Kind::cosine, 1.0, 0.2, 0, 10}, 25), 0.2);
  EXPECT_EQ(learning_rate({Kind::constant, 1.0, 0.2, 0, 10}, 25), 1.0);
}

TEST(LearningRate, IsFiniteWhereTheWarmUpTakesEveryStep) {
  const Schedule schedule{Kind::cosine, 1.0, 0.2, 10, 10};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 0.2);
}

TEST(LearningRate, KnowsItsKindsByName) {
  for (Kind kind : {Kind::constant, Kind::linear, Kind::cosine, Kind::wsd}) {
    EXPECT_EQ(parse_schedule(std::string(name_of(kind))), kind);
  }
  EXPECT_THROW(parse_schedule("cosin"), UsageError);
}

}  // namespace
}  // namespace reckon
