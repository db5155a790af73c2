// What the benchmarks of whole networks measure with: the clock, medians, and the rate of OpenBLAS as a limit.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

extern "C" void openblas_set_num_threads(int);

namespace reckon {

// Before anything is multiplied, as the program does it: our products use OpenBLAS where it has one thread.
inline const bool one_thread = (openblas_set_num_threads(1), true);

inline double seconds(auto&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// FLOP/s of OpenBLAS on 1024 × 3072 × 768, the best of so many tries: the first after a change of threads starts them.
inline double sgemm_rate(int threads, int tries) {
  constexpr int m = 1024, n = 3072, k = 768;
  static const std::vector<float> x(m * k, 0.5f), w(n * k, 0.25f);
  static std::vector<float> y(m * n);
  openblas_set_num_threads(threads);
  double taken = 1e9;
  for (int i = 0; i < tries; ++i) {
    taken = std::min(taken, seconds([&] {
                       cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, x.data(), k, w.data(), k,
                                   0.0f, y.data(), n);
                     }));
  }
  openblas_set_num_threads(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // its threads look for more to do before they sleep
  return 2.0 * m * n * k / taken;
}

}  // namespace reckon
