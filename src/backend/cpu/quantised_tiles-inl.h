// Whole tiles of quantised products. Included as quantised-inl.h is, by the same files.

#include <type_traits>
#include <vector>

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

constexpr int quantised_ahead = 1024;  // bytes

template <class Block, int rows>
void few_rows_of(const Tile& t, std::int64_t first) {
  const std::int64_t x_bytes = row_bytes(DType::activation8, t.k);
  for (std::int64_t j = 0; j < t.n; ++j)
    quantised_dots<Block, rows, quantised_ahead>(row_of(t, j), t.x8 + first * x_bytes, x_bytes, t.k,
                                                 t.out + first * t.out_stride + j, t.out_stride);
  count_products(rows * t.n * t.k);
}

void few(const Tile& t) {
  with_block(t.dtype, [&](auto block) HWY_ATTR {
    using Block = decltype(block);
    std::int64_t i = 0;
    for (; i + 4 <= t.m; i += 4) few_rows_of<Block, 4>(t, i);
    for (; i + 2 <= t.m; i += 2) few_rows_of<Block, 2>(t, i);
    if (i < t.m) few_rows_of<Block, 1>(t, i);
  });
}

// --- Many rows.

constexpr std::int64_t unpacked_depth = 1024;  // elements of K that are unpacked at a time
constexpr int quantised_rows = vector_registers == 32 ? 6 : 3, quantised_vectors = 3;
constexpr std::int64_t quantised_columns = quantised_vectors * panel_columns;

// What panels need of x's elements [begin, begin + depth), made in `scratch`; returns what is left of that.
template <class Block>
float* rows_for_panels(const Tile& t, std::int64_t begin, std::int64_t depth, float* scratch, PanelRows& x) {
  using P = Panel<Block>;
  const std::int64_t x_bytes = row_bytes(DType::activation8, t.k), units = depth / P::unit;
  const Activations first(t.x8, t.k);
  x = {t.x8 + begin, first.scale + begin / 32, scratch, x_bytes, x_bytes, units * 4};
  if constexpr (P::wide) {
    auto* wide = reinterpret_cast<std::int16_t*>(scratch);
    x.q = reinterpret_cast<const std::byte*>(wide);
    x.q_bytes = 2 * depth;
    for (std::int64_t i = 0; i < t.m; ++i) {
      const std::int8_t* q = skip_bytes(first.q + begin, i * x_bytes);
      for (std::int64_t p = 0; p < depth; ++p) wide[i * depth + p] = q[p];
    }
    return scratch + t.m * depth / 2;
  }
  for (std::int64_t i = 0; i < t.m; ++i) {
    const float* scale = skip_bytes(x.scale, i * x_bytes);
    const std::int16_t* sums = skip_bytes(first.sums + begin / 16, i * x_bytes);
    for (std::int64_t u = 0; u < units; ++u)
      scratch[i * units + u] = P::unit == 16 ? scale[u / 2] * static_cast<float>(sums[u])
                                             : scale[u] * static_cast<float>(sums[2 * u] + sums[2 * u + 1]);
  }
  return scratch + t.m * units;
}

template <class Block>
void many_of(const Tile& t, float* scratch) {
  const std::int64_t w_bytes = row_bytes(t.dtype, t.row_stride);
  for (std::int64_t begin = 0; begin < t.k; begin += unpacked_depth) {
    const std::int64_t depth = std::min(unpacked_depth, t.k - begin);
    const std::int64_t apart = depth / Panel<Block>::unit * Panel<Block>::bytes_of_unit;
    PanelRows x;
    float* results = rows_for_panels<Block>(t, begin, depth, scratch, x);  // as wide as whole panels
    auto* panels = reinterpret_cast<std::uint8_t*>(results + t.m * quantised_columns);
    for (std::int64_t j = 0; j < t.n; j += quantised_columns) {
      const std::int64_t columns = std::min(quantised_columns, t.n - j);
      for (std::int64_t v = 0; v < quantised_vectors; ++v)
        pack_panel<Block>(row_of(t, j + v * panel_columns) + row_bytes(t.dtype, begin), w_bytes,
                          columns - v * panel_columns, depth, panels + v * apart);
      const bool whole = columns == quantised_columns;
      float* out = whole ? t.out + j : results;
      const std::int64_t stride = whole ? t.out_stride : quantised_columns;
      for (std::int64_t i = 0; i < t.m; ++i) {
        if (begin == 0)
          std::fill_n(out + i * stride, quantised_columns, 0.0f);
        else if (!whole)
          std::copy_n(t.out + i * t.out_stride + j, columns, out + i * stride);
      }
      const auto block = [&](std::int64_t i, auto rows) HWY_ATTR {
        const PanelRows from{x.q + i * x.q_bytes,
                             skip_bytes(x.scale, i * x.scale_bytes),
                             skip_bytes(x.sums, i * x.sums_bytes),
                             x.q_bytes,
                             x.scale_bytes,
                             x.sums_bytes};
        quantised_block<Block, rows.value, quantised_vectors>(panels, apart, depth, from, out + i * stride, stride);
      };
      std::int64_t i = 0;
      for (; i + quantised_rows <= t.m; i += quantised_rows) block(i, std::integral_constant<int, quantised_rows>());
      for (; i < t.m; ++i) block(i, std::integral_constant<int, 1>());
      if (!whole)
        for (i = 0; i < t.m; ++i) std::copy_n(out + i * stride, columns, t.out + i * t.out_stride + j);
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
