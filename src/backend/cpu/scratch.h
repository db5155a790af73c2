// Working memory of the kernels: a piece per worker and one that they share, allocated once, so that nothing is
// allocated while a network runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reckon {

struct Cut;

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
  // The same with at least so many floats: `more` becomes so large, where the worker's piece is smaller.
  std::span<float> of(int worker, std::int64_t floats, std::vector<float>& more) const;
  std::span<float> shared() const;
  // How the products of the run in progress are cut; kept here so that its memory is used again.
  std::vector<Cut>& cuts() { return cuts_; }
  // Which panels of weights each worker's piece holds, in the run in progress; kept here likewise.
  struct alignas(64) Panels {
    std::int64_t product = -1, column = -1;
    bool operator==(const Panels&) const = default;
  };
  std::span<Panels> panels() { return panels_; }
  int threads() const { return threads_; }

 private:
  int threads_;
  float* memory_;
  std::vector<Cut> cuts_;
  std::vector<Panels> panels_;
};

}  // namespace reckon
