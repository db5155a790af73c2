// Products with quantised weights against the decoded blocks in double: every encoding, few rows and many, tails, and
// the promises of dense products (equal bits for any number of threads, exact counters).
#include "backend/cpu/quantised.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/dense.h"
#include "backend/cpu/instructions.h"
#include "backend/cpu/interleave.h"
#include "files/float_types.h"
#include "workshop.h"

namespace {

using namespace reckon;
using testing_products::Workshop;

constexpr DType encodings[] = {DType::q2_k, DType::q3_k, DType::iq4_xs, DType::mxfp4, DType::iq4_nl,
                               DType::q4_0, DType::q4_k, DType::q4_1,   DType::q5_0,  DType::q5_k,
                               DType::q5_1, DType::q6_k, DType::q8_0};

// Where the float16 scales of a block are.
std::vector<int> scales_of(DType dtype) {
  switch (dtype) {
    case DType::q2_k:
      return {80, 82};
    case DType::q3_k:
      return {108};
    case DType::q6_k:
      return {208};
    case DType::mxfp4:
      return {};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return {0, 2};
    default:
      return {0};
  }
}

// Blocks of random bits: every code and every scale of a sub-block occurs; the scales of blocks are near 1.
std::vector<std::byte> random_blocks(DType dtype, std::int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  const Encoding& encoding = encoding_of(dtype);
  std::vector<std::byte> blocks(static_cast<std::size_t>(row_bytes(dtype, elements)));
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
  for (std::size_t at = 0; at < blocks.size(); at += static_cast<std::size_t>(encoding.bytes)) {
    for (const int scale : scales_of(dtype)) {
      const std::uint16_t bits = to_float16(static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 1000);
      std::memcpy(blocks.data() + at + scale, &bits, 2);
    }
    if (dtype == DType::mxfp4) blocks[at] = static_cast<std::byte>(120 + random() % 16);
  }
  return blocks;
}

struct Problem {
  std::int64_t m, n, k, stride;
  std::vector<std::byte> blocks, interleaved, x8;
  std::vector<float> w, x, quantised, y, bias;  // quantised: what x8 stands for
  Product product;

  Problem(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t depth, unsigned seed = 1)
      : m(rows), n(columns), k(depth), stride(columns + 3) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    blocks = random_blocks(dtype, n * k, seed);
    w.resize(static_cast<std::size_t>(n * k));
    decode(encoding_of(dtype), blocks, w);
    x.resize(static_cast<std::size_t>(m * k));
    for (float& value : x) value = normal(random);
    if (m > 1) std::fill_n(x.begin() + k, 32, 0.0f);  // a block of zeros
    bias.assign(static_cast<std::size_t>(n), 0.5f);
    y.assign(static_cast<std::size_t>(m * stride), -7.0f);
    const std::int64_t bytes = row_bytes(DType::activation8, k);
    x8.resize(static_cast<std::size_t>(m * bytes));
    for (std::int64_t i = 0; i < m; ++i) {
      std::byte* row = x8.data() + i * bytes;
      quantise_row(x.data() + i * k, k, row);
      for (std::int64_t p = 0; p < k; ++p) {
        float scale;
        std::memcpy(&scale, row + k + p / 32 * 4, 4);
        quantised.push_back(scale * static_cast<float>(static_cast<std::int8_t>(row[p])));
      }
    }
    product.rows = m;
    product.x8 = x8.data();
    product.x_stride = k;
    product.weight = {blocks.data(), dtype, n, k, k, 1, 0, 0};
    product.y = y.data();
    product.y_stride = stride;
    product.epilogue.bias = bias.data();
  }
  // The weights in the order that kernels are faster with, where this instruction set has one: also those that are
  // interleaved only where it has VNNI.
  void interleave_weights() {
    Weight& weight = product.weight;
    if (!can_be_interleaved(weight.dtype) || !want_interleaved(DType::q4_0)) return;
    const std::int64_t together = rows_together(), panel = row_bytes(weight.dtype, together * k);
    interleaved = blocks;
    for (std::int64_t i = 0; i < n / together; ++i)
      interleave(weight.dtype, blocks.data() + i * panel, k, interleaved.data() + i * panel);
    for (std::int64_t j = 0; j < n / together * together; ++j) {
      std::vector<std::byte> row(static_cast<std::size_t>(row_bytes(weight.dtype, k)));
      restore_row(weight.dtype, interleaved.data() + j / together * panel, j % together, 0,
                  k / encoding_of(weight.dtype).elements, row.data());
      ASSERT_EQ(std::memcmp(row.data(), blocks.data() + row_bytes(weight.dtype, j * k), row.size()), 0);
    }
    weight.data = interleaved.data();
    weight.interleaved = true;
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // Of the products with x as it was quantised: integers are exact, floats round once for every 16 elements and scale.
  // Of many rows one in 37 and the last, which is some of every tile.
  void expect_right() const {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < stride; ++j) {
        const float found = y[static_cast<std::size_t>(i * stride + j)];
        if (j >= n) {
          ASSERT_EQ(found, -7.0f) << "written beyond the row, at " << i << ", " << j;
          continue;
        }
        if (m > 64 && i % 37 != 0 && i != m - 1) continue;
        double sum = 0.5, size = 0.5;
        for (std::int64_t p = 0; p < k; ++p) {
          const double term =
              double{quantised[static_cast<std::size_t>(i * k + p)]} * w[static_cast<std::size_t>(j * k + p)];
          sum += term;
          size += std::abs(term);
        }
        // Codes and offsets are summed apart, each larger than their difference: up to 32 times the terms. AMX meets
        // both sides rounded to bfloat16.
        const double rounded = m > 16 && amx_quantised() ? size * 2 * 0x1.01p-9 : 0;
        ASSERT_NEAR(found, sum, rounded + size * 32 * 0x1p-24 * (8 + static_cast<double>(k) / 64))
            << "row " << i << ", column " << j;
      }
  }
};

// On every instruction set that the processor has: the same tests.
class Quantised : public testing::TestWithParam<const char*> {
  void SetUp() override {
    if (!choose_instructions(GetParam())) GTEST_SKIP() << "a processor or a build without " << GetParam();
  }
  void TearDown() override { choose_instructions(""); }
};
INSTANTIATE_TEST_SUITE_P(, Quantised,
                         testing::Values("AMX", "VNNI", "AVX-VNNI", "AVX3", "AVX2", "SSE4", "NEON-DOT", "NEON", "WASM",
                                         "SCALAR"),
                         [](const auto& set) {
                           std::string name = set.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(Quantised, ProductsAreThoseOfTheDecodedBlocks) {
  Workshop machine(2);
  for (const DType dtype : encodings) {
    const std::int64_t block = encoding_of(dtype).elements;
    for (const std::int64_t m : {1, 2, 3, 4, 5, 8, 16, 17, 37})
      for (const std::int64_t n : {1, 7, 33, 75})
        for (const std::int64_t k : {block, 3 * block, 9 * block, 8 * block + 1024}) {
          SCOPED_TRACE(std::string(encoding_of(dtype).name) + ", " + std::to_string(m) + " x " + std::to_string(n) +
                       " x " + std::to_string(k));
          for (const bool interleaved : {false, true}) {
            Problem problem(dtype, m, n, k);
            if (interleaved) problem.interleave_weights();
            machine.run({&problem.product, 1});
            problem.expect_right();
            if (HasFatalFailure()) return;
          }
        }
  }
}

// Several tiles of rows and of columns, cut as K above 4,096 is, and below.
TEST_P(Quantised, ProductsOfManyTilesAreThoseOfTheDecodedBlocks) {
  Workshop machine(2);
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::mxfp4, DType::q4_k, DType::q6_k})
    for (const auto& [m, k] : {std::pair{260, 4608}, {530, 512}})
      for (const bool interleaved : {false, true}) {
        SCOPED_TRACE(std::string(encoding_of(dtype).name) + ", " + std::to_string(m) + " rows");
        Problem problem(dtype, m, 200, k);
        if (interleaved) problem.interleave_weights();
        if (problem.product.weight.interleaved != interleaved) continue;  // there is no such order here
        machine.run({&problem.product, 1});
        problem.expect_right();
        if (HasFatalFailure()) return;
      }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// What is made of a result u while it is in the cache: from u itself, which the same product gives without it.
TEST_P(Quantised, ProductsHaveEveryEpilogue) {
  struct Case {
    bool gate = false, activate = false;
    Activation activation = Activation::silu;
    double clamp = 0;
    bool residual = false;
    float scale = 1;
  };
  const Case cases[] = {{.residual = true},
                        {.residual = true, .scale = 0.25f},
                        {.activate = true},
                        {.activate = true, .activation = Activation::relu, .residual = true},
                        {.gate = true},
                        {.gate = true, .activation = Activation::relu, .residual = true, .scale = -2},
                        {.gate = true, .clamp = 7}};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  Workshop machine(2);
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_k, DType::mxfp4, DType::q2_k})
    for (const std::int64_t m : {1, 5, 40})
      for (const bool interleaved : {false, true}) {
        Problem plain(dtype, m, 75, 512);
        if (interleaved) plain.interleave_weights();
        machine.run({&plain.product, 1});
        plain.expect_right();
        if (HasFatalFailure()) return;
        for (const Case& c : cases) {
          SCOPED_TRACE(std::string(encoding_of(dtype).name) + ", " + std::to_string(m) + " rows, case " +
                       std::to_string(&c - cases));
          Problem problem(dtype, m, 75, 512);
          if (interleaved) problem.interleave_weights();
          std::vector<float> gate(static_cast<std::size_t>(m * 80)), residual(static_cast<std::size_t>(m * 75));
          for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = std::sin(static_cast<float>(i)) * 9;
          for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = std::cos(static_cast<float>(i)) * 50;
          Epilogue& epilogue = problem.product.epilogue;
          if (c.gate) epilogue.gate = gate.data();
          epilogue.gate_stride = 80;
          epilogue.activate = c.activate;
          epilogue.activation = c.activation;
          epilogue.clamp = c.clamp;
          if (c.residual) epilogue.residual = residual.data();
          epilogue.residual_stride = 75;
          epilogue.scale = c.scale;
          machine.run({&problem.product, 1});
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < 75; ++j) {
              const auto at = static_cast<std::size_t>(i * problem.stride + j);
              const double u = double{plain.y[at]}, g = double{gate[static_cast<std::size_t>(i * 80 + j)]};
              const auto act = [&](double x) {
                return c.activation == Activation::relu ? std::max(x, 0.0) : x * sigmoid(x);
              };
              double f = c.gate ? act(g) * u : c.activate ? act(u) : u;
              if (c.clamp > 0) {
                const double low = std::min(g, c.clamp);
                f = low * sigmoid(1.702 * low) * (std::clamp(u, -c.clamp, c.clamp) + 1);
              }
              const double from = c.residual ? double{residual[static_cast<std::size_t>(i * 75 + j)]} : 0;
              const double expected = from + double{c.scale} * f;
              ASSERT_NEAR(problem.y[at], expected, 2e-6 * (std::abs(from) + std::abs(double{c.scale} * f)) + 1e-7)
                  << "row " << i << ", column " << j;
            }
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 75; j < problem.stride; ++j)
              ASSERT_EQ(problem.y[static_cast<std::size_t>(i * problem.stride + j)], -7.0f);
        }
      }
}

// Queries, keys and values of one x: in encodings of their own, as quantisers mix them.
TEST_P(Quantised, ProductsThatShareTheirInputHaveTheBitsOfEachAlone) {
  Workshop machine(3);
  for (const std::int64_t m : {1, 7, 150}) {
    Problem q(DType::q4_k, m, 200, 512, 1), k(DType::q4_k, m, 72, 512, 2), v(DType::q6_k, m, 72, 512, 3);
    Problem q_alone(DType::q4_k, m, 200, 512, 1), k_alone(DType::q4_k, m, 72, 512, 2),
        v_alone(DType::q6_k, m, 72, 512, 3);
    for (Problem* each : {&q, &k, &v, &q_alone, &k_alone, &v_alone}) {
      each->interleave_weights();
      each->product.x8 = q.x8.data();
    }
    const Product together[] = {q.product, k.product, v.product};
    machine.run(together);
    for (Problem* each : {&q_alone, &k_alone, &v_alone}) machine.run({&each->product, 1});
    EXPECT_TRUE(same_bits(q.y, q_alone.y)) << m;
    EXPECT_TRUE(same_bits(k.y, k_alone.y)) << m;
    EXPECT_TRUE(same_bits(v.y, v_alone.y)) << m;
    q.expect_right();
    for (Problem* each : {&k, &v}) {  // of the x that they share
      each->quantised = q.quantised;
      each->expect_right();
    }
  }
}

TEST_P(Quantised, ProductsHaveEqualBitsForAnyNumberOfThreads) {
  for (const DType dtype : encodings)
    for (const std::int64_t m : {3, 70}) {
      Problem one(dtype, m, 700, 512), many(dtype, m, 700, 512);
      one.interleave_weights();
      many.interleave_weights();
      Workshop(1).run({&one.product, 1});
      Workshop(3).run({&many.product, 1});
      EXPECT_TRUE(same_bits(one.y, many.y)) << encoding_of(dtype).name;
      one.expect_right();
    }
}

TEST_P(Quantised, FewRowsHaveTheBitsOfOne) {
  Workshop machine(1);
  for (const DType dtype : encodings) {
    Problem all(dtype, 16, 50, 768), one(dtype, 16, 50, 768);
    all.interleave_weights();
    one.interleave_weights();
    machine.run({&all.product, 1});
    for (std::int64_t i = 0; i < 16; ++i) {
      Product row = one.product;
      row.rows = 1;
      row.x8 += row_bytes(DType::activation8, i * one.k);
      row.y += i * one.stride;
      run_products(machine.machine, {&row, 1});
    }
    EXPECT_TRUE(same_bits(all.y, one.y)) << encoding_of(dtype).name;
  }
}

TEST_P(Quantised, ProductsCountTheirArithmeticAndBytesExactly) {
  for (const DType dtype : encodings)
    for (const std::int64_t m : {2, 600}) {
      const std::int64_t n = 100, k = 1280;
      Workshop machine(2);
      const Problem problem(dtype, m, n, k);
      machine.run({&problem.product, 1});
      const Measured did = machine.counters.total();
      EXPECT_EQ(did.matmul_flops, 2 * m * n * k);
      EXPECT_EQ(did.read, row_bytes(dtype, n * k) + row_bytes(DType::activation8, m * k) + 4 * n);
      EXPECT_EQ(did.written, 4 * m * n);
      problem.expect_right();
    }
}

TEST(QuantisedActivations, RoundToTheNearestOf255AndSumTheirHalves) {
  std::vector<float> x(64);
  for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i - 20);  // the largest is −20
  std::vector<std::byte> to(88);
  quantise_row(x.data(), 64, to.data());
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(static_cast<std::int8_t>(to[static_cast<std::size_t>(i)]), std::lround((i - 20) * 127 / 20.0)) << i;
  int first = 0, second = 0;
  for (int i = 0; i < 16; ++i) {
    first += static_cast<std::int8_t>(to[static_cast<std::size_t>(i)]);
    second += static_cast<std::int8_t>(to[static_cast<std::size_t>(i + 16)]);
  }
  float floats[4];  // the second block is all zeros
  std::memcpy(floats, to.data() + 64, 16);
  EXPECT_FLOAT_EQ(floats[0], 20.0f / 127);
  EXPECT_EQ(floats[1], 0.0f);
  EXPECT_FLOAT_EQ(floats[2], floats[0] * static_cast<float>(first + second));
  EXPECT_EQ(floats[3], 0.0f);
  std::int16_t halves[4];
  std::memcpy(halves, to.data() + 80, 8);
  EXPECT_EQ(halves[0], first);
  EXPECT_EQ(halves[1], second);
  EXPECT_EQ(halves[2], 0);
  EXPECT_EQ(halves[3], 0);
}

// So that a network in which something went wrong says so, wherever in a vector it is.
TEST_P(Quantised, ActivationsThatAreNotFiniteMakeTheirProductsNaN) {
  Workshop machine(1);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()})
    for (const std::int64_t m : {1, 20})
      for (const std::int64_t at : {0, 5, 31, 100}) {
        Problem problem(DType::q4_k, m, 40, 256);
        problem.x[static_cast<std::size_t>(at)] = bad;
        quantise_row(problem.x.data(), 256, problem.x8.data());
        machine.run({&problem.product, 1});
        for (std::size_t j = 0; j < 40; ++j) ASSERT_TRUE(std::isnan(problem.y[j])) << bad << " at " << at << ", " << j;
        if (m > 1) {
          ASSERT_TRUE(std::isfinite(problem.y[static_cast<std::size_t>(problem.stride)]));
        }
      }
}

TEST(QuantisedErrors, NameWeightsThatAreNotReadAlongTheirRows) {
  Workshop machine(1);
  Problem problem(DType::q4_0, 1, 4, 32);
  problem.product.x8 = nullptr;
  EXPECT_THROW(machine.run({&problem.product, 1}), Error);
}

}  // namespace
