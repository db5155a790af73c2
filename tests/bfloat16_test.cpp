// Products with weights in bfloat16 by the processor's own instructions, against the plain sums in double.
#include "backend/cpu/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/dense.h"
#include "backend/cpu/instructions.h"
#include "files/float_types.h"
#include "workshop.h"

namespace {

using namespace reckon;
using testing_products::Workshop;

struct Problem {
  std::int64_t m, n, k, stride;
  std::vector<std::uint16_t> stored;
  std::vector<float> w, x, y, bias;
  Product product;

  // W lies row by row, or column by column.
  Problem(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool by_rows, unsigned seed = 1)
      : m(rows), n(columns), k(depth), stride(columns + 3) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    stored.resize(static_cast<std::size_t>(n * k));
    w.resize(stored.size());
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t p = 0; p < k; ++p) {
        const std::uint16_t bits = to_bfloat16(normal(random));
        stored[static_cast<std::size_t>(by_rows ? j * k + p : p * n + j)] = bits;
        w[static_cast<std::size_t>(j * k + p)] = from_bfloat16(bits);
      }
    x.resize(static_cast<std::size_t>(m * k));
    for (float& value : x) value = normal(random);
    bias.assign(static_cast<std::size_t>(n), 0.5f);
    y.assign(static_cast<std::size_t>(m * stride), -7.0f);
    product.x = x.data();
    product.rows = m;
    product.x_stride = k;
    product.weight = {stored.data(), DType::bfloat16, n, k, by_rows ? k : 1, by_rows ? 1 : n, 0, 0};
    product.y = y.data();
    product.y_stride = stride;
    product.epilogue.bias = bias.data();
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void expect_right(bool rounded) const {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < stride; ++j) {
        const float found = y[static_cast<std::size_t>(i * stride + j)];
        if (j >= n) {
          ASSERT_EQ(found, -7.0f) << "written beyond the row, at " << i << ", " << j;
          continue;
        }
        double sum = 0.5, size = 0.5;
        for (std::int64_t p = 0; p < k; ++p) {
          const float value = x[static_cast<std::size_t>(i * k + p)];
          const double term =
              double{rounded ? from_bfloat16(to_bfloat16(value)) : value} * w[static_cast<std::size_t>(j * k + p)];
          sum += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(found, sum, (8 + static_cast<double>(k)) * 0x1p-24 * size) << "row " << i << ", column " << j;
      }
  }
};

class NativeBfloat16 : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!choose_instructions(GetParam())) GTEST_SKIP() << "a processor without " << GetParam();
  }
  void TearDown() override { choose_instructions(""); }
  // AVX512-BF16 rounds x; AMX does not.
  static bool rounded() { return bfloat16_instructions() == Bfloat16::avx512; }
};
INSTANTIATE_TEST_SUITE_P(, NativeBfloat16, testing::Values("AMX", "AVX512-BF16"),
                         [](const auto& set) { return std::string(set.param) == "AMX" ? "AMX" : "AVX512"; });

TEST_P(NativeBfloat16, ProductsAreThoseOfTheDecodedWeights) {
  Workshop machine(2);
  for (const bool by_rows : {true, false})
    for (const std::int64_t m : {17, 31, 32, 33, 50, 260})
      for (const std::int64_t n : {1, 15, 16, 33, 48, 100, 390})
        for (const std::int64_t k : {1, 2, 31, 32, 65, 513, 1100}) {
          if (m * n * k > 40'000'000) continue;
          SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
                       (by_rows ? "" : ", transposed"));
          Problem problem(m, n, k, by_rows);
          ASSERT_TRUE(native_bfloat16(problem.product));
          machine.run({&problem.product, 1});
          problem.expect_right(rounded());
          if (HasFatalFailure()) return;
        }
}

TEST_P(NativeBfloat16, ProductsHaveEqualBitsForAnyNumberOfThreadsAndCountExactly) {
  Problem one(300, 800, 700, true), many(300, 800, 700, true);
  Workshop alone(1), three(3);
  alone.run({&one.product, 1});
  three.run({&many.product, 1});
  EXPECT_EQ(std::memcmp(one.y.data(), many.y.data(), one.y.size() * sizeof(float)), 0);
  EXPECT_EQ(three.counters.total().matmul_flops, 2 * 300 * 800 * 700);
  EXPECT_EQ(three.counters.total().read, 2 * 800 * 700 + 4 * 300 * 700 + 4 * 800);
}

TEST_P(NativeBfloat16, WhatIsNoNumberStaysSo) {
  Problem problem(20, 5, 40, true);
  problem.x[0] = std::numeric_limits<float>::infinity();
  problem.x[40] = std::numeric_limits<float>::quiet_NaN();
  Workshop(1).run({&problem.product, 1});
  EXPECT_TRUE(std::isinf(problem.y[0])) << problem.y[0];
  EXPECT_TRUE(std::isnan(problem.y[static_cast<std::size_t>(problem.stride)]));
  EXPECT_TRUE(std::isfinite(problem.y[static_cast<std::size_t>(2 * problem.stride)]));
}

}  // namespace
