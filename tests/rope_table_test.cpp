// Tables of RoPE's angles, by hand.
#include <gtest/gtest.h>
#include <reckon/model.h>

#include <cmath>

#include "run/rope_table.h"

namespace reckon {
namespace {

// θ = 16 and 4 pairs: frequencies 1, 1/2, 1/4, 1/8. Of the first three, the even ones stand first.
TEST(RopeTable, EvenFrequenciesStandBeforeOddOnesAsFarAsIsSaid) {
  Rope rope;
  rope.theta = 16;
  rope.dims = 8;
  rope.evens_first = 3;
  const std::vector<float> rows = rope_rows(rope, 1, 1, 2);
  const double frequencies[] = {1, 0.25, 0.5, 0.125};
  ASSERT_EQ(rows.size(), 8u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(rows[i], static_cast<float>(std::cos(frequencies[i]))) << i;
    EXPECT_FLOAT_EQ(rows[4 + i], static_cast<float>(std::sin(frequencies[i]))) << i;
  }
}

}  // namespace
}  // namespace reckon
