// Encoders of GGUF's blocks: what they write is decoded near to what they were given.
#include "files/quantise.h"
#include "files/blocks.h"
#include "files/encoding.h"
#include "text_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace reckon {
namespace {

constexpr std::int64_t columns = 1024, rows = 16;

// Sums of twelve uniform numbers, about normal; in every other row some are eight times as large.
std::vector<float> numbers() {
  std::mt19937 random(15);
  std::vector<float> x;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += random() * 0x1p-32;
    const bool far = i / columns % 2 == 1 && random() % 64 == 0;
    x.push_back(static_cast<float>(sum * (far ? 0.16 : 0.02)));
  }
  return x;
}

std::vector<float> importances() {
  std::mt19937 random(16);
  std::vector<float> importance;
  for (std::int64_t i = 0; i < columns; ++i)
    importance.push_back(static_cast<float>(std::exp2(static_cast<double>(random() % 8))));
  return importance;
}

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& x, const float* importance,
                               std::int64_t width = columns) {
  const std::int64_t bytes = row_bytes(dtype, width);
  std::vector<std::byte> blocks(x.size() / static_cast<std::size_t>(width) * static_cast<std::size_t>(bytes));
  for (std::size_t row = 0; row * static_cast<std::size_t>(width) < x.size(); ++row)
    encode_row(dtype, x.data() + row * static_cast<std::size_t>(width), width, importance,
               blocks.data() + row * static_cast<std::size_t>(bytes));
  return blocks;
}

std::vector<float> decoded(DType dtype, const std::vector<std::byte>& blocks, std::size_t count) {
  std::vector<float> values(count);
  decode(encoding_of(dtype), blocks, values);
  return values;
}

// The root of the weighted squares of the difference, relative to those of x.
double error(const std::vector<float>& x, const std::vector<float>& y, const float* importance) {
  double lost = 0, all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = importance != nullptr ? importance[i % columns] : 1;
    lost += weight * std::pow(double{y[i]} - x[i], 2);
    all += weight * std::pow(double{x[i]}, 2);
  }
  return std::sqrt(lost / all);
}

// What ggml's quantize_q4_0() and so on (llama.cpp, commit b21e4de) lose on the same numbers, without and with
// importance.
const struct {
  DType dtype;
  double plain, weighted;
} of_ggml[] = {
    {DType::q2_k, 0.316830, 0.234590},  {DType::q3_k, 0.184446, 0.153196},   {DType::iq4_xs, 0.103482, 0.090336},
    {DType::mxfp4, 0.142096, 0.144345}, {DType::iq4_nl, 0.102119, 0.088222}, {DType::q4_0, 0.133476, 0.118635},
    {DType::q4_k, 0.088915, 0.073840},  {DType::q4_1, 0.095907, 0.070767},   {DType::q5_0, 0.066660, 0.058593},
    {DType::q5_k, 0.045182, 0.039229},  {DType::q5_1, 0.046151, 0.035427},   {DType::q6_k, 0.025560, 0.022741},
    {DType::q8_0, 0.008397, 0.007913},
};

TEST(Quantise, LosesLessThanGgmlInTheSameBytes) {
  const std::vector<float> x = numbers(), importance = importances();
  for (const auto& [dtype, plain, weighted] : of_ggml) {
    EXPECT_LT(error(x, decoded(dtype, encoded(dtype, x, nullptr), x.size()), nullptr), 0.985 * plain)
        << encoding_of(dtype).name;
    EXPECT_LT(error(x, decoded(dtype, encoded(dtype, x, importance.data()), x.size()), importance.data()),
              0.985 * weighted)
        << encoding_of(dtype).name;
  }
}

TEST(Quantise, ImportantColumnsLoseLess) {
  const std::vector<float> x = numbers();
  std::vector<float> importance(columns, 1.0f);
  for (std::size_t i = 0; i < importance.size(); i += 4) importance[i] = 1000;
  for (const auto& [dtype, plain, weighted] : of_ggml) {
    if (dtype == DType::mxfp4) continue;  // a power of two leaves little to choose
    const auto lost = [&, dtype = dtype](const float* by) {
      const std::vector<float> y = decoded(dtype, encoded(dtype, x, by), x.size());
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); i += 4) sum += std::pow(double{y[i]} - x[i], 2);
      return sum;
    };
    EXPECT_LT(lost(importance.data()), 0.9 * lost(nullptr)) << encoding_of(dtype).name;
  }
}

TEST(Quantise, NumbersThatABlockCanHoldStayAsTheyAre) {
  const struct {
    DType dtype;
    int low, levels;
  } cases[] = {{DType::q2_k, -3, 4},  {DType::q3_k, -4, 8},  {DType::q4_0, -8, 16},
               {DType::q4_k, -9, 16}, {DType::q4_1, -3, 16}, {DType::q5_0, -16, 32},
               {DType::q5_k, -7, 32}, {DType::q5_1, 5, 32},  {DType::mxfp4, 0, 5}};
  for (const auto& [dtype, low, levels] : cases) {
    const auto n = static_cast<std::size_t>(encoding_of(dtype).elements);
    std::vector<float> x(n);
    for (std::size_t e = 0; e < n; ++e) x[e] = static_cast<float>(static_cast<int>(e) % levels + low);
    const std::vector<float> found = decoded(dtype, encoded(dtype, x, nullptr, encoding_of(dtype).elements), n);
    double largest = 0;
    for (std::size_t e = 0; e < n; ++e) largest = std::max(largest, std::fabs(double{found[e]} - x[e]));
    EXPECT_LT(largest, 0.01) << encoding_of(dtype).name;  // scales have 11 bits
  }
}

TEST(Quantise, ZeroStaysZero) {
  for (int i = static_cast<int>(DType::q2_k); i <= static_cast<int>(DType::q8_0); ++i) {
    const auto dtype = static_cast<DType>(i);
    ASSERT_TRUE(can_encode(dtype));
    const auto n = static_cast<std::size_t>(encoding_of(dtype).elements);
    const std::vector<float> zeros(n, 0.0f);
    EXPECT_EQ(decoded(dtype, encoded(dtype, zeros, nullptr, encoding_of(dtype).elements), n), zeros);
  }
}

TEST(Quantise, LargeAndSmallNumbersStayFinite) {
  for (int i = static_cast<int>(DType::q2_k); i <= static_cast<int>(DType::q8_0); ++i) {
    const auto dtype = static_cast<DType>(i);
    const auto n = static_cast<std::size_t>(encoding_of(dtype).elements);
    std::mt19937 random(3);
    for (const float size : {131008.0f, 1e-6f, 1e-20f, 1e-45f}) {
      std::vector<float> x(n);
      for (float& value : x) value = size * (static_cast<float>(random() * 0x1p-32) - 0.5f);
      for (const float value : decoded(dtype, encoded(dtype, x, nullptr, encoding_of(dtype).elements), n)) {
        ASSERT_TRUE(std::isfinite(value)) << encoding_of(dtype).name << " " << size;
        if (size == 131008.0f) {
          ASSERT_LT(std::fabs(value), size);
        }
      }
    }
  }
}

TEST(Quantise, ColumnsWithoutImportanceStayNear) {
  const std::vector<float> x = numbers(), nothing(columns, 0.0f);
  for (const DType dtype : {DType::q4_0, DType::q4_k})
    EXPECT_EQ(encoded(dtype, x, nothing.data()), encoded(dtype, x, nullptr));
  std::vector<float> one(columns, 0.0f);
  one[7] = 1;
  EXPECT_LT(error(x, decoded(DType::q4_k, encoded(DType::q4_k, x, one.data()), x.size()), nullptr), 0.15);
}

// Activations whose neighbours are alike: x·xᵀ is 0.9^|i − j| on average. The inverse of that has two diagonals, and
// its factor two values a row: UᵀU with U = (1, −0.9) / √(1 − 0.81), and 1 in the last corner.
TEST(Quantise, CorrelatedColumnsMakeGoodWhatOthersLose) {
  const double r = 0.9, s = 1 / std::sqrt(1 - r * r);
  std::vector<float> factor(columns * columns);
  for (std::size_t i = 0; i < columns; ++i) {
    const bool last = i + 1 == columns;
    factor[i * columns + i] = static_cast<float>(last ? 1 : s);
    if (!last) factor[i * columns + i + 1] = static_cast<float>(-r * s);
  }
  const auto lost = [&](const std::vector<float>& x, const std::vector<float>& y) {  // of what rows give, on average
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      double before = 0;  // Σ over j < i of 0.9^(i − j) times the difference at j
      for (std::int64_t i = 0; i < columns; ++i) {
        const auto at = static_cast<std::size_t>(row * columns + i);
        const double off = double{y[at]} - x[at];
        before *= r;
        sum += off * off + 2 * off * before;
        before += off;
      }
    }
    return sum;
  };
  const std::vector<float> x = numbers();
  for (int i = static_cast<int>(DType::q2_k); i <= static_cast<int>(DType::q8_0); ++i) {
    const auto dtype = static_cast<DType>(i);
    std::vector<float> changed = x;
    std::vector<std::byte> blocks(static_cast<std::size_t>(rows * row_bytes(dtype, columns)));
    encode_rows(dtype, changed.data(), rows, columns, factor, blocks.data());
    EXPECT_LT(lost(x, decoded(dtype, blocks, x.size())),
              0.5 * lost(x, decoded(dtype, encoded(dtype, x, nullptr), x.size())))
        << encoding_of(dtype).name;
  }
}

TEST(Quantise, ColumnsThatAreNotCorrelatedAreEncodedAlone) {
  std::vector<float> factor(columns * columns);
  for (std::size_t i = 0; i < columns; ++i) factor[i * columns + i] = 2;
  const std::vector<float> x = numbers(), alike(columns, 1.0f);
  for (const DType dtype : {DType::q4_0, DType::q4_k, DType::iq4_xs}) {
    std::vector<float> changed = x;
    std::vector<std::byte> blocks(static_cast<std::size_t>(rows * row_bytes(dtype, columns)));
    encode_rows(dtype, changed.data(), rows, columns, factor, blocks.data());
    EXPECT_TRUE(blocks == encoded(dtype, x, alike.data())) << encoding_of(dtype).name;
  }
}

TEST(Quantise, RefusesWhatItCannotWrite) {
  std::vector<float> x(64, 1.0f);
  std::vector<std::byte> out(1024);
  EXPECT_EQ(error_of([&] { encode_row(DType::q4_0, x.data(), 48, nullptr, out.data()); }),
            "48 elements of q4_0 end within a block of 32");
  EXPECT_EQ(error_of([&] { encode_row(DType::int4, x.data(), 64, nullptr, out.data()); }),
            "values cannot be written in int4");
}

// One number among ones. By hand: a float16 is at most 65,504; it times the largest integer of an element, and in K
// blocks of the scale or the offset of a sub-block, is what a block holds with either sign.
TEST(Quantise, BlocksHoldWhatTheirScalesAllow) {
  const struct {
    DType dtype;
    float held, beyond;
  } cases[] = {
      {DType::q4_0, 458e3f, 459e3f},        // 7 · 65,504 = 458,528
      {DType::q5_0, 982e3f, 983e3f},        // 15 · 65,504 = 982,560
      {DType::q8_0, 8.31e6f, 8.32e6f},      // 127 · 65,504 = 8,319,008
      {DType::iq4_nl, 7.4e6f, 7.41e6f},     // 113 · 65,504 = 7,401,952
      {DType::q4_1, 65500, 65510},          // the offset
      {DType::q5_1, 65500, 65510},          // the offset
      {DType::q2_k, 982e3f, 983e3f},        // 15 · 65,504 = 982,560, the offset
      {DType::q3_k, 6.09e6f, 6.1e6f},       // 31 · 3 · 65,504 = 6,091,872
      {DType::q4_k, 4.12e6f, 4.13e6f},      // 63 · 65,504 = 4,126,752, the offset
      {DType::q5_k, 4.12e6f, 4.13e6f},      // the same
      {DType::q6_k, 2.57e8f, 2.58e8f},      // 127 · 31 · 65,504 = 257,889,248
      {DType::iq4_xs, 2.29e8f, 2.3e8f},     // 31 · 113 · 65,504 = 229,460,512
      {DType::mxfp4, 0x1.8p39f, 0x1.8p40f}  // a power of two, with sums of squares in float32
  };
  for (const auto& each : cases)
    for (const float sign : {1.0f, -1.0f}) {
      SCOPED_TRACE(fmt::format("{} of {}", sign * each.held, encoding_of(each.dtype).name));
      std::vector<float> x(256, 1.0f);
      x[37] = sign * each.held;
      EXPECT_NEAR(decoded(each.dtype, encoded(each.dtype, x, nullptr, 256), x.size())[37] / x[37], 1, 0.01);
      for (const float beyond : {each.beyond, 1e30f}) {
        x[37] = sign * beyond;
        const std::string expected = fmt::format("element 37 of a row is {}, expected a number within ±", x[37]);
        EXPECT_TRUE(error_of([&] { encoded(each.dtype, x, nullptr, 256); }).starts_with(expected));
      }
    }
}

TEST(Quantise, FloatsKeepWhatIsNoNumberAndBlocksDoNot) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(64, 1.0f);
  std::vector<std::byte> out(256);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    x[5] = bad;
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      encode_row(dtype, x.data(), 64, nullptr, out.data());
      const float found = decode_element(encoding_of(dtype), out.data(), 5);
      EXPECT_TRUE(std::isnan(bad) ? std::isnan(found) : found == bad) << encoding_of(dtype).name << ": " << found;
    }
    EXPECT_EQ(error_of([&] { encode_row(DType::q8_0, x.data(), 64, nullptr, out.data()); }),
              fmt::format("element 5 of a row is {}, expected a number within ±8.319e+06, the largest of q8_0", bad));
  }
}

TEST(Quantise, FloatsHoldWhatTheirExponentAllows) {
  std::vector<float> x(64, 1.0f);
  std::vector<std::byte> out(256);
  const auto written = [&](DType dtype, float value) {
    x[5] = value;
    encode_row(dtype, x.data(), 64, nullptr, out.data());
    return decode_element(encoding_of(dtype), out.data(), 5);
  };
  EXPECT_EQ(written(DType::float32, 3e38f), 3e38f);
  EXPECT_EQ(written(DType::bfloat16, 0x1p100f), 0x1p100f);
  EXPECT_EQ(written(DType::float16, -65504), -65504);
  EXPECT_EQ(error_of([&] { written(DType::float16, 70000); }),
            "element 5 of a row is 70000, expected a number within ±65504, the largest of float16");
  // The largest of bfloat16 is (2 − 2⁻⁷) · 2¹²⁷.
  EXPECT_EQ(error_of([&] { written(DType::bfloat16, std::numeric_limits<float>::max()); }),
            "element 5 of a row is 3.4028235e+38, expected a number within ±3.3895e+38, the largest of bfloat16");
}

}  // namespace
}  // namespace reckon
