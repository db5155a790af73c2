// Dense products on every path against a plain loop in double, and the promises around them: equal bits for any number
// of threads, exact counters.
#include "backend/cpu/dense.h"

#include <gtest/gtest.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"
#include "workshop.h"

namespace {

using namespace reckon;
using testing_products::Workshop;

constexpr double float_epsilon = 0x1p-24;  // half an ulp of 1

// Weights that every stored type holds exactly: multiples of 1/64 within ±2.
float small_number(std::mt19937& random) { return static_cast<float>(static_cast<int>(random() % 257) - 128) / 64.0f; }

// Everything else uses all bits of a float, so that the order of a sum shows.
float any_number(std::mt19937& random) { return static_cast<float>(random()) * 0x1p-30f - 2.0f; }

std::uint16_t bfloat16_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>(bits >> 16);
}

// Normal numbers only; exact for small_number().
std::uint16_t float16_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const std::uint32_t sign = bits >> 16 & 0x8000, exponent = (bits >> 23 & 0xff) - 112, fraction = bits >> 13 & 0x3ff;
  return static_cast<std::uint16_t>(value == 0 ? sign : sign | exponent << 10 | fraction);
}

enum class Layout { k_runs_on, n_runs_on, blocks, blocks_n_runs_on };

struct Case {
  std::int64_t m, n, k;
  DType dtype = DType::float32;
  Layout layout = Layout::k_runs_on;
  std::string epilogue = {};
};

// One product with all its memory; rows of x, y and the rest are further apart than they are wide.
struct Problem {
  Case shape;
  std::vector<float> weights, x, y, bias, gate, residual;  // weights: N × K, as numbers
  std::vector<std::uint32_t> stored;                       // the same in their type and layout
  Product product;

  explicit Problem(const Case& c, unsigned seed = 1) : shape(c) {
    std::mt19937 random(seed);
    const auto fill = [&](std::vector<float>& v, std::int64_t size, float (*number)(std::mt19937&) = any_number) {
      v.resize(static_cast<std::size_t>(size));
      for (float& f : v) f = number(random);
    };
    const std::int64_t x_stride = c.k + 3, y_stride = c.n + 5;
    fill(weights, c.n * c.k, small_number);
    fill(x, c.m * x_stride);
    fill(y, c.m * y_stride);
    fill(bias, c.n);
    fill(gate, c.m * y_stride);
    fill(residual, c.m * y_stride);
    product.x = x.data();
    product.rows = c.m;
    product.x_stride = x_stride;
    product.y = y.data();
    product.y_stride = y_stride;
    store();
    Epilogue& e = product.epilogue;
    const auto has = [&](const char* word) { return c.epilogue.find(word) != std::string::npos; };
    if (has("bias")) e.bias = bias.data();
    if (has("gate")) e.gate = gate.data(), e.gate_stride = y_stride;
    if (has("clamp")) e.clamp = 1.25;
    if (has("scale")) e.scale = 0.75f;
    if (has("residual")) e.residual = residual.data(), e.residual_stride = y_stride;
    if (has("itself")) e.residual = y.data(), e.residual_stride = y_stride;
    const std::pair<const char*, Activation> kinds[] = {{"erf", Activation::gelu},
                                                        {"tanh", Activation::gelu_tanh},
                                                        {"relu", Activation::relu},
                                                        {"squared", Activation::relu_squared},
                                                        {"silu", Activation::silu}};
    for (const auto& [word, kind] : kinds)
      if (has(word)) e.activation = kind, e.activate = !e.gate;
  }

  void store() {
    Weight& w = product.weight;
    w.dtype = shape.dtype;
    w.rows = shape.n;
    w.cols = shape.k;
    const bool blocks = shape.layout == Layout::blocks || shape.layout == Layout::blocks_n_runs_on;
    const bool n_runs_on = shape.layout == Layout::n_runs_on || shape.layout == Layout::blocks_n_runs_on;
    w.block_rows = blocks ? 5 : 0;
    // Between the blocks lie rows of others, as keys and values do in a fused tensor.
    const std::int64_t apart = blocks ? 3 * w.block_rows : 0, count = blocks ? (shape.n + 4) / 5 * apart : shape.n;
    w.row_stride = n_runs_on ? 1 : shape.k + 2;
    w.col_stride = n_runs_on ? count + 4 : 1;
    w.block_stride = apart * w.row_stride;
    const std::int64_t size = n_runs_on ? shape.k * w.col_stride : count * w.row_stride;
    stored.assign(static_cast<std::size_t>(size), 0x7fc07fc0);  // not a number, in every type
    for (std::int64_t j = 0; j < shape.n; ++j)
      for (std::int64_t p = 0; p < shape.k; ++p) {
        const std::int64_t row = blocks ? j / 5 * apart + j % 5 : j;
        put(row * w.row_stride + p * w.col_stride, weights[static_cast<std::size_t>(j * shape.k + p)]);
      }
    w.data = stored.data();
  }

  void put(std::int64_t index, float value) {
    if (shape.dtype == DType::float32) {
      std::memcpy(stored.data() + index, &value, 4);
      return;
    }
    const std::uint16_t bits = shape.dtype == DType::bfloat16 ? bfloat16_bits(value) : float16_bits(value);
    std::memcpy(reinterpret_cast<std::uint16_t*>(stored.data()) + index, &bits, 2);
  }
};

double act(Activation kind, double x) {
  switch (kind) {
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(0.0, x);
    case Activation::relu_squared:
      return std::max(0.0, x) * std::max(0.0, x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::softplus:
      return std::max(0.0, x) + std::log1p(std::exp(-std::fabs(x)));
    case Activation::identity:
      return x;
    case Activation::xielu:
      break;
  }
  return 0;
}

// Compares with the plain loop. A sum of k float products errs by at most k·ε·Σ|x·w|; the activations' slopes are at
// most 1.13 (relu²: 2x; a gate: its value), and the rest adds a few ε of the values that meet.
void expect_right(const Problem& before, const Problem& after) {
  const Case& c = before.shape;
  const Epilogue& e = before.product.epilogue;
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t j = 0; j < before.product.y_stride; ++j) {
      const auto at = static_cast<std::size_t>(i * before.product.y_stride + j);
      const double found = after.y[at];
      if (j >= c.n) {
        ASSERT_EQ(found, before.y[at]) << "written beyond the row, at " << i << ", " << j;
        continue;
      }
      double sum = 0, size = 0;
      for (std::int64_t p = 0; p < c.k; ++p) {
        const double term = double{before.x[static_cast<std::size_t>(i * before.product.x_stride + p)]} *
                            before.weights[static_cast<std::size_t>(j * c.k + p)];
        sum += term;
        size += std::abs(term);
      }
      double value = sum, slope = 1;
      if (e.bias) value += before.bias[static_cast<std::size_t>(j)];
      const double u = value;
      if (e.gate) {
        const double g = before.gate[at];
        if (e.clamp != 0) {
          const double low = std::min(g, e.clamp);
          slope = low / (1 + std::exp(-1.702 * low));
          value = slope * (std::clamp(u, -e.clamp, e.clamp) + 1);
        } else {
          slope = act(e.activation, g);
          value = slope * u;
        }
      } else if (e.activate) {
        slope = e.activation == Activation::relu_squared ? 2 * std::abs(u) + 1 : 1.13;
        value = act(e.activation, u);
      }
      value *= double{e.scale};
      const double shift = e.residual ? e.residual == before.product.y ? before.y[at] : before.residual[at] : 0;
      const double error = static_cast<double>(c.k) * float_epsilon * size * std::abs(slope) +
                           8 * float_epsilon * (std::abs(u) + std::abs(value) + std::abs(shift) + std::abs(slope));
      ASSERT_NEAR(found, value + shift, error) << "row " << i << ", column " << j;
    }
}

void expect_right(const Case& c) {
  Workshop machine(2);
  const Problem before(c);
  Problem after(c);
  machine.run({&after.product, 1});
  SCOPED_TRACE(std::to_string(c.m) + " x " + std::to_string(c.n) + " x " + std::to_string(c.k) + ", type " +
               std::to_string(static_cast<int>(c.dtype)) + ", layout " + std::to_string(static_cast<int>(c.layout)) +
               ", " + c.epilogue);
  expect_right(before, after);
}

constexpr DType stored_types[] = {DType::float32, DType::bfloat16, DType::float16};
constexpr Layout layouts[] = {Layout::k_runs_on, Layout::n_runs_on, Layout::blocks, Layout::blocks_n_runs_on};

// With OpenBLAS, where it is built in, and without: the same tests.
class Dense : public testing::TestWithParam<bool> {
  void SetUp() override {
    if (GetParam() && !have_blas()) GTEST_SKIP() << "built without OpenBLAS";
    choose_many_rows(GetParam() ? ManyRows::blas : ManyRows::highway);
  }
  void TearDown() override { choose_many_rows(ManyRows::automatic); }
};
INSTANTIATE_TEST_SUITE_P(, Dense, testing::Bool(), [](const auto& path) { return path.param ? "Blas" : "Highway"; });

TEST_P(Dense, GivesTheProductForEveryTypeLayoutAndNumberOfRows) {
  for (const DType dtype : stored_types)
    for (const Layout layout : layouts)
      for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 33}) expect_right({m, 77, 65, dtype, layout});
}

TEST_P(Dense, GivesTheProductForOddSizes) {
  for (const Layout layout : layouts)
    for (const std::int64_t m : {1, 7, 65})
      for (const std::int64_t n : {1, 7, 63, 97})
        for (const std::int64_t k : {1, 7, 63, 65, 130}) expect_right({m, n, k, DType::float32, layout});
}

TEST_P(Dense, GivesTheProductWhenItIsCutIntoManyTiles) {
  for (const Layout layout : {Layout::k_runs_on, Layout::n_runs_on}) {
    expect_right({16, 40000, 33, DType::float32, layout, "bias"});
    expect_right({1, 769, 1030, DType::float32, layout});
    expect_right({8, 769, 1030, DType::bfloat16, layout});
    expect_right({259, 391, 33, DType::float32, layout, "bias residual"});
    expect_right({515, 97, 17, DType::float32, layout, "bias itself"});
    expect_right({18, 100, 2049, DType::float16, layout});
    expect_right({18, 100, 2049, DType::float32, layout});
  }
}

TEST_P(Dense, AppliesEveryEpilogue) {
  for (const std::int64_t m : {1, 5, 40})
    for (const char* epilogue : {"bias", "bias erf", "bias tanh", "bias relu", "squared", "bias silu", "gate silu",
                                 "bias gate tanh", "bias gate clamp silu", "residual", "bias itself",
                                 "scale bias residual", "bias silu scale itself", "gate erf residual"})
      for (const Layout layout : {Layout::k_runs_on, Layout::n_runs_on})
        expect_right({m, 67, 41, DType::float32, layout, epilogue});
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Many independent products at once: small and large, few rows and many, none at all.
std::vector<Problem> mixed_problems() {
  std::vector<Problem> problems;
  unsigned seed = 0;
  for (const Case& c : {Case{1, 300, 200}, Case{8, 500, 129, DType::bfloat16, Layout::n_runs_on, "bias tanh"},
                        Case{0, 50, 40}, Case{300, 400, 40, DType::float32, Layout::k_runs_on, "bias itself"},
                        Case{20, 110, 1100, DType::float16, Layout::blocks}, Case{3, 7, 5}, Case{17, 400, 30}})
    problems.emplace_back(c, ++seed);
  return problems;
}

std::vector<Product> products_of(const std::vector<Problem>& problems) {
  std::vector<Product> products;
  for (const Problem& problem : problems) products.push_back(problem.product);
  return products;
}

TEST_P(Dense, GivesEqualBitsForAnyNumberOfThreads) {
  std::vector<Problem> first = mixed_problems();
  const std::vector<Problem> before = mixed_problems();
  Workshop(1).run(products_of(first));
  for (std::size_t i = 0; i < first.size(); ++i) expect_right(before[i], first[i]);
  for (const int threads : {2, 3, 5}) {
    Workshop machine(threads);
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<Problem> again = mixed_problems();
      machine.run(products_of(again));
      for (std::size_t i = 0; i < first.size(); ++i)
        ASSERT_TRUE(same_bits(first[i].y, again[i].y)) << threads << " threads, product " << i;
    }
  }
}

TEST_P(Dense, CountsTheArithmeticAndTheBytesExactly) {
  for (const int threads : {1, 3}) {
    Workshop machine(threads);
    std::vector<Problem> problems = mixed_problems();
    machine.run(products_of(problems));
    std::int64_t flops = 0, read = 0, written = 0;
    for (const Problem& p : problems) {
      const std::int64_t m = p.shape.m, n = p.shape.n, k = p.shape.k;
      const Epilogue& e = p.product.epilogue;
      if (m == 0) continue;
      flops += 2 * m * n * k;
      read += 4 * m * k + n * k * (p.shape.dtype == DType::float32 ? 4 : 2) + (e.bias ? 4 * n : 0) +
              (e.gate ? 4 * m * n : 0) + (e.residual ? 4 * m * n : 0);
      written += 4 * m * n;
    }
    EXPECT_EQ(machine.counters.total().matmul_flops, flops);
    EXPECT_EQ(machine.counters.total().read, read);
    EXPECT_EQ(machine.counters.total().written, written);
    machine.counters.reset();
    EXPECT_EQ(machine.counters.total(), Measured{});
  }
}

TEST(FewRows, GiveTheBitsOfOneRow) {
  for (const Layout layout : {Layout::k_runs_on, Layout::n_runs_on})
    for (const DType dtype : stored_types) {
      Problem all({16, 170, 333, dtype, layout}), one({16, 170, 333, dtype, layout});
      Workshop machine(1);
      machine.run({&all.product, 1});
      for (std::int64_t i = 0; i < 16; ++i) {
        Product row = one.product;
        row.x += i * row.x_stride;
        row.y += i * row.y_stride;
        row.rows = 1;
        machine.run({&row, 1});
      }
      EXPECT_TRUE(same_bits(all.y, one.y));
    }
}

// GPT-2's query, key and value: slices of one tensor, multiplied at once.
TEST(FewRows, SideBySideGiveTheBitsOfEachAlone) {
  for (const DType dtype : stored_types)
    for (const auto& [rows, k] : {std::pair<std::int64_t, std::int64_t>{1, 333}, {8, 333}, {2, 40}}) {
      Problem together({rows, 700, k, dtype, Layout::n_runs_on, "bias"}), alone = together;
      const Problem before = together;
      const std::vector<std::int64_t> ends = {0, 130, 131, 400, 700};
      const auto slices = [&](const Problem& problem, std::vector<float>& y) {
        std::vector<Product> products;
        for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
          Product slice = problem.product;
          slice.weight.data = static_cast<const std::byte*>(slice.weight.data) + ends[i] * bytes_of(dtype);
          slice.weight.rows = ends[i + 1] - ends[i];
          slice.epilogue.bias += ends[i];
          slice.y = y.data() + ends[i];
          products.push_back(slice);
        }
        return products;
      };
      Workshop machine(2);
      std::vector<Product> products = slices(together, together.y);
      Problem other({rows, 200, 300, dtype, Layout::n_runs_on});
      const Problem other_before = other;
      products.push_back(other.product);
      machine.run(products);
      EXPECT_EQ(machine.counters.total().matmul_flops, 2 * rows * (700 * k + 200 * 300));
      for (const Product& product : slices(alone, alone.y)) machine.run({&product, 1});
      EXPECT_TRUE(same_bits(together.y, alone.y));
      expect_right(before, together);
      expect_right(other_before, other);
    }
}

// In a process of its own, in which nobody has said how many threads OpenBLAS is to have: it would start some.
TEST(BlasDeathTest, IsLeftAloneWhereTheProcessHasNotSetItToOneThread) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto product = [](int threads) {
    Pool pool(threads);
    Scratch scratch(threads);
    Counters counters(threads);
    const std::vector<float> x(64 * 32, 1.0f), w(48 * 32, 1.0f);
    std::vector<float> y(64 * 48);
    const Product whole{x.data(), 64, 32, {w.data(), DType::float32, 48, 32, 32, 1, 0, 0}, y.data(), 48, {}};
    choose_many_rows(ManyRows::blas);
    Machine machine{pool, scratch, counters};
    run_products(machine, {&whole, 1});
    const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
    const bool right = std::all_of(y.begin(), y.end(), [](float value) { return value == 32.0f; });
    return right && std::distance(begin(tasks), end(tasks)) == pool.threads();  // ours alone
  };
  const auto unset = [&] {
    ::unsetenv("OPENBLAS_NUM_THREADS");
    ::unsetenv("OMP_NUM_THREADS");
    const bool done = product(2) && !have_blas() && std::getenv("OPENBLAS_NUM_THREADS") == nullptr;
    std::exit(done ? 0 : 1);
  };
  EXPECT_EXIT(unset(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(product(2) ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(DenseErrors, NameWeightsThatNoKernelReads) {
  Workshop machine(1);
  Problem strided({1, 4, 4});
  strided.product.weight.row_stride = 8;
  strided.product.weight.col_stride = 2;
  EXPECT_THROW(machine.run({&strided.product, 1}), Error);
  Problem integers({1, 4, 4});
  integers.product.weight.dtype = DType::int8;
  EXPECT_THROW(machine.run({&integers.product, 1}), Error);
}

}  // namespace
