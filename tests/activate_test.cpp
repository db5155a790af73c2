// The vectorised activations against the same formulas in double.
#include "backend/cpu/activate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace reckon;

constexpr Activation kinds[] = {Activation::gelu, Activation::gelu_tanh, Activation::relu,    Activation::relu_squared,
                                Activation::silu, Activation::sigmoid,   Activation::softplus};

double reference(Activation kind, double x) {
  switch (kind) {
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(0.0, x);
    case Activation::relu_squared:
      return x > 0 ? x * x : 0;
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

// Within 4 units in the last place of x or of the result, whichever is larger: the functions are x times a factor
// below 1, whose own error is relative to 1.
TEST(Activate, IsRightToAFewBitsOverTheWholeRange) {
  std::vector<float> x;
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) * 0.00073f);
  for (float v = 30; v < 1e30f; v *= 3) x.insert(x.end(), {v, -v});
  for (float v = 1e-30f; v < 1; v *= 7) x.insert(x.end(), {v, -v});
  std::vector<float> y(x.size());
  for (const Activation kind : kinds) {
    activate(kind, x.data(), static_cast<std::int64_t>(x.size()), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = reference(kind, double{x[i]});
      if (std::abs(expected) > 1e38) continue;  // the square of a large number is infinite in float
      const double size = std::max(std::abs(expected), std::min(double{std::abs(x[i])}, 8.0));
      EXPECT_NEAR(y[i], expected, 4 * 0x1p-24 * size) << "x = " << x[i] << ", kind " << static_cast<int>(kind);
    }
  }
}

TEST(Activate, GivesTheSameBitsAtEveryPlaceInAnArray) {
  std::vector<float> x(67, 0.8125f), y(67);
  for (const Activation kind : kinds)
    for (std::int64_t count = 1; count <= 67; ++count) {
      y.assign(67, -7.0f);
      activate(kind, x.data(), count, y.data());
      for (std::int64_t i = 0; i < 67; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], i < count ? y[0] : -7.0f);
    }
}

// What is left over behind whole vectors has the bits that it has inside of one: else a row on its own would differ
// from the same row in a fused product, and recomputed values from those that were kept.
TEST(Activate, GivesTheSameBitsOneByOne) {
  std::vector<float> x, dy;
  for (int i = -4000; i <= 4000; ++i) {
    x.push_back(static_cast<float>(i) * 0.0031f);
    dy.push_back(static_cast<float>(i % 7) * 0.173f);
  }
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<float> all(x.size()), one(x.size()), d_all(x.size()), d_one(x.size());
  for (const Activation kind : kinds) {
    activate(kind, x.data(), count, all.data());
    activate_backward(kind, dy.data(), x.data(), count, d_all.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      activate(kind, &x[i], 1, &one[i]);
      activate_backward(kind, &dy[i], &x[i], 1, &d_one[i]);
    }
    EXPECT_EQ(one, all) << static_cast<int>(kind);
    EXPECT_EQ(d_one, d_all) << static_cast<int>(kind);
  }
}

TEST(Activate, CarriesOnWhatIsNotANumber) {
  const float x = std::numeric_limits<float>::quiet_NaN();
  for (const Activation kind : kinds) {
    float y = 0;
    activate(kind, &x, 1, &y);
    EXPECT_TRUE(std::isnan(y)) << static_cast<int>(kind);
  }
}

TEST(Activate, MultipliesByTheGate) {
  std::vector<float> gate, up;
  for (int i = 0; i < 301; ++i) {
    gate.push_back(static_cast<float>(i - 150) * 0.07f);
    up.push_back(static_cast<float>(i * 37 % 101 - 50) * 0.3f);
  }
  std::vector<float> y(gate.size());
  for (const Activation kind : kinds) {
    activate_gated(kind, 0, gate.data(), up.data(), 301, y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double expected = reference(kind, double{gate[i]}) * double{up[i]};
      EXPECT_NEAR(y[i], expected, 4 * 0x1p-24 * (std::abs(expected) + std::abs(double{gate[i]} * double{up[i]})));
    }
  }
}

TEST(Activate, ClampsAsGptOssDoes) {
  // By hand: gate 9 → 7, up −9 → −7: 7·σ(11.914)·(−6) = −41.99971886…
  const float gate[] = {9, 1}, up[] = {-9, 2};
  float y[2];
  activate_gated(Activation::silu, 7, gate, up, 2, y);
  EXPECT_NEAR(y[0], -42 / (1 + std::exp(-11.914)), 1e-5);
  EXPECT_NEAR(y[1], 3 / (1 + std::exp(-1.702)), 1e-6);  // nothing to clamp: σ(1.702)·(2 + 1)
}

}  // namespace
