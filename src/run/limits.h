// What this machine can do at best, measured: how fast it reads these weights, and how fast it multiplies.
#pragma once

#include "run/engine.h"

namespace reckon {

struct MachineLimits {
  double read_bytes_per_second = 0;     // over the weights, on all threads
  double product_flops_per_second = 0;  // of a product of 1024 × 3072 × 768 in float32
};

// Of such a product.
double measure_product_limit(Machine& machine);

// Takes some tens of milliseconds.
MachineLimits measure_limits(Engine& engine);

}  // namespace reckon
