// Where an element of a stored tensor lies.
#pragma once

#include <reckon/workload.h>

#include <cstddef>
#include <cstdint>

namespace reckon {

// Of the types that kernels read.
inline std::int64_t bytes_of(DType dtype) { return dtype == DType::float32 ? 4 : 2; }

inline const void* element(DType dtype, const void* data, std::int64_t index) {
  return static_cast<const std::byte*>(data) + index * bytes_of(dtype);
}

}  // namespace reckon
