// The tile by OpenBLAS. It gives other bits for other numbers of threads, so it always has one.
#include <cblas.h>

#include <algorithm>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

namespace reckon {

bool have_blas() { return true; }

namespace {

// out = x·wᵀ, or out += for the later parts of a product whose weights are converted piece by piece.
void sgemm(const Tile& t, const float* x, std::int64_t k, const float* w, bool k_runs_on, std::int64_t stride,
           bool add) {
  const auto size = [](std::int64_t n) { return static_cast<blasint>(n); };
  const std::int64_t least = k_runs_on ? k : t.n;  // a single row's stride may be anything, but not for BLAS
  cblas_sgemm(CblasRowMajor, t.turned ? CblasTrans : CblasNoTrans, k_runs_on ? CblasTrans : CblasNoTrans, size(t.m),
              size(t.n), size(k), 1.0f, x, size(std::max(t.x_stride, t.turned ? t.m : k)), w,
              size(std::max(stride, least)), add ? 1.0f : 0.0f, t.out, size(std::max(t.out_stride, t.n)));
}

}  // namespace

void blas_tile(const Tile& t, float* converted) {
  static const bool one_thread = (openblas_set_num_threads(1), true);
  static_cast<void>(one_thread);
  const bool k_runs_on = t.col_stride == 1;
  if (t.dtype == DType::float32)
    return sgemm(t, t.x, t.k, static_cast<const float*>(t.w), k_runs_on, k_runs_on ? t.row_stride : t.col_stride,
                 false);
  for (std::int64_t begin = 0; begin < t.k; begin += tile_depth) {
    const std::int64_t depth = std::min(tile_depth, t.k - begin);
    if (k_runs_on)
      for (std::int64_t j = 0; j < t.n; ++j)
        convert_weights(t.dtype, element(t.dtype, t.w, j * t.row_stride + begin), depth, converted + j * depth);
    else
      for (std::int64_t p = 0; p < depth; ++p)
        convert_weights(t.dtype, element(t.dtype, t.w, (begin + p) * t.col_stride), t.n, converted + p * t.n);
    sgemm(t, t.turned ? t.x + begin * t.x_stride : t.x + begin, depth, converted, k_runs_on, k_runs_on ? depth : t.n,
          begin > 0);
  }
}

}  // namespace reckon
