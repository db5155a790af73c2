// GGUF's blocks of quantised values, to the bit (ggml's blocks; the number of elements and bytes of each stands in
// files/encoding.cpp). d and m are float16 scales and offsets, q the small integers; a K block of 256 elements has
// sub-blocks with small integer scales of their own, which d scales in turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace reckon {

// `count` blocks, which may begin at any byte. Arithmetic is float32, one operation after the other as ggml's reference
// has it, so that values are equal to the bit.
void decode_q4_0(const std::byte* blocks, std::int64_t count, float* out);
void decode_q4_1(const std::byte* blocks, std::int64_t count, float* out);
void decode_q5_0(const std::byte* blocks, std::int64_t count, float* out);
void decode_q5_1(const std::byte* blocks, std::int64_t count, float* out);
void decode_q8_0(const std::byte* blocks, std::int64_t count, float* out);
void decode_iq4_nl(const std::byte* blocks, std::int64_t count, float* out);
void decode_mxfp4(const std::byte* blocks, std::int64_t count, float* out);
void decode_q2_k(const std::byte* blocks, std::int64_t count, float* out);
void decode_q3_k(const std::byte* blocks, std::int64_t count, float* out);
void decode_q4_k(const std::byte* blocks, std::int64_t count, float* out);
void decode_q5_k(const std::byte* blocks, std::int64_t count, float* out);
void decode_q6_k(const std::byte* blocks, std::int64_t count, float* out);
void decode_iq4_xs(const std::byte* blocks, std::int64_t count, float* out);

// As they come, by the largest of a block: what is written while a network runs (caches). A block with NaN, infinity or
// a number too large for its scale is decoded as NaN. Weights are written by files/quantise.h.
void encode_q8_0(const float* in, std::int64_t count, std::byte* blocks);

// What the 16 codes of IQ4_NL and IQ4_XS stand for, and those of MXFP4 (twice the values of an E2M1 float).
inline constexpr std::array<std::int8_t, 16> iq4_values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                           1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::array<std::int8_t, 16> mxfp4_values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of the power of two that a byte of MXFP4 stands for: 2^(exponent − 128).
float mxfp4_scale(std::uint8_t exponent);

// The scale and the offset of sub-block j of 8 in the 12 bytes of Q4_K and Q5_K, 6 bits each.
struct SubBlock {
  std::uint8_t scale, offset;
};
SubBlock sub_block(const std::uint8_t* packed, int j);

}  // namespace reckon
