// Whole tiles of quantised products. Included as quantised-inl.h is, by the same files.

#include <type_traits>
#include <vector>

#include "backend/cpu/few_rows-inl.h"
#include "backend/cpu/interleave.h"
#include "backend/cpu/quantised-inl.h"
// Behind it.
#include "backend/cpu/interleaved-inl.h"

RECKON_INTEGERS_BEFORE;
namespace reckon {
namespace HWY_NAMESPACE {
namespace RECKON_INTEGERS {

#if HWY_TARGET == HWY_SCALAR

// One element after another, whichever the encoding.
template <DType...>
void few_rows_among(const Tile& t, float*) {
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

template <DType...>
void many_rows_among(const Tile& t, float* scratch) {
  few_rows_among<>(t, scratch);
}

#else

template <DType dtype>
HWY_INLINE auto block_of() {
  if constexpr (dtype == DType::q2_k)
    return Q2_K();
  else if constexpr (dtype == DType::q3_k)
    return Q3_K();
  else if constexpr (dtype == DType::iq4_xs)
    return Iq4Xs();
  else if constexpr (dtype == DType::mxfp4)
    return Mxfp4();
  else if constexpr (dtype == DType::iq4_nl)
    return Iq4Nl();
  else if constexpr (dtype == DType::q4_0)
    return Q4_0();
  else if constexpr (dtype == DType::q4_k)
    return Q4_K();
  else if constexpr (dtype == DType::q4_1)
    return Q4_1();
  else if constexpr (dtype == DType::q5_0)
    return Q5_0();
  else if constexpr (dtype == DType::q5_k)
    return Q5_K();
  else if constexpr (dtype == DType::q5_1)
    return Q5_1();
  else if constexpr (dtype == DType::q6_k)
    return Q6_K();
  else
    return Q8_0();
}

// body(block) with the one of these encodings that it is.
template <DType... among, class Body>
HWY_INLINE void with_block(DType dtype, const Body& body) {
  ((dtype == among ? body(block_of<among>()) : void()), ...);
}

// --- Few rows.

constexpr int quantised_ahead = 4096, interleaved_ahead = 2048;  // bytes: measured on Zen 3

#if RECKON_WIDE
// How interleaved weights are read where there is one row of x. Zen 4 and 5: bench/candidates.cpp.
struct InterleavedReading {
  int panels, ahead;
};
template <class Block>
InterleavedReading interleaved_reading() {
  if (sequential_on_amd && cores() != Cores::others) return {1, ahead_alone(cores())};
  return {2, interleaved_ahead};
}
#endif

// Rows [first, first + rows) of x.
template <class Block, int rows>
void few_rows_of(const Tile& t, std::int64_t first) {
  Activations x[rows];
  for (int i = 0; i < rows; ++i) x[i] = Activations(t.x8 + row_bytes(DType::activation8, (first + i) * t.k), t.k);
  float* out = t.out + first * t.out_stride;
  std::int64_t j = 0;
#if RECKON_WIDE
  if constexpr (Interleaved<Block>::there) {
    const std::int64_t all = std::min(t.n, t.interleaved) / rows_of_line,
                       bytes = row_bytes(t.dtype, rows_of_line * t.k);
    const InterleavedReading how = interleaved_reading<Block>();
    if constexpr (rows == 1) {
      if (how.panels == 2) {
        const std::int64_t far = all / 2;  // panels
        for (; j < far * rows_of_line; j += rows_of_line)
          interleaved_dots<Block, 1, 2>(row_of(t, j), far * bytes, x, t.k, out + j, t.out_stride, far * rows_of_line,
                                        how.ahead);
        j *= 2;
      }
    }
    for (; j < all * rows_of_line; j += rows_of_line)
      interleaved_dots<Block, rows, 1>(row_of(t, j), 0, x, t.k, out + j, t.out_stride, 0, how.ahead);
  }
#endif
  for (; j < t.n; ++j) quantised_dots<Block, rows, quantised_ahead>(row_of(t, j), x, t.k, out + j, t.out_stride);
  count_products(rows * t.n * t.k);
}

template <DType... among>
void few_rows_among(const Tile& t, float*) {
  with_block<among...>(t.dtype, [&](auto block) RECKON_INTEGERS_ATTR {
    using Block = decltype(block);
    std::int64_t i = 0;
    for (; i + 4 <= t.m; i += 4) few_rows_of<Block, 4>(t, i);
    for (; i + 2 <= t.m; i += 2) few_rows_of<Block, 2>(t, i);
    if (i < t.m) few_rows_of<Block, 1>(t, i);
  });
}

// --- Many rows.

constexpr std::int64_t unpacked_depth = 1024;  // elements of K that are unpacked at a time
static_assert(unpacked_depth <= amx_depth);
constexpr int quantised_rows = vector_registers == 32 ? 6 : 3, quantised_vectors = 3;
constexpr std::int64_t quantised_columns = quantised_vectors * panel_columns;

// What panels need of x's elements [begin, begin + depth), as far as it is not there made in `scratch`; returns what is
// left of that.
template <class Block>
float* rows_for_panels(const Tile& t, std::int64_t begin, std::int64_t depth, float* scratch, PanelRows& x) {
  using P = Panel<Block>;
  const std::int64_t x_bytes = row_bytes(DType::activation8, t.k);
  const Activations first(t.x8, t.k);
  x = {t.x8 + begin, first.scale + begin / 32, first.sums + begin / 32, x_bytes, x_bytes, x_bytes};
  if constexpr (P::wide) {
    auto* wide = reinterpret_cast<std::int16_t*>(scratch);
    x.q = reinterpret_cast<const std::byte*>(wide);
    x.q_bytes = 2 * depth;
    for (std::int64_t i = 0; i < t.m; ++i) {
      const std::int8_t* q = skip_bytes(first.q + begin, i * x_bytes);
      for (std::int64_t p = 0; p < depth; ++p)
        wide[i * depth + p] = q[p];  // NOLINT(bugprone-signed-char-misuse): a number
    }
    return scratch + t.m * depth / 2;
  }
  [[maybe_unused]] const std::int64_t units = depth / P::unit;
  if constexpr (P::shift != 0) {
    auto* starts = reinterpret_cast<std::int32_t*>(scratch);
    x.sums = starts;
    x.sums_bytes = units * 4;
    for (std::int64_t i = 0; i < t.m; ++i) {
      const std::int16_t* halves = skip_bytes(first.halves + begin / 16, i * x_bytes);
      for (std::int64_t u = 0; u < units; ++u)
        starts[i * units + u] = P::shift * (P::unit == 16 ? halves[u] : halves[2 * u] + halves[2 * u + 1]);
    }
    return scratch + t.m * units;
  }
  if constexpr (P::unit == 16) {
    x.sums = scratch;
    x.sums_bytes = units * 4;
    for (std::int64_t i = 0; i < t.m; ++i) {
      const float* scale = skip_bytes(x.scale, i * x_bytes);
      const std::int16_t* halves = skip_bytes(first.halves + begin / 16, i * x_bytes);
      for (std::int64_t u = 0; u < units; ++u) scratch[i * units + u] = scale[u / 2] * static_cast<float>(halves[u]);
    }
    return scratch + t.m * units;
  }
  return scratch;
}

// A panel, of interleaved columns or others.
template <class Block>
void pack_columns(const Tile& t, std::int64_t j, std::int64_t begin, std::int64_t depth, std::uint8_t* panel) {
#if RECKON_WIDE
  if constexpr (Interleaved<Block>::there) {
    using P = Panel<Block>;
    using I = Interleaved<Block>;
    if (j + panel_columns <= std::min(t.n, t.interleaved)) {
      const std::uint8_t* w = row_of(t, j) + row_bytes(t.dtype, rows_of_line * begin);
      for (std::int64_t k = 0; k < depth; k += I::elements, w += rows_of_line * Block::bytes)
        I::unpack(w, {panel + k / P::unit * P::bytes_of_unit, P::lines}, P::bytes_of_unit);
      return;
    }
  }
#endif
  pack_panel<Block>(t, j, begin, depth, panel);
}

template <class Block>
void many_of(const Tile& t, float* scratch) {
  using P = Panel<Block>;
  const bool by_amx = !P::wide && t.x16 != nullptr;
  for (std::int64_t begin = 0; begin < t.k; begin += unpacked_depth) {
    const std::int64_t depth = std::min(unpacked_depth, t.k - begin);
    const std::int64_t apart = depth / P::unit * P::bytes_of_unit;
    PanelRows x{};
    float* results = by_amx ? scratch : rows_for_panels<Block>(t, begin, depth, scratch, x);  // as wide as whole panels
    auto* panels = reinterpret_cast<std::uint8_t*>(results + t.m * quantised_columns);
    panels += -reinterpret_cast<std::uintptr_t>(panels) % 64;
    for (std::int64_t j = 0; j < t.n; j += quantised_columns) {
      const std::int64_t columns = std::min(quantised_columns, t.n - j);
      for (std::int64_t v = 0; v < quantised_vectors; ++v)
        pack_columns<Block>(t, j + v * panel_columns, begin, depth, panels + v * apart);
      const bool whole = columns == quantised_columns;
      float* out = whole ? t.out + j : results;
      const std::int64_t stride = whole ? t.out_stride : quantised_columns;
      for (std::int64_t i = 0; i < t.m; ++i) {
        if (begin == 0)
          std::fill_n(out + i * stride, quantised_columns, 0.0f);
        else if (!whole)
          std::copy_n(t.out + i * t.out_stride + j, columns, out + i * stride);
      }
      const auto block = [&](std::int64_t i, auto rows) RECKON_INTEGERS_ATTR {
        const PanelRows from{x.q + i * x.q_bytes,
                             skip_bytes(x.scale, i * x.scale_bytes),
                             static_cast<const std::byte*>(x.sums) + i * x.sums_bytes,
                             x.q_bytes,
                             x.scale_bytes,
                             x.sums_bytes};
        quantised_block<Block, rows.value, quantised_vectors>(panels, apart, depth, from, out + i * stride, stride);
      };
      std::int64_t i = 0;
      if (by_amx) {
        static_assert(quantised_vectors == amx_panels);
        const AmxPanels all{panels, apart, depth / P::unit, P::unit, P::shift, P::has_offset};
        auto* unpacked = reinterpret_cast<std::uint16_t*>(panels + quantised_vectors * apart);
        amx_multiply(all, t.x16 + begin * panel_columns, t.k, t.m, out, stride, unpacked);
        i = t.m;
      }
      for (; i + quantised_rows <= t.m; i += quantised_rows) block(i, std::integral_constant<int, quantised_rows>());
      for (; i < t.m; ++i) block(i, std::integral_constant<int, 1>());
      if (!whole)
        for (i = 0; i < t.m; ++i) std::copy_n(out + i * stride, columns, t.out + i * t.out_stride + j);
      count_products(t.m * columns * depth);
    }
  }
}

template <DType... among>
void many_rows_among(const Tile& t, float* scratch) {
  with_block<among...>(t.dtype, [&](auto block) RECKON_INTEGERS_ATTR { many_of<decltype(block)>(t, scratch); });
}

#endif

}  // namespace RECKON_INTEGERS
}  // namespace HWY_NAMESPACE
}  // namespace reckon
RECKON_INTEGERS_AFTER;

// The next including place has its own.
#undef RECKON_INTEGERS
#undef RECKON_INTEGERS_BEFORE
#undef RECKON_INTEGERS_AFTER
#undef RECKON_INTEGERS_ATTR
#undef RECKON_VNNI
#undef RECKON_SDOT
