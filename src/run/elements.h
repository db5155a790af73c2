// The elements of a parameter in row-major order, one after another, wherever and in whatever type they lie.
#pragma once

#include "backend/cpu/launch.h"
#include "backend/cpu/float_types.h"

namespace reckon {

class Elements {
 public:
  explicit Elements(const ParameterData& data) : data_(data) {}

  float next() {
    if (!data_.values.empty()) return data_.values[at_++];
    const Weight& w = data_.matrices[matrix_];
    const std::int64_t block = w.block_rows > 0 ? row_ / w.block_rows * w.block_stride : 0;
    const std::int64_t row = w.block_rows > 0 ? row_ % w.block_rows : row_;
    const float value = element_of(w, block + row * w.row_stride + column_ * w.col_stride);
    if (++column_ == w.cols) {
      column_ = 0;
      if (++row_ == w.rows) {
        row_ = 0;
        ++matrix_;
      }
    }
    return value;
  }

 private:
  static float element_of(const Weight& w, std::int64_t index) {
    switch (w.dtype) {
      case DType::float16:
        return from_float16(static_cast<const std::uint16_t*>(w.data)[index]);
      case DType::bfloat16:
        return from_bfloat16(static_cast<const std::uint16_t*>(w.data)[index]);
      default:
        return static_cast<const float*>(w.data)[index];
    }
  }

  const ParameterData& data_;
  std::size_t at_ = 0, matrix_ = 0;
  std::int64_t row_ = 0, column_ = 0;
};

}  // namespace reckon
