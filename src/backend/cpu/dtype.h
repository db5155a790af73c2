// Where an element of a stored tensor lies.
#pragma once

#include "files/encoding.h"

#include <cstddef>
#include <cstdint>

namespace reckon {

// Of the types that kernels read.
inline std::int64_t bytes_of(DType dtype) { return row_bytes(dtype, 1); }

inline const void* element(DType dtype, const void* data, std::int64_t index) {
  return static_cast<const std::byte*>(data) + row_bytes(dtype, index);
}

}  // namespace reckon
