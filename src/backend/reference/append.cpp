// New tokens go to their places in the cache; what comes out is the last tokens of the text, as many as can be seen.
#include "backend/reference/call.h"

#include <algorithm>

namespace reckon::reference {

void append(const Call& c) {
  const Out cache = c.held(c.op.inputs[1]), y = c.out(0);  // batch × positions × heads × width
  const std::size_t batch = c.in_size(0, 0), fresh = c.in_size(0, 1), row = c.in_size(0, 2) * c.in_size(0, 3);
  const std::size_t keys = c.out_size(0, 1), room = cache.size() / (batch * row);
  const std::size_t end = static_cast<std::size_t>(c.program.workload.past) + fresh;
  for (std::size_t b = 0; b < batch; ++b) {
    const auto place = [&](std::size_t position) { return &cache[(b * room + position % room) * row]; };
    for (std::size_t t = 0; t < fresh; ++t) std::copy_n(&c.in(0)[(b * fresh + t) * row], row, place(end - fresh + t));
    for (std::size_t t = 0; t < keys; ++t) std::copy_n(place(end - keys + t), row, &y[(b * keys + t) * row]);
  }
}

}  // namespace reckon::reference
