// Instructions that Highway 1.0 does not know: whether the processor has them.
#pragma once

#include <string_view>

namespace reckon {

// VPDPBUSD, products of bytes: in vectors of 32 bytes, or of 64.
enum class Vnni { none, avx, avx512 };
Vnni vnni();

// Tests and benchmarks choose: "VNNI", or one of Highway's targets ("AVX2"), for all that it dispatches; empty: the
// best. Whether the processor and the build have it. Not while products run.
bool choose_instructions(std::string_view name);

}  // namespace reckon
