// The last token's rows.
#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

void run_last(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  for (std::int64_t b = 0; b < x.size[0]; ++b) {
    std::copy_n(x.row(b * x.size[1] + x.size[1] - 1), x.width(), y.row(b));
  }
}

}  // namespace reckon
