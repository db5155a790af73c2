// Costs are read from the program at the past of the run.
#include "backend/run_profile.h"

#include "ops/runtime.h"

namespace reckon {

void RunProfile::add(const Program& program, const Op& op, std::int64_t ops, std::int64_t past, Time begin) {
  Event event{
      op.operation->name, op.scope, begin, now(), 0, 0, 0, static_cast<std::size_t>(&op - program.ops.data()), ops};
  for (const Op* o = &op; o < &op + ops; ++o) {
    const Cost cost = cost_at(program, *o, past);
    event.flops += static_cast<std::int64_t>(cost.matmul.value());
    event.bytes += static_cast<std::int64_t>(cost.read + cost.written);
    event.sent += static_cast<std::int64_t>(cost.sent);
  }
  events_.push_back(event);
}

}  // namespace reckon
