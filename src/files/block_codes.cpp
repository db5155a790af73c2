#include "files/block_codes.h"

#include <algorithm>
#include <cstring>

#include "files/blocks.h"
#include "files/encoding.h"
#include "files/fit_scales.h"
#include "files/float_types.h"

namespace reckon {
namespace {

using Packed = std::uint8_t*;
using Codes = const std::uint8_t*;

float scale_at(const std::uint8_t* at) { return from_float16(static_cast<std::uint16_t>(at[0] | at[1] << 8)); }

// Sixteen bytes hold 32 codes of 4 bits: the low halves are the first sixteen.
void put_nibbles(Codes codes, Packed at) {
  for (int i = 0; i < 16; ++i) at[i] = static_cast<std::uint8_t>((codes[i] & 15) | codes[i + 16] << 4);
}

void put_fifth_bits(Codes codes, Packed at) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<std::uint32_t>(codes[i] >> 4 & 1) << i;
  std::memcpy(at, &bits, sizeof bits);
}

// Byte i of 32 gets 2 bits each, from `shift` on, of elements i, i + 32, i + 64 and i + 96 of a half block.
void put_two_bits(Codes codes, int shift, Packed at) {
  std::memset(at, 0, 64);
  for (int e = 0; e < 256; ++e)
    at[e / 128 * 32 + e % 32] |= static_cast<std::uint8_t>((codes[e] >> shift & 3) << e % 128 / 32 * 2);
}

// Byte i of 32 gets one bit each of elements i, i + 32, …
void put_one_bit(Codes codes, int shift, Packed at) {
  std::memset(at, 0, 32);
  for (int e = 0; e < 256; ++e) at[e % 32] |= static_cast<std::uint8_t>((codes[e] >> shift & 1) << e / 32);
}

// Each 32 bytes get the low 4 bits of 64 elements (Q4_K and Q5_K), or each 64 bytes those of 128 (Q6_K).
void put_low_bits(Codes codes, int together, Packed at) {
  std::memset(at, 0, 128);
  for (int e = 0; e < 256; ++e)
    at[e / (2 * together) * together + e % together] |=
        static_cast<std::uint8_t>((codes[e] & 15) << e / together % 2 * 4);
}

}  // namespace

int Levels::nearest(float value) const {
  if (table == &iq4_values) return fit::Table<iq4_values>::code_of(value);
  if (table == &mxfp4_values) return fit::Table<mxfp4_values>::code_of(value);
  constexpr float big = 0x1.8p23f;  // as fit::nearest()
  const float clamped = std::clamp(value, static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>((clamped + big) - big) - low;
}

Levels levels_of(DType dtype) {
  switch (dtype) {
    case DType::q2_k:
      return {0, 3};
    case DType::q3_k:
      return {-4, 3};
    case DType::q4_0:
      return {-8, 7};
    case DType::q4_1:
    case DType::q4_k:
      return {0, 15};
    case DType::q5_0:
      return {-16, 15};
    case DType::q5_1:
    case DType::q5_k:
      return {0, 31};
    case DType::q6_k:
      return {-32, 31};
    case DType::q8_0:
      return {-127, 127};
    case DType::mxfp4:
      return {-12, 12, &mxfp4_values};
    default:
      return {-127, 113, &iq4_values};
  }
}

BlockScales scales_of(DType dtype, const std::uint8_t* block) {
  BlockScales scales;
  const auto sub_blocks = [&](int parts, const std::uint8_t* d, const auto& scale_of) {
    scales.parts = parts;
    for (int k = 0; k < parts; ++k)
      scales.scale[static_cast<std::size_t>(k)] = scale_at(d) * static_cast<float>(scale_of(k));
  };
  const auto offsets = [&](const std::uint8_t* m, const auto& offset_of) {
    for (int k = 0; k < scales.parts; ++k)
      scales.offset[static_cast<std::size_t>(k)] = -(scale_at(m) * static_cast<float>(offset_of(k)));
  };
  switch (dtype) {
    case DType::q4_1:
    case DType::q5_1:
      scales.offset[0] = scale_at(block + 2);
      scales.scale[0] = scale_at(block);
      break;
    case DType::mxfp4:
      scales.scale[0] = mxfp4_scale(block[0]);
      break;
    case DType::q2_k:
      sub_blocks(16, block + 80, [&](int k) { return block[k] & 15; });
      offsets(block + 82, [&](int k) { return block[k] >> 4; });
      break;
    case DType::q3_k:
      sub_blocks(16, block + 108, [&](int k) {
        const int low = block[96 + k % 8] >> k / 8 * 4 & 15;
        return (low | (block[104 + k % 4] >> k / 4 * 2 & 3) << 4) - 32;
      });
      break;
    case DType::q4_k:
    case DType::q5_k:
      sub_blocks(8, block, [&](int k) { return sub_block(block + 4, k).scale; });
      offsets(block + 2, [&](int k) { return sub_block(block + 4, k).offset; });
      break;
    case DType::q6_k:
      sub_blocks(16, block + 208, [&](int k) { return static_cast<std::int8_t>(block[192 + k]); });
      break;
    case DType::iq4_xs:
      sub_blocks(8, block, [&](int k) {
        const int high = block[2] | block[3] << 8;
        return ((block[4 + k / 2] >> k % 2 * 4 & 15) | (high >> 2 * k & 3) << 4) - 32;
      });
      break;
    default:
      scales.scale[0] = scale_at(block);
  }
  return scales;
}

void put_codes(DType dtype, const std::uint8_t* codes, std::uint8_t* block) {
  switch (dtype) {
    case DType::q4_0:
    case DType::iq4_nl:
      return put_nibbles(codes, block + 2);
    case DType::q4_1:
      return put_nibbles(codes, block + 4);
    case DType::mxfp4:
      return put_nibbles(codes, block + 1);
    case DType::q5_0:
      put_fifth_bits(codes, block + 2);
      return put_nibbles(codes, block + 6);
    case DType::q5_1:
      put_fifth_bits(codes, block + 4);
      return put_nibbles(codes, block + 8);
    case DType::q8_0:
      for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<std::uint8_t>(codes[i] - 127);
      return;
    case DType::q2_k:
      return put_two_bits(codes, 0, block + 16);
    case DType::q3_k:
      put_one_bit(codes, 2, block);
      return put_two_bits(codes, 0, block + 32);
    case DType::q4_k:
      return put_low_bits(codes, 32, block + 16);
    case DType::q5_k:
      put_one_bit(codes, 4, block + 16);
      return put_low_bits(codes, 32, block + 48);
    case DType::q6_k:
      put_two_bits(codes, 4, block + 128);
      return put_low_bits(codes, 64, block);
    default:  // iq4_xs
      for (int k = 0; k < 8; ++k) put_nibbles(codes + 32 * k, block + 8 + 16 * k);
  }
}

}  // namespace reckon
