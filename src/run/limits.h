// What this machine can do at best, measured: how fast it reads these weights, and how fast it multiplies.
#pragma once

#include <cstddef>
#include <span>

#include "run/engine.h"

namespace reckon {

struct MachineLimits {
  double read_bytes_per_second = 0;     // over the weights, on all threads
  double product_flops_per_second = 0;  // of a product of 1024 × 3072 × 768 in float32
};

// Bytes per second that the threads read of these stretches together, best of 1, 2 and 4 places side by side.
double measure_read_limit(Pool& pool, std::span<const std::span<const std::byte>> stretches);

// Of such a product.
double measure_product_limit(Machine& machine);

// Takes about a tenth of a second.
MachineLimits measure_limits(Engine& engine);

}  // namespace reckon
