// Which matrices the cpu keeps a second time.
#pragma once

#include <reckon/dtype.h>

#include <cstdint>

namespace reckon {

// Whether the cpu, on this processor, keeps a copy of a matrix of so many rows in another order of as many bytes, with
// which its kernels are faster (backend/cpu/interleave.h): what loads weights asks this, and what reports memory.
bool keeps_interleaved(DType dtype, std::int64_t rows);

}  // namespace reckon
