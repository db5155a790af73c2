// What the kernels really did. Where a tile is multiplied or a vector loop runs, its thread adds to `work_done`; when
// the task ends, that goes to its worker's own line of cache; the sum is taken when somebody asks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace reckon {

struct Measured {
  std::int64_t matmul_flops = 0;       // 2·m·n·k of each block that a tile's kernel multiplied
  std::int64_t elementwise_flops = 0;  // of each vector loop: its elements times the operations on one
  std::int64_t read = 0, written = 0;  // bytes: the operands of tiles, each with the tile that first has it
  Measured& operator+=(const Measured& other) {
    matmul_flops += other.matmul_flops;
    elementwise_flops += other.elementwise_flops;
    read += other.read;
    written += other.written;
    return *this;
  }
  Measured operator-(const Measured& other) const {
    return {matmul_flops - other.matmul_flops, elementwise_flops - other.elementwise_flops, read - other.read,
            written - other.written};
  }
  bool operator==(const Measured&) const = default;
};

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
