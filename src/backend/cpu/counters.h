// What the kernels really did. Each worker writes to its own line of cache; the sum is taken when somebody asks.
#pragma once

#include <cstdint>
#include <vector>

namespace reckon {

struct Measured {
  std::int64_t matmul_flops = 0;       // 2·m·n·k of each kernel call
  std::int64_t elementwise_flops = 0;  // of kernels that count them
  std::int64_t weight_bytes = 0;       // stored weights that products read, once per product however it is cut
  std::int64_t calls = 0;              // of kernels
  Measured& operator+=(const Measured& other) {
    matmul_flops += other.matmul_flops;
    elementwise_flops += other.elementwise_flops;
    weight_bytes += other.weight_bytes;
    calls += other.calls;
    return *this;
  }
  bool operator==(const Measured&) const = default;
};

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

}  // namespace reckon
