#include "files/quantise.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <array>
#include <vector>

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

// Integers of some values at a scale and offset, as codes from 0.
template <class Values>
std::array<std::uint8_t, 32> codes_at(const Numbers& of, float scale, float offset) {
  const float inverse = fit::inverse_of(scale);
  std::array<std::uint8_t, 32> codes{};
  for (int i = 0; i < 32; i += 4) {
    const fit::Lanes q = Values::nearest_value((fit::load(of.x + i) - offset) * inverse);
    for (int j = 0; j < 4; ++j)
      codes[static_cast<std::size_t>(i + j)] = static_cast<std::uint8_t>(static_cast<int>(q[j]) - Values::low);
  }
  return codes;
}

template <class Values>
std::array<std::uint8_t, 32> table_codes_at(const float* x, float scale) {
  const float inverse = fit::inverse_of(scale);
  std::array<std::uint8_t, 32> codes{};
  for (std::size_t i = 0; i < 32; ++i) codes[i] = static_cast<std::uint8_t>(Values::code_of(x[i] * inverse));
  return codes;
}

void put_nibbles(const std::array<std::uint8_t, 32>& codes, Bytes at) {
  for (std::size_t i = 0; i < 16; ++i) at[i] = static_cast<std::uint8_t>((codes[i] & 15) | codes[i + 16] << 4);
}

void put_fifth_bits(const std::array<std::uint8_t, 32>& codes, Bytes at) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 32; ++i) bits |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  std::memcpy(at, &bits, sizeof bits);
}

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
  const std::uint16_t d = best_float16<FourBits>(of, fit::fit_scale<FourBits>(of, 16, 0.04f, 0.72f).scale);
  put(block, d);
  put_nibbles(codes_at<FourBits>(of, from_float16(d), 0), block + 2);
}

void q5_0(const Numbers& of, Bytes block) {
  const std::uint16_t d = best_float16<FiveBits>(of, fit::fit_scale<FiveBits>(of, 16, 0.02f, 0.82f).scale);
  const auto codes = codes_at<FiveBits>(of, from_float16(d), 0);
  put(block, d);
  put_fifth_bits(codes, block + 2);
  put_nibbles(codes, block + 6);
}

void q8_0(const Numbers& of, Bytes block) {
  const std::uint16_t d = best_float16<EightBits>(of, fit::fit_scale<EightBits>(of, 8, 0.003f, 0.985f).scale);
  put(block, d);
  const auto codes = codes_at<EightBits>(of, from_float16(d), 0);
  for (std::size_t i = 0; i < 32; ++i) block[2 + i] = static_cast<std::uint8_t>(codes[i] - 127);
}

// Scale and offset as float16, refitted when the first is rounded.
template <class Values>
std::array<std::uint8_t, 32> put_line(const Numbers& of, Bytes block) {
  const Line line = fit::fit_line<Values>(of, INFINITY, 6, Values::high > 15 ? 0.3f : 0.2f, -0.2f);
  const std::uint16_t d = nearest_float16(line.scale);
  const Sums sums = fit::sums_at<Values>(of, from_float16(d), line.offset);
  const std::uint16_t m = nearest_float16(line.offset + (sums.w > 0 ? sums.r / sums.w : 0));
  put(block, d);
  put(block + 2, m);
  return codes_at<Values>(of, from_float16(d), from_float16(m));
}

void q4_1(const Numbers& of, Bytes block) { put_nibbles(put_line<Integers<0, 15>>(of, block), block + 4); }

void q5_1(const Numbers& of, Bytes block) {
  const auto codes = put_line<Integers<0, 31>>(of, block);
  put_fifth_bits(codes, block + 4);
  put_nibbles(codes, block + 8);
}

void iq4_nl(const Numbers& of, Bytes block) {
  const std::uint16_t d = best_float16<Iq4>(of, fit::fit_scale<Iq4>(of, 16, 0.03f, 0.72f).scale);
  put(block, d);
  put_nibbles(table_codes_at<Iq4>(of.x, from_float16(d)), block + 2);
}

void mxfp4(const Numbers& of, Bytes block) {
  // The largest value is 12: the least power of two that reaches the extreme number, and its neighbours.
  const float most = std::fabs(fit::extreme(of));
  const int reaching = most > 0 ? std::ilogb(most) - 3 + 128 : 0;
  int best = 0;
  float least = INFINITY;
  for (int exponent = std::max(reaching - 2, 0); exponent <= std::clamp(reaching + 1, 0, 254); ++exponent) {
    const float error = fit::scale_sums_at<Mxfp4>(of, mxfp4_scale(static_cast<std::uint8_t>(exponent))).rr;
    if (error < least) {
      least = error;
      best = exponent;
    }
  }
  block[0] = static_cast<std::uint8_t>(best);
  put_nibbles(table_codes_at<Mxfp4>(of.x, mxfp4_scale(block[0])), block + 1);
}

using EncodeBlock = void (*)(const Numbers&, Bytes);

EncodeBlock encoder_of(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
      return q4_0;
    case DType::q4_1:
      return q4_1;
    case DType::q5_0:
      return q5_0;
    case DType::q5_1:
      return q5_1;
    case DType::q8_0:
      return q8_0;
    case DType::iq4_nl:
      return iq4_nl;
    case DType::mxfp4:
      return mxfp4;
    case DType::q2_k:
      return encode_q2_k;
    case DType::q3_k:
      return encode_q3_k;
    case DType::q4_k:
      return encode_q4_k;
    case DType::q5_k:
      return encode_q5_k;
    case DType::q6_k:
      return encode_q6_k;
    case DType::iq4_xs:
      return encode_iq4_xs;
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

}  // namespace

bool can_encode(DType dtype) { return encoder_of(dtype) != nullptr || encoding_of(dtype).encode != nullptr; }

void encode_row(DType dtype, const float* in, std::int64_t elements, const float* importance, std::byte* out) {
  const Encoding& encoding = encoding_of(dtype);
  row_bytes(encoding, elements);  // throws where a block would be part empty
  for (std::int64_t i = 0; i < elements; ++i)
    if (!(std::fabs(in[i]) <= 65504))
      throw Error(fmt::format("element {} of a row is {}, expected a number within those of float16", i, in[i]));
  const EncodeBlock encode = encoder_of(dtype);
  if (encode == nullptr) {
    if (encoding.encode == nullptr) throw Error(fmt::format("values cannot be written in {}", encoding.name));
    return encoding.encode(in, elements / encoding.elements, out);
  }
  std::vector<float> weights;
  set_weights(importance, elements, weights);
  const auto n = static_cast<int>(encoding.elements);
  for (std::int64_t i = 0; i < elements; i += n, out += encoding.bytes)
    encode({in + i, weights.data() + i, n}, reinterpret_cast<Bytes>(out));
}

}  // namespace reckon
