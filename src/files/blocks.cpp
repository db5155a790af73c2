#include "files/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "files/float_types.h"

namespace reckon {
namespace {

using Bytes = const std::uint8_t*;

float float16_at(Bytes at) { return from_float16(static_cast<std::uint16_t>(at[0] | at[1] << 8)); }

// `count` blocks of so many elements and bytes, each by its own function.
template <int elements, int bytes, auto decode_block>
void each(const std::byte* blocks, std::int64_t count, float* out) {
  const auto* block = reinterpret_cast<Bytes>(blocks);
  for (std::int64_t i = 0; i < count; ++i, block += bytes, out += elements) decode_block(block, out);
}

// Sixteen bytes hold 32 codes of 4 bits: the low halves are the first sixteen.
template <class Value>
void each_nibble(Bytes packed, float* out, const Value& value) {
  for (int i = 0; i < 16; ++i) {
    out[i] = value(packed[i] & 15, i);
    out[i + 16] = value(packed[i] >> 4, i + 16);
  }
}

int bit(std::uint32_t bits, int index) { return static_cast<int>(bits >> index & 1); }

std::uint32_t word_at(Bytes at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

void q4_0(Bytes block, float* out) {
  const float d = float16_at(block);
  each_nibble(block + 2, out, [&](int q, int) { return d * static_cast<float>(q - 8); });
}

void q4_1(Bytes block, float* out) {
  const float d = float16_at(block), m = float16_at(block + 2);
  each_nibble(block + 4, out, [&](int q, int) { return d * static_cast<float>(q) + m; });
}

void q5_0(Bytes block, float* out) {
  const float d = float16_at(block);
  const std::uint32_t high = word_at(block + 2);
  each_nibble(block + 6, out, [&](int q, int i) { return d * static_cast<float>((q | bit(high, i) << 4) - 16); });
}

void q5_1(Bytes block, float* out) {
  const float d = float16_at(block), m = float16_at(block + 2);
  const std::uint32_t high = word_at(block + 4);
  each_nibble(block + 8, out, [&](int q, int i) { return d * static_cast<float>(q | bit(high, i) << 4) + m; });
}

void q8_0(Bytes block, float* out) {
  const float d = float16_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

void iq4_nl(Bytes block, float* out) {
  const float d = float16_at(block);
  each_nibble(block + 2, out,
              [&](int q, int) { return d * static_cast<float>(iq4_values[static_cast<std::size_t>(q)]); });
}

void mxfp4(Bytes block, float* out) {
  const float d = mxfp4_scale(block[0]);
  each_nibble(block + 1, out,
              [&](int q, int) { return d * static_cast<float>(mxfp4_values[static_cast<std::size_t>(q)]); });
}

// The 2 low bits of Q2_K and Q3_K: byte i of 32 holds elements i, i + 32, i + 64 and i + 96 of each half block.
int low_bits(Bytes packed, int e) { return packed[e / 128 * 32 + e % 32] >> e % 128 / 32 * 2 & 3; }

void q2_k(Bytes block, float* out) {
  const float d = float16_at(block + 80), m = float16_at(block + 82);
  for (int k = 0; k < 16; ++k) {
    const float scale = d * static_cast<float>(block[k] & 15), offset = m * static_cast<float>(block[k] >> 4);
    for (int e = 16 * k; e < 16 * k + 16; ++e) out[e] = scale * static_cast<float>(low_bits(block + 16, e)) - offset;
  }
}

void q3_k(Bytes block, float* out) {
  const float d = float16_at(block + 108);
  const Bytes high = block, packed = block + 96;
  for (int k = 0; k < 16; ++k) {
    const int low = k < 8 ? packed[k] & 15 : packed[k - 8] >> 4;
    const float scale = d * static_cast<float>((low | (packed[8 + k % 4] >> k / 4 * 2 & 3) << 4) - 32);
    for (int e = 16 * k; e < 16 * k + 16; ++e)
      out[e] = scale * static_cast<float>(low_bits(block + 32, e) + 4 * bit(high[e % 32], e / 32) - 4);
  }
}

// Q4_K and Q5_K: each 32 bytes hold the low 4 bits of two sub-blocks; Q5_K's fifth bits are those of 32 bytes.
template <bool five_bits>
void q45_k(Bytes block, float* out) {
  const float d = float16_at(block), m = float16_at(block + 2);
  const Bytes high = block + 16, low = high + (five_bits ? 32 : 0);
  for (int j = 0; j < 8; ++j) {
    const SubBlock sub = sub_block(block + 4, j);
    const float scale = d * static_cast<float>(sub.scale), offset = m * static_cast<float>(sub.offset);
    for (int i = 0; i < 32; ++i) {
      int q = low[j / 2 * 32 + i] >> j % 2 * 4 & 15;
      if (five_bits) q |= bit(high[i], j) << 4;
      out[32 * j + i] = scale * static_cast<float>(q) - offset;
    }
  }
}

void q6_k(Bytes block, float* out) {
  const float d = float16_at(block + 208);
  for (int k = 0; k < 16; ++k) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + k]));
    for (int e = 16 * k; e < 16 * k + 16; ++e) {
      const int half = e / 128, r = e % 128;
      const int low = block[64 * half + r % 64] >> r / 64 * 4 & 15;
      const int high = block[128 + 32 * half + r % 32] >> r / 32 * 2 & 3;
      out[e] = scale * static_cast<float>((low | high << 4) - 32);
    }
  }
}

void iq4_xs(Bytes block, float* out) {
  const float d = float16_at(block);
  const int high = block[2] | block[3] << 8;
  for (int k = 0; k < 8; ++k) {
    const int low = block[4 + k / 2] >> k % 2 * 4 & 15;
    const float scale = d * static_cast<float>((low | (high >> 2 * k & 3) << 4) - 32);
    each_nibble(block + 8 + 16 * k, out + 32 * k,
                [&](int q, int) { return scale * static_cast<float>(iq4_values[static_cast<std::size_t>(q)]); });
  }
}

}  // namespace

float mxfp4_scale(std::uint8_t exponent) { return std::ldexp(1.0f, exponent - 128); }

SubBlock sub_block(const std::uint8_t* packed, int j) {
  if (j < 4) return {static_cast<std::uint8_t>(packed[j] & 63), static_cast<std::uint8_t>(packed[j + 4] & 63)};
  return {static_cast<std::uint8_t>((packed[j + 4] & 15) | packed[j - 4] >> 6 << 4),
          static_cast<std::uint8_t>(packed[j + 4] >> 4 | packed[j] >> 6 << 4)};
}

void decode_q4_0(const std::byte* blocks, std::int64_t count, float* out) { each<32, 18, q4_0>(blocks, count, out); }
void decode_q4_1(const std::byte* blocks, std::int64_t count, float* out) { each<32, 20, q4_1>(blocks, count, out); }
void decode_q5_0(const std::byte* blocks, std::int64_t count, float* out) { each<32, 22, q5_0>(blocks, count, out); }
void decode_q5_1(const std::byte* blocks, std::int64_t count, float* out) { each<32, 24, q5_1>(blocks, count, out); }
void decode_q8_0(const std::byte* blocks, std::int64_t count, float* out) { each<32, 34, q8_0>(blocks, count, out); }
void decode_iq4_nl(const std::byte* blocks, std::int64_t count, float* out) {
  each<32, 18, iq4_nl>(blocks, count, out);
}
void decode_mxfp4(const std::byte* blocks, std::int64_t count, float* out) { each<32, 17, mxfp4>(blocks, count, out); }
void decode_q2_k(const std::byte* blocks, std::int64_t count, float* out) { each<256, 84, q2_k>(blocks, count, out); }
void decode_q3_k(const std::byte* blocks, std::int64_t count, float* out) { each<256, 110, q3_k>(blocks, count, out); }
void decode_q4_k(const std::byte* blocks, std::int64_t count, float* out) {
  each<256, 144, q45_k<false>>(blocks, count, out);
}
void decode_q5_k(const std::byte* blocks, std::int64_t count, float* out) {
  each<256, 176, q45_k<true>>(blocks, count, out);
}
void decode_q6_k(const std::byte* blocks, std::int64_t count, float* out) { each<256, 210, q6_k>(blocks, count, out); }
void decode_iq4_xs(const std::byte* blocks, std::int64_t count, float* out) {
  each<256, 136, iq4_xs>(blocks, count, out);
}

void encode_q8_0(const float* in, std::int64_t count, std::byte* blocks) {
  for (std::int64_t i = 0; i < count; ++i, in += 32, blocks += 34) {
    // As integers, bits of floats without a sign are in the order of the floats, and those of NaN behind them.
    std::uint32_t bits = 0;
    for (int e = 0; e < 32; ++e) bits = std::max(bits, __builtin_bit_cast(std::uint32_t, std::abs(in[e])));
    const std::uint16_t d = to_float16(__builtin_bit_cast(float, bits) / 127);
    std::memcpy(blocks, &d, sizeof d);
    const float scale = from_float16(d), inverse = scale > 0 ? 1 / scale : 0;
    for (int e = 0; e < 32; ++e) {
      const float q = std::isfinite(scale) ? std::clamp(std::nearbyint(in[e] * inverse), -127.0f, 127.0f) : 0;
      blocks[2 + e] = static_cast<std::byte>(static_cast<std::int8_t>(q));
    }
  }
}

}  // namespace reckon
