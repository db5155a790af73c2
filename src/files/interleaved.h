// Encodings whose matrices the cpu keeps a second time, in another order of as many bytes, where its kernels are faster
// with it: eight rows side by side (backend/cpu/interleave.h).
#pragma once

#include <reckon/dtype.h>

namespace reckon {

constexpr bool can_be_interleaved(DType dtype) {
  return dtype == DType::q8_0 || dtype == DType::q4_0 || dtype == DType::mxfp4 || dtype == DType::q4_k ||
         dtype == DType::q6_k;
}

}  // namespace reckon
