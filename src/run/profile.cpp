// Costs are read from the program at the past of the run.
#include "run/profile.h"

namespace reckon {

void Profile::add(const Program& program, const Op& op, std::int64_t ops, std::int64_t past, Time begin) {
  Event event{op.operation->name, op.scope, begin, now(), 0, 0, 0};
  Program& at = const_cast<Program&>(program);
  const std::int64_t planned = at.workload.past;
  at.workload.past = past;
  for (const Op* o = &op; o < &op + ops; ++o) {
    const Cost cost = o->operation->cost(program, *o);
    event.flops += static_cast<std::int64_t>(cost.matmul.value());
    event.bytes += static_cast<std::int64_t>(cost.read + cost.written);
    event.sent += static_cast<std::int64_t>(cost.sent);
  }
  at.workload.past = planned;
  events_.push_back(event);
}

}  // namespace reckon
