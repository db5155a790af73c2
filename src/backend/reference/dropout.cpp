// What is dropped is told by the hash of (seed, layer, stream, element); the rest is divided by 1 − p.
#include "ops/elementwise.h"

#include "files/random.h"
#include "backend/reference/call.h"

namespace reckon::reference {

void dropout(const Call& c) {
  const Out y = c.out(0);
  const auto [probability, stream] = c.op.attributes<DropoutAttributes>();
  const std::uint64_t seed = mixed(mixed(c.step().seed + static_cast<std::uint64_t>(c.op.scope.layer + 1)) +
                                   static_cast<std::uint64_t>(stream));
  c.count(c.step().drops ? 2 * y.size() : 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool dropped = c.step().drops && static_cast<double>(mixed(seed + i) >> 11) * 0x1p-53 < probability;
    y[i] = !c.step().drops ? c.in(0)[i] : dropped ? 0.0 : c.in(0)[i] / (1.0 - probability);
  }
}

}  // namespace reckon::reference
