#include "backend/cpu/interleave.h"

#include <cstring>

namespace reckon {
namespace {

// Calls body(offset, size) for each piece of a block.
template <class Body>
void each_piece(DType dtype, const Body& body) {
  struct Pieces {
    int size, count;
  };
  static constexpr Pieces q4_0[] = {{2, 1}, {4, 4}}, mxfp4[] = {{1, 1}, {4, 4}}, q4_k[] = {{2, 2}, {1, 12}, {4, 32}},
                          q6_k[] = {{4, 48}, {1, 16}, {2, 1}};
  std::int64_t offset = 0;
  const auto walk = [&](const auto& all) {
    for (const Pieces& pieces : all)
      for (int i = 0; i < pieces.count; ++i, offset += pieces.size) body(offset, std::int64_t{pieces.size});
  };
  if (dtype == DType::q4_0) return walk(q4_0);
  if (dtype == DType::mxfp4) return walk(mxfp4);
  if (dtype == DType::q4_k) return walk(q4_k);
  walk(q6_k);
}

}  // namespace

void interleave(DType dtype, const std::byte* rows, std::int64_t k, std::byte* to) {
  const Encoding& encoding = encoding_of(dtype);
  const std::int64_t blocks = k / encoding.elements, stride = row_bytes(dtype, k);
  for (std::int64_t b = 0; b < blocks; ++b, rows += encoding.bytes, to += rows_together * encoding.bytes)
    each_piece(dtype, [&](std::int64_t offset, std::int64_t size) {
      for (std::int64_t r = 0; r < rows_together; ++r)
        std::memcpy(to + rows_together * offset + r * size, rows + r * stride + offset, static_cast<std::size_t>(size));
    });
}

void restore_row(DType dtype, const std::byte* interleaved, std::int64_t row, std::int64_t first, std::int64_t count,
                 std::byte* to) {
  const std::int64_t bytes = encoding_of(dtype).bytes;
  interleaved += first * rows_together * bytes;
  for (std::int64_t b = 0; b < count; ++b, to += bytes, interleaved += rows_together * bytes)
    each_piece(dtype, [&](std::int64_t offset, std::int64_t size) {
      std::memcpy(to + offset, interleaved + rows_together * offset + row * size, static_cast<std::size_t>(size));
    });
}

}  // namespace reckon
