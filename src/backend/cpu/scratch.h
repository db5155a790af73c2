// Working memory of the kernels: a piece per worker, allocated once, so that nothing is allocated while a network runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace reckon {

// What a Scratch for so many workers holds, in bytes.
std::size_t scratch_bytes(int threads);

class Scratch {
 public:
  explicit Scratch(int threads);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The worker's own piece, aligned to a line of cache. A kernel may leave anything in it.
  std::span<float> of(int worker) const;
  int threads() const { return threads_; }

 private:
  int threads_;
  float* memory_;
};

}  // namespace reckon
