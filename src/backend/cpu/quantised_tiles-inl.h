// Whole tiles of quantised products. Included as quantised-inl.h is, by the same files.

#include "backend/cpu/quantised-inl.h"

RECKON_INTEGERS_BEFORE;
namespace reckon {
namespace HWY_NAMESPACE {
namespace RECKON_INTEGERS {

HWY_INLINE const std::uint8_t* row_of(const Tile& t, std::int64_t j) {
  return static_cast<const std::uint8_t*>(t.w) + row_bytes(t.dtype, j * t.row_stride);
}

#if HWY_TARGET == HWY_SCALAR

// One element after another.
void few(const Tile& t) {
  const Encoding& encoding = encoding_of(t.dtype);
  std::vector<float> w(static_cast<std::size_t>(t.k));
  for (std::int64_t j = 0; j < t.n; ++j) {
    encoding.decode(reinterpret_cast<const std::byte*>(row_of(t, j)), t.k / encoding.elements, w.data());
    for (std::int64_t i = 0; i < t.m; ++i) {
      const std::byte* x = t.x8 + row_bytes(DType::activation8, i * t.k);
      float sum = 0;
      for (std::int64_t p = 0; p < t.k; ++p) {
        float scale;
        std::memcpy(&scale, x + t.k + p / 32 * 4, 4);
        sum += w[static_cast<std::size_t>(p)] * (scale * static_cast<float>(static_cast<std::int8_t>(x[p])));
      }
      t.out[i * t.out_stride + j] = sum;
    }
  }
  count_products(t.m * t.n * t.k);
}

void many(const Tile& t, float*) { few(t); }

#else

template <class Body>
HWY_INLINE void with_block(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::q2_k:
      return body(Q2_K());
    case DType::q3_k:
      return body(Q3_K());
    case DType::iq4_xs:
      return body(Iq4Xs());
    case DType::mxfp4:
      return body(Mxfp4());
    case DType::iq4_nl:
      return body(Iq4Nl());
    case DType::q4_0:
      return body(Q4_0());
    case DType::q4_k:
      return body(Q4_K());
    case DType::q4_1:
      return body(Q4_1());
    case DType::q5_0:
      return body(Q5_0());
    case DType::q5_k:
      return body(Q5_K());
    case DType::q5_1:
      return body(Q5_1());
    case DType::q6_k:
      return body(Q6_K());
    default:
      return body(Q8_0());
  }
}

// --- Few rows.

constexpr int most_quantised_rows = 4;  // of x, that are multiplied at once
constexpr int quantised_ahead = 1024;   // bytes

template <class Block, int rows>
void few_rows_of(const Tile& t, std::int64_t first) {
  const std::int64_t x_bytes = row_bytes(DType::activation8, t.k);
  for (std::int64_t j = 0; j < t.n; ++j)
    quantised_dots<Block, rows, quantised_ahead>(row_of(t, j), t.x8 + first * x_bytes, x_bytes, t.k,
                                                 t.out + first * t.out_stride + j, t.out_stride);
  count_products(rows * t.n * t.k);
}

template <class Block, int rows = most_quantised_rows>
void few_rows_with(const Tile& t, std::int64_t first, std::int64_t count) {
  if constexpr (rows > 0) {
    if (count == rows) return few_rows_of<Block, rows>(t, first);
    few_rows_with<Block, rows - 1>(t, first, count);
  }
}

void few(const Tile& t) {
  with_block(t.dtype, [&](auto block) HWY_ATTR {
    for (std::int64_t first = 0; first < t.m; first += most_quantised_rows)
      few_rows_with<decltype(block)>(t, first, std::min<std::int64_t>(most_quantised_rows, t.m - first));
  });
}

// --- Many rows.

constexpr std::int64_t unpacked_depth = 1024;  // elements of K that are unpacked at a time
constexpr int quantised_rows = 4, quantised_vectors = 2;

// dx·Σ q of every unit of [begin, begin + depth) of a row of x.
template <int unit>
void sums_of_units(const Activations& x, std::int64_t begin, std::int64_t depth, float* to) {
  for (std::int64_t p = begin; p < begin + depth; p += unit) {
    const int sum = unit == 16 ? x.sums[p / 16] : x.sums[p / 16] + x.sums[p / 16 + 1];
    *to++ = x.scale[p / 32] * static_cast<float>(sum);
  }
}

template <class Block, int vectors>
void rows_with_panel(const Tile& t, std::int64_t begin, std::int64_t depth, const std::uint8_t* panel,
                     std::int64_t apart, const float* x_sums, float* out, std::int64_t out_stride) {
  const std::int64_t x_bytes = row_bytes(DType::activation8, t.k), sums_stride = depth / Panel<Block>::unit;
  std::int64_t i = 0;
  const auto block = [&]<int rows>() HWY_ATTR {
    const Activations x(t.x8 + i * x_bytes, t.k);
    quantised_block<Block, rows, vectors>(panel, apart, depth, x.q + begin, x.scale + begin / 32, x_bytes,
                                          x_sums + i * sums_stride, sums_stride, out + i * out_stride, out_stride);
    i += rows;
  };
  while (i + quantised_rows <= t.m) block.template operator()<quantised_rows>();
  while (i < t.m) block.template operator()<1>();
}

template <class Block>
void many_of(const Tile& t, float* scratch) {
  using P = Panel<Block>;
  constexpr std::int64_t wide = quantised_vectors * panel_columns;
  // Scratch: sums of x, then results as wide as whole panels, then the panels.
  float* x_sums = scratch;
  float* results = x_sums + t.m * (unpacked_depth / P::unit);
  auto* panels = reinterpret_cast<std::uint8_t*>(results + t.m * wide);
  const std::int64_t x_bytes = row_bytes(DType::activation8, t.k);
  for (std::int64_t begin = 0; begin < t.k; begin += unpacked_depth) {
    const std::int64_t depth = std::min(unpacked_depth, t.k - begin), apart = depth / P::unit * P::bytes_of_unit;
    for (std::int64_t i = 0; i < t.m; ++i)
      sums_of_units<P::unit>(Activations(t.x8 + i * x_bytes, t.k), begin, depth, x_sums + i * (depth / P::unit));
    for (std::int64_t j = 0; j < t.n; j += wide) {
      const std::int64_t columns = std::min(wide, t.n - j);
      const std::int64_t vectors = (columns + panel_columns - 1) / panel_columns;
      for (std::int64_t v = 0; v < vectors; ++v)
        pack_panel<Block>(
            row_of(t, j + v * panel_columns) + row_bytes(t.dtype, begin), row_bytes(t.dtype, t.row_stride),
            std::min<std::int64_t>(panel_columns, columns - v * panel_columns), depth, panels + v * apart);
      const bool whole = columns == vectors * panel_columns;
      float* out = whole ? t.out + j : results;
      const std::int64_t stride = whole ? t.out_stride : wide;
      for (std::int64_t i = 0; i < t.m; ++i) {
        if (begin == 0)
          std::fill_n(out + i * stride, vectors * panel_columns, 0.0f);
        else if (!whole)
          std::copy_n(t.out + i * t.out_stride + j, columns, out + i * stride);
      }
      if (vectors == 1)
        rows_with_panel<Block, 1>(t, begin, depth, panels, apart, x_sums, out, stride);
      else
        rows_with_panel<Block, quantised_vectors>(t, begin, depth, panels, apart, x_sums, out, stride);
      if (!whole)
        for (std::int64_t i = 0; i < t.m; ++i) std::copy_n(out + i * stride, columns, t.out + i * t.out_stride + j);
      count_products(t.m * columns * depth);
    }
  }
}

void many(const Tile& t, float* scratch) {
  with_block(t.dtype, [&](auto block) HWY_ATTR { many_of<decltype(block)>(t, scratch); });
}

#endif

}  // namespace RECKON_INTEGERS
}  // namespace HWY_NAMESPACE
}  // namespace reckon
RECKON_INTEGERS_AFTER;
