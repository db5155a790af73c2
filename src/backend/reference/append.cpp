// What a cache held before, as far as it can still be seen, and the new tokens behind it.
#include "backend/reference/call.h"

#include <algorithm>

namespace reckon::reference {

void append(const Call& c) {
  const TensorId cache = c.op.inputs[1];
  Values& y = c.out(0);  // batch × keys × heads × width
  const std::size_t batch = c.in_size(0, 0), fresh = c.in_size(0, 1), row = c.in_size(0, 2) * c.in_size(0, 3);
  const std::size_t keys = c.out_size(0, 1), seen = keys - fresh, held = c.held(cache).size() / (batch * row);
  for (std::size_t b = 0; b < batch; ++b) {
    const double* old = c.held(cache).data() + (b * held + held - seen) * row;
    std::copy_n(old, seen * row, &y[b * keys * row]);
    std::copy_n(&c.in(0)[b * fresh * row], fresh * row, &y[(b * keys + seen) * row]);
  }
  c.held(cache) = y;
}

}  // namespace reckon::reference
