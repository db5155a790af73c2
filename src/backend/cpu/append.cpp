// New keys, values or latents go behind those in the cache; a full ring begins again at its start.
#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

void run_append(const Launch& launch) {
  const View &fresh = launch.inputs[0], &cache = launch.inputs[1];
  for (std::int64_t b = 0; b < fresh.size[0]; ++b) {
    for (std::int64_t t = 0; t < fresh.size[1]; ++t) {
      const std::int64_t slot = (launch.past + t) % cache.capacity;
      for (std::int64_t h = 0; h < fresh.size[2]; ++h) {
        const float* from = fresh.floats() + b * fresh.stride[0] + t * fresh.stride[1] + h * fresh.stride[2];
        float* to = cache.floats() + b * cache.stride[0] + slot * cache.stride[1] + h * cache.stride[2];
        std::copy_n(from, fresh.size[3], to);
      }
    }
  }
}

}  // namespace reckon
