// The encodings of tensors by name. What a block of each holds, and in how many bytes, stands in files/encoding.cpp.
#pragma once

#include <cstdint>

namespace reckon {

// In the order in which reports list them.
// clang-format off
enum class DType : std::uint8_t {
  boolean, int4, nf4, float4, float6_e2m3, float6_e3m2, uint8, int8, block8, activation8,
  q2_k, q3_k, iq4_xs, mxfp4, iq4_nl, q4_0, q4_k, q4_1, q5_0, q5_k, q5_1, q6_k, q8_0,
  float8_e5m2, float8_e4m3, float8_e8m0, float8_e4m3fnuz, float8_e5m2fnuz,
  int16, uint16, float16, bfloat16, int32, uint32, float32, complex64, float64, int64, uint64,
};
// clang-format on

}  // namespace reckon
