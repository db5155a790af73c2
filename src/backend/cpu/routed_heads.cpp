// Rows in the order of experts as heads in that of tokens, and back.
#include "ops/routed_heads.h"

#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {
namespace {

// Calls copy(head of `heads`, part of a row of `rows`) for every token's experts and key heads.
template <class Copy>
void over_heads(const Launch& launch, const View& heads, const View& rows, const Copy& copy) {
  const View& order = launch.inputs[1];
  const std::int64_t active = order.width(), width = heads.width(), kv_heads = rows.width() / width;
  over_rows(launch.machine, order.rows(), active * rows.width(), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t token = first; token < last; ++token)
      for (std::int64_t slot = 0; slot < active; ++slot)
        for (std::int64_t h = 0; h < kv_heads; ++h)
          copy(heads.row((token * kv_heads + h) * active + slot),
               rows.row(order.integers()[token * active + slot]) + h * width, width);
  });
}

}  // namespace

void run_gather_heads(const Launch& launch) {
  over_heads(launch, launch.outputs[0], launch.inputs[0],
             [](float* head, const float* row, std::int64_t width) { std::copy_n(row, width, head); });
}

void run_scatter_heads(const Launch& launch) {
  over_heads(launch, launch.inputs[0], launch.outputs[0],
             [](const float* head, float* row, std::int64_t width) { std::copy_n(head, width, row); });
}

}  // namespace reckon
