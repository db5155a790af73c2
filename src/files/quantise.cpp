#include "files/quantise.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <array>
#include <limits>
#include <vector>

#include "files/block_codes.h"
#include "files/blocks.h"
#include "files/encoding.h"
#include "files/fit_scales.h"
#include "files/super_blocks.h"

namespace reckon {
namespace {

using fit::Integers;
using fit::Line;
using fit::nearest_float16;
using fit::Numbers;
using fit::Sums;
using Bytes = std::uint8_t*;

void put(Bytes at, std::uint16_t value) { std::memcpy(at, &value, sizeof value); }

// Of the two or three float16 next to a scale the one with the least error.
template <class Values>
std::uint16_t best_float16(const Numbers& of, float scale) {
  const std::uint16_t middle = nearest_float16(scale);
  std::uint16_t best = middle;
  float least = INFINITY;
  for (const int step : {0, -1, 1}) {
    const auto bits = static_cast<std::uint16_t>(middle + step);
    const float value = from_float16(bits);
    if (!std::isfinite(value) || (middle & 0x7FFF) == 0) continue;
    const float error = fit::scale_sums_at<Values>(of, value).rr;
    if (error < least) {
      least = error;
      best = bits;
    }
  }
  return best;
}

using FourBits = Integers<-8, 7>;
using FiveBits = Integers<-16, 15>;
using EightBits = Integers<-127, 127>;
using Iq4 = fit::Table<iq4_values>;
using Mxfp4 = fit::Table<mxfp4_values>;

void q4_0(const Numbers& of, Bytes block) {
  put(block, best_float16<FourBits>(of, fit::fit_scale<FourBits>(of, 16, 0.04f, 0.72f).scale));
}

void q5_0(const Numbers& of, Bytes block) {
  put(block, best_float16<FiveBits>(of, fit::fit_scale<FiveBits>(of, 16, 0.02f, 0.82f).scale));
}

void q8_0(const Numbers& of, Bytes block) {
  put(block, best_float16<EightBits>(of, fit::fit_scale<EightBits>(of, 8, 0.003f, 0.985f).scale));
}

void iq4_nl(const Numbers& of, Bytes block) {
  put(block, best_float16<Iq4>(of, fit::fit_scale<Iq4>(of, 16, 0.03f, 0.72f).scale));
}

// Scale and offset as float16, the second refitted when the first is rounded.
template <class Values>
void put_line(const Numbers& of, Bytes block) {
  const Line line = fit::fit_line<Values>(of, INFINITY, 6, Values::high > 15 ? 0.3f : 0.2f, -0.2f);
  const std::uint16_t d = nearest_float16(line.scale);
  const Sums sums = fit::sums_at<Values>(of, from_float16(d), line.offset);
  put(block, d);
  put(block + 2, nearest_float16(line.offset + (sums.w > 0 ? sums.r / sums.w : 0)));
}

void mxfp4(const Numbers& of, Bytes block) {
  // The largest value is 12: the least power of two that reaches the extreme number, and its neighbours.
  const float most = std::fabs(fit::extreme(of));
  const int reaching = most > 0 ? std::ilogb(most) - 3 + 128 : 0;
  float least = INFINITY;
  for (int exponent = std::max(reaching - 2, 0); exponent <= std::clamp(reaching + 1, 0, 254); ++exponent) {
    const float error = fit::scale_sums_at<Mxfp4>(of, mxfp4_scale(static_cast<std::uint8_t>(exponent))).rr;
    if (error >= least) continue;
    least = error;
    block[0] = static_cast<std::uint8_t>(exponent);
  }
}

// Writes the scales of a block whose bytes are zero.
using FitScales = void (*)(const Numbers&, Bytes);

FitScales fit_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return q4_0;
    case DType::q4_1:
      return put_line<Integers<0, 15>>;
    case DType::q5_0:
      return q5_0;
    case DType::q5_1:
      return put_line<Integers<0, 31>>;
    case DType::q8_0:
      return q8_0;
    case DType::iq4_nl:
      return iq4_nl;
    case DType::mxfp4:
      return mxfp4;
    case DType::q2_k:
      return fit_q2_k;
    case DType::q3_k:
      return fit_q3_k;
    case DType::q4_k:
      return fit_q4_k;
    case DType::q5_k:
      return fit_q5_k;
    case DType::q6_k:
      return fit_q6_k;
    case DType::iq4_xs:
      return fit_iq4_xs;
    default:
      return nullptr;
  }
}

// What each element counts: its importance, but never nothing, so that a column which no text used stays near.
void set_weights(const float* importance, std::int64_t elements, std::vector<float>& weights) {
  weights.assign(static_cast<std::size_t>(elements), 1.0f);
  if (importance == nullptr) return;
  double total = 0;
  for (std::int64_t i = 0; i < elements; ++i) total += importance[i];
  const auto mean = static_cast<float>(total / static_cast<double>(elements));
  if (!(mean > 0) || !std::isfinite(mean)) return;
  for (std::int64_t i = 0; i < elements; ++i) weights[static_cast<std::size_t>(i)] = importance[i] / mean + 0.01f;
}

void encode_block(DType dtype, FitScales fit_scales, const Numbers& of, Bytes block) {
  std::memset(block, 0, static_cast<std::size_t>(encoding_of(dtype).bytes));
  fit_scales(of, block);
  const BlockScales scales = scales_of(dtype, block);
  const Levels levels = levels_of(dtype);
  std::array<std::uint8_t, 256> codes;
  const int each = of.n / scales.parts;
  for (int e = 0; e < of.n; ++e) {
    const auto part = static_cast<std::size_t>(e / each);
    codes[static_cast<std::size_t>(e)] = static_cast<std::uint8_t>(
        levels.nearest((of.x[e] - scales.offset[part]) * fit::inverse_of(scales.scale[part])));
  }
  put_codes(dtype, codes.data(), block);
}

// The largest number that it holds with either sign: of a block the largest integers times the largest float16, those
// of scales of sub-blocks too. Where there are offsets, these end first.
float most_of(DType dtype) {
  constexpr float most = 65504;
  switch (dtype) {
    case DType::float16:
    case DType::q4_1:
    case DType::q5_1:
      return most;
    case DType::q4_0:
      return 7 * most;
    case DType::q5_0:
      return 15 * most;
    case DType::q8_0:
      return 127 * most;
    case DType::iq4_nl:
      return 113 * most;
    case DType::q2_k:
      return 15 * most;
    case DType::q3_k:
      return 31 * 3 * most;
    case DType::q4_k:
    case DType::q5_k:
      return 63 * most;
    case DType::q6_k:
      return 127 * 31 * most;
    case DType::iq4_xs:
      return 31 * 113 * most;
    case DType::mxfp4:
      return 0x1p40f;  // 12 · 2¹²⁶, but float32 has to hold sums of squares
    case DType::bfloat16:
      return 0x1.FEp127f;
    default:
      return std::numeric_limits<float>::max();
  }
}

// NaN and infinities are kept by floats, and held by no block.
void require_held(DType dtype, const float* in, std::int64_t elements) {
  const float most = most_of(dtype);
  for (std::int64_t i = 0; i < elements; ++i)
    if (!(std::fabs(in[i]) <= most) && (is_quantised(dtype) || std::isfinite(in[i])))
      throw Error(fmt::format("element {} of a row is {}, expected a number within ±{:.5g}, the largest of {}", i,
                              in[i], most, encoding_of(dtype).name));
}

}  // namespace

bool can_encode(DType dtype) { return fit_of(dtype) != nullptr || encoding_of(dtype).encode != nullptr; }

DType fitting(DType wanted, std::int64_t columns) {
  const auto fits = [&](DType dtype) { return columns % encoding_of(dtype).elements == 0; };
  if (fits(wanted)) return wanted;
  DType other = DType::float16;
  if (wanted == DType::q2_k || wanted == DType::q3_k) other = DType::q4_0;
  if (wanted == DType::iq4_xs) other = DType::iq4_nl;
  if (wanted == DType::q4_k) other = DType::q5_0;
  if (wanted == DType::q5_k) other = DType::q5_1;
  if (wanted == DType::q6_k) other = DType::q8_0;
  return fits(other) ? other : DType::float16;
}

void encode_row(DType dtype, const float* in, std::int64_t elements, const float* importance, std::byte* out) {
  const Encoding& encoding = encoding_of(dtype);
  row_bytes(encoding, elements);  // throws where a block would be part empty
  require_held(dtype, in, elements);
  const FitScales fit_scales = fit_of(dtype);
  if (fit_scales == nullptr) {
    if (encoding.encode == nullptr) throw Error(fmt::format("values cannot be written in {}", encoding.name));
    return encoding.encode(in, elements / encoding.elements, out);
  }
  std::vector<float> weights;
  set_weights(importance, elements, weights);
  const auto n = static_cast<int>(encoding.elements);
  for (std::int64_t i = 0; i < elements; i += n, out += encoding.bytes)
    encode_block(dtype, fit_scales, {in + i, weights.data() + i, n}, reinterpret_cast<Bytes>(out));
}

void encode_rows(DType dtype, float* rows, std::int64_t count, std::int64_t columns, std::span<const float> factor,
                 std::byte* out) {
  const FitScales fit_scales = fit_of(dtype);
  const std::int64_t n = encoding_of(dtype).elements, bytes = row_bytes(dtype, columns);
  std::vector<float> weights(static_cast<std::size_t>(columns)), errors(static_cast<std::size_t>(count * n));
  const auto factor_at = [&](std::int64_t row) { return factor.data() + row * columns; };
  for (std::int64_t i = 0; i < columns; ++i)
    weights[static_cast<std::size_t>(i)] = 1 / (factor_at(i)[i] * factor_at(i)[i]);
  set_weights(std::vector<float>(weights).data(), columns, weights);
  const Levels levels = levels_of(dtype);
  for (std::int64_t first = 0; first < columns; first += n) {
    for (std::int64_t r = 0; r < count; ++r) {
      float* const x = rows + r * columns + first;
      auto* const block = reinterpret_cast<Bytes>(out + r * bytes + first / n * encoding_of(dtype).bytes);
      require_held(dtype, x, n);
      encode_block(dtype, fit_scales, {x, weights.data() + first, static_cast<int>(n)}, block);
      const BlockScales scales = scales_of(dtype, block);
      std::array<std::uint8_t, 256> codes;
      for (std::int64_t e = 0; e < n; ++e) {
        const auto part = static_cast<std::size_t>(e * scales.parts / n);
        const float scale = scales.scale[part], offset = scales.offset[part];
        const int code = levels.nearest((x[e] - offset) * fit::inverse_of(scale));
        codes[static_cast<std::size_t>(e)] = static_cast<std::uint8_t>(code);
        const float* const along = factor_at(first + e) + first;
        const float error = (x[e] - (offset + scale * levels.value(code))) / along[e];
        errors[static_cast<std::size_t>(r * n + e)] = error;
        for (std::int64_t f = e + 1; f < n; ++f) x[f] -= error * along[f];
      }
      put_codes(dtype, codes.data(), block);
    }
    // The columns behind the block, a few at a time, which stay in cache for all rows.
    constexpr std::int64_t together = 64;
    for (std::int64_t from = first + n; from < columns; from += together) {
      const std::int64_t width = std::min(together, columns - from);
      for (std::int64_t r = 0; r < count; ++r) {
        float* const x = rows + r * columns + from;
        for (std::int64_t e = 0; e < n; ++e) {
          const float error = errors[static_cast<std::size_t>(r * n + e)];
          const float* const along = factor_at(first + e) + from;
          for (std::int64_t f = 0; f < width; ++f) x[f] -= error * along[f];
        }
      }
    }
  }
}

}  // namespace reckon
