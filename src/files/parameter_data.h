// The values of a parameter as the host has them, in a mapped file or in memory: what every backend loads from.
#pragma once

#include <reckon/role.h>

#include "files/encoding.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace reckon {

// A stored matrix, N × K, read in its own type and layout. Sizes and strides are in elements.
struct Weight {
  const void* data = nullptr;
  DType dtype = DType::float32;  // float32, bfloat16 or float16
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 1;  // one of them is 1: K runs on in a Linear, N in GPT-2's Conv1D
  // Rows that come in blocks (the heads of a fused qkv tensor): block b starts at b·block_stride. 0: no blocks.
  std::int64_t block_rows = 0, block_stride = 0;
  bool interleaved = false;  // a backend's copy of quantised rows, in an order of its own

  // Where row `index` begins.
  std::int64_t row_offset(std::int64_t index) const {
    if (block_rows == 0) return index * row_stride;
    return index / block_rows * block_stride + index % block_rows * row_stride;
  }
};

// Matrices where they lie (one, or one per expert); vectors, which are small and read element by element, as float32.
struct ParameterData {
  std::vector<Weight> matrices;
  std::vector<float> values;
  DType dtype = DType::float32;  // as stored; vectors too, whose values are float32 here
};

using Parameters = std::map<TensorKey, ParameterData>;

// Whether a parameter of this rank is kept as a vector: what is read element by element.
inline bool is_vector(const TensorKey& key, std::size_t rank) {
  const Role role = key.scope.role;
  return rank == 1 || key.piece == Piece::bias || is_norm(role) || is_convolution(role) || role.part == Part::decay ||
         role.part == Part::difference || role.part == Part::table;
}

// The matrices of a parameter whose elements lie row-major without gaps.
inline std::vector<Weight> matrices_of(const std::byte* data, DType dtype, std::int64_t count, std::int64_t rows,
                                       std::int64_t cols) {
  std::vector<Weight> matrices;
  for (std::int64_t i = 0; i < count; ++i)
    matrices.push_back({data + row_bytes(dtype, i * rows * cols), dtype, rows, cols, cols, 1, 0, 0});
  return matrices;
}

// The elements of a parameter in row-major order, one after another, wherever and in whatever type they lie.
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
