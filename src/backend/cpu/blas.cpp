// The tile by OpenBLAS, which is opened when a tile first wants it: whoever only counts need not wait for it.
//
// OpenBLAS gives other bits for other numbers of threads, so it is used only where it has one. That number is the whole
// process's: OpenBLAS takes it from the environment when it is loaded, starts its threads at once, and keeps it for all
// who call it. So it is the program's to set (cli/main.cpp does), and nothing is set here: where a program says
// nothing, or uses OpenBLAS with several threads itself, products are made by our own kernels.
#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "backend/cpu/dtype.h"
#include "backend/cpu/tile.h"

namespace reckon {

namespace {

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

bool is_one(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::atoi(value) == 1;
}

// How many threads a call from here would use; 0: there is no telling.
int threads_of(void* library) {
  enum Kind { sequential, threads, openmp };
  const auto kind = find<int()>(library, "openblas_get_parallel");
  // On OpenMP the number is that of omp_set_num_threads(), of each thread that calls.
  const auto number =
      find<int()>(library, kind != nullptr && kind() == openmp ? "omp_get_max_threads" : "openblas_get_num_threads");
  if (kind == nullptr || number == nullptr) return 0;
  return kind() == sequential ? 1 : number();
}

struct Library {
  decltype(&cblas_sgemm) sgemm = nullptr;  // null: not there, or not for us
  std::string name;
};

const Library& opened() {
  static const Library library = [] {
    constexpr const char* file = "libopenblas.so.0";
    Library found;
    void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);  // as the program has it already
    if (handle == nullptr && is_one("OPENBLAS_NUM_THREADS")) handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr || threads_of(handle) != 1) return found;
    found.sgemm = find<decltype(cblas_sgemm)>(handle, "cblas_sgemm");
    if (const auto config = find<char*()>(handle, "openblas_get_config")) found.name = config();
    while (found.name.ends_with(' ')) found.name.pop_back();
    return found;
  }();
  return library;
}

// out = x·wᵀ, or out += for the later parts of a product whose weights are converted piece by piece.
void sgemm(const Tile& t, const float* x, std::int64_t k, const float* w, bool k_runs_on, std::int64_t stride,
           bool add) {
  const auto size = [](std::int64_t n) { return static_cast<blasint>(n); };
  const std::int64_t least = k_runs_on ? k : t.n;  // a single row's stride may be anything, but not for BLAS
  opened().sgemm(CblasRowMajor, t.transposed ? CblasTrans : CblasNoTrans, k_runs_on ? CblasTrans : CblasNoTrans,
                 size(t.m), size(t.n), size(k), 1.0f, x, size(std::max(t.x_stride, t.transposed ? t.m : k)), w,
                 size(std::max(stride, least)), add ? 1.0f : 0.0f, t.out, size(std::max(t.out_stride, t.n)));
  count_products(t.m * t.n * k);
}

}  // namespace

bool have_blas() { return opened().sgemm != nullptr; }

std::string blas_name() { return opened().name; }

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
    sgemm(t, t.transposed ? t.x + begin * t.x_stride : t.x + begin, depth, converted, k_runs_on,
          k_runs_on ? depth : t.n, begin > 0);
  }
}

}  // namespace reckon
