// The tile by OpenBLAS, which is opened when a tile first wants it: whoever only counts need not wait for it, and how
// many threads it starts can be said only before. It gives other bits for other numbers of them, so it always has one.
#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

namespace reckon {

namespace {

decltype(&cblas_sgemm) opened() {
  static const auto sgemm = [] {
    decltype(&cblas_sgemm) found = nullptr;
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (void* library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      found = reinterpret_cast<decltype(found)>(::dlsym(library, "cblas_sgemm"));
      // It may have been there before.
      const auto threads =
          reinterpret_cast<decltype(&openblas_set_num_threads)>(::dlsym(library, "openblas_set_num_threads"));
      if (threads != nullptr) threads(1);
    }
    return found;
  }();
  return sgemm;
}

// out = x·wᵀ, or out += for the later parts of a product whose weights are converted piece by piece.
void sgemm(const Tile& t, const float* x, std::int64_t k, const float* w, bool k_runs_on, std::int64_t stride,
           bool add) {
  const auto size = [](std::int64_t n) { return static_cast<blasint>(n); };
  const std::int64_t least = k_runs_on ? k : t.n;  // a single row's stride may be anything, but not for BLAS
  opened()(CblasRowMajor, t.turned ? CblasTrans : CblasNoTrans, k_runs_on ? CblasTrans : CblasNoTrans, size(t.m),
           size(t.n), size(k), 1.0f, x, size(std::max(t.x_stride, t.turned ? t.m : k)), w,
           size(std::max(stride, least)), add ? 1.0f : 0.0f, t.out, size(std::max(t.out_stride, t.n)));
}

}  // namespace

bool have_blas() { return opened() != nullptr; }

void blas_tile(const Tile& t, float* converted) {
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
