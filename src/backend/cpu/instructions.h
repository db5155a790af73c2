// Instructions that Highway 1.0 does not know: whether the processor has them.
#pragma once

#include <string_view>

namespace reckon {

// Products of bytes that are added by fours: VPDPBUSD in vectors of 32 bytes (AVX-VNNI) or of 64 (AVX512-VNNI), or
// ARM's SDOT in those of 16.
enum class ByteDots { none, avx, avx512, neon };
ByteDots byte_dots();

// Products of bfloat16: in vectors of 64 bytes, or in AMX's registers of 16 × 64.
enum class Bfloat16 { none, avx512, amx };
Bfloat16 bfloat16_instructions();

// Products of many rows with quantised weights in AMX's registers.
#if defined(__x86_64__)
bool amx_quantised();
#else
constexpr bool amx_quantised() { return false; }
#endif

// Tests and benchmarks choose: "VNNI" (the wider of the two), "AVX-VNNI", "NEON-DOT", "AVX512-BF16", "AMX", or one of
// Highway's targets ("AVX2"), for all that it dispatches; empty: the best. Whether the processor and the build have it.
// Not while products run.
bool choose_instructions(std::string_view name);

}  // namespace reckon
