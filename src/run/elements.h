// The elements of a parameter in row-major order, one after another, wherever and in whatever type they lie.
#pragma once

#include "backend/cpu/launch.h"
#include "run/weights.h"

namespace reckon {

class Elements {
 public:
  explicit Elements(const ParameterData& data) : data_(data) {}

  std::int64_t count() const {
    std::int64_t sum = static_cast<std::int64_t>(data_.values.size());
    for (const Weight& w : data_.matrices) sum += w.rows * w.cols;
    return sum;
  }

  float next() {
    if (!data_.values.empty()) return data_.values[at_++];
    const Weight& w = data_.matrices[matrix_];
    const float value = decode_element(encoding_of(w.dtype), w.data, w.row_offset(row_) + column_ * w.col_stride);
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
  const ParameterData& data_;
  std::size_t at_ = 0, matrix_ = 0;
  std::int64_t row_ = 0, column_ = 0;
};

}  // namespace reckon
