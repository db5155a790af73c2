// New keys, values or latents go behind those in the cache, each sequence's into its own pages.
#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

void run_append(const Launch& launch) {
  const View &fresh = launch.inputs[0], &cache = launch.inputs[1], &starts = launch.inputs[2];
  const std::int64_t tokens = fresh.size[1], row = fresh.size[2] * fresh.size[3];
  over_rows(launch.machine, fresh.size[0] * tokens, row, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t b = r / tokens, t = r % tokens;
      const std::int64_t to = cache.place(b, starts.integers()[b] + t);
      for (std::int64_t h = 0; h < fresh.size[2]; ++h) {
        const float* from = fresh.floats() + b * fresh.stride[0] + t * fresh.stride[1] + h * fresh.stride[2];
        const std::int64_t head = to + h * cache.stride[2];
        if (cache.blocks != nullptr) {
          cache.blocks->encode(from, fresh.size[3] / cache.blocks->elements, cache.block(head));
        } else {
          std::copy_n(from, fresh.size[3], cache.floats() + head);
        }
      }
    }
  });
}

}  // namespace reckon
