#include "backend/cpu/interleave.h"

#include <cstring>

#include "backend/interleaved.h"

namespace reckon {
namespace {

// Calls body(place, offset, size) for each piece of a block: where it goes, in bytes of one row, and where it was.
template <class Body>
void each_piece(DType dtype, const Body& body) {
  std::int64_t place = 0;
  const auto piece = [&](std::int64_t offset, std::int64_t size) {
    body(place, offset, size);
    place += size;
  };
  if (dtype == DType::q6_k) {  // in the order of use: of 16 elements s of each 32 the scales, then upper and lower bits
    piece(208, 2);
    for (int half = 0; half < 2; ++half)
      for (int s = 0; s < 2; ++s) {
        for (int r = 0; r < 4; ++r) piece(192 + 8 * half + 2 * r + s, 1);
        for (int t = 4 * s; t < 4 * s + 4; ++t) {
          piece(128 + 32 * half + 4 * t, 4);
          piece(64 * half + 4 * t, 4);
          piece(64 * half + 32 + 4 * t, 4);
        }
      }
    return;
  }
  struct Pieces {
    int size, count;
  };
  static constexpr Pieces q4_0[] = {{2, 1}, {4, 4}}, mxfp4[] = {{1, 1}, {4, 4}}, q8_0[] = {{2, 1}, {4, 8}},
                          q4_k[] = {{2, 2}, {1, 12}, {4, 32}};
  const auto walk = [&](const auto& all) {
    for (const Pieces& pieces : all)
      for (int i = 0; i < pieces.count; ++i) piece(place, pieces.size);
  };
  if (dtype == DType::q4_0) return walk(q4_0);
  if (dtype == DType::mxfp4) return walk(mxfp4);
  if (dtype == DType::q8_0) return walk(q8_0);
  walk(q4_k);
}

}  // namespace

bool keeps_interleaved(DType dtype, std::int64_t rows) { return rows >= rows_together() && want_interleaved(dtype); }

void interleave(DType dtype, const std::byte* rows, std::int64_t k, std::byte* to) {
  const Encoding& encoding = encoding_of(dtype);
  const std::int64_t blocks = k / encoding.elements, stride = row_bytes(dtype, k), together = rows_together();
  for (std::int64_t b = 0; b < blocks; ++b, rows += encoding.bytes, to += together * encoding.bytes)
    each_piece(dtype, [&](std::int64_t place, std::int64_t offset, std::int64_t size) {
      for (std::int64_t r = 0; r < together; ++r)
        std::memcpy(to + together * place + r * size, rows + r * stride + offset, static_cast<std::size_t>(size));
    });
}

void restore_row(DType dtype, const std::byte* interleaved, std::int64_t row, std::int64_t first, std::int64_t count,
                 std::byte* to) {
  const std::int64_t bytes = encoding_of(dtype).bytes, together = rows_together();
  interleaved += first * together * bytes;
  for (std::int64_t b = 0; b < count; ++b, to += bytes, interleaved += together * bytes)
    each_piece(dtype, [&](std::int64_t place, std::int64_t offset, std::int64_t size) {
      std::memcpy(to + offset, interleaved + together * place + row * size, static_cast<std::size_t>(size));
    });
}

}  // namespace reckon
