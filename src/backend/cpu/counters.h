// What the kernels really did. Where a tile is multiplied or a vector loop runs, its thread adds to `work_done`; when
// the task ends, that goes to its worker's own line of cache; the sum is taken when somebody asks.
#pragma once

#include "backend/step.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace reckon {

inline constinit thread_local Measured work_done{};

inline void count_products(std::int64_t multiply_adds) { work_done.matmul_flops += 2 * multiply_adds; }
inline void count_elementwise(std::int64_t operations) { work_done.elementwise_flops += operations; }
inline void count_read(std::int64_t bytes) { work_done.read += bytes; }
inline void count_written(std::int64_t bytes) { work_done.written += bytes; }
inline void count_read_floats(std::int64_t count) { count_read(count * std::int64_t{sizeof(float)}); }
inline void count_written_floats(std::int64_t count) { count_written(count * std::int64_t{sizeof(float)}); }

class Counters {
 public:
  explicit Counters(int workers) : counts_(static_cast<std::size_t>(workers)) {}
  Measured& of(int worker) { return counts_[static_cast<std::size_t>(worker)].count; }
  Measured total() const {
    Measured sum;
    for (const Line& line : counts_) sum += line.count;
    return sum;
  }
  void reset() {
    for (Line& line : counts_) line.count = {};
  }

 private:
  struct alignas(64) Line {
    Measured count;
  };
  std::vector<Line> counts_;
};

// As long as it lives, what its thread does is counted for `worker`.
class CountedTask {
 public:
  CountedTask(Counters& counters, int worker) : to_(counters.of(worker)), before_(std::exchange(work_done, {})) {}
  ~CountedTask() { to_ += std::exchange(work_done, before_); }
  CountedTask(const CountedTask&) = delete;
  CountedTask& operator=(const CountedTask&) = delete;

 private:
  Measured& to_;
  Measured before_;
};

}  // namespace reckon
