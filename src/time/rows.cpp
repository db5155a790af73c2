#include "time/rows.h"

#include <algorithm>

#include "ops/adamw.h"
#include "ops/attend.h"
#include "ops/attention.h"
#include "ops/collectives.h"
#include "ops/elementwise.h"
#include "ops/rope.h"

namespace reckon {
namespace {

std::string_view group_name(Group group) {
  switch (group) {
    case Group::data:
      return "between data ranks";
    case Group::tensor:
      return "between tensor ranks";
    case Group::expert:
      return "between expert ranks";
    case Group::context:
      return "between context ranks";
    case Group::pipeline:
      return "between pipeline stages";
    case Group::none:
      break;
  }
  return "";
}

std::string_view attention_part(const Op& op) {
  if (op.operation == &rope_operation) return "rotary positions";
  switch (op.scope.role.part) {
    case Part::scores:
    case Part::softmax:
    case Part::mixing:
    case Part::sinks:
    case Part::cache:
      return "attention";
    case Part::output:
      return "attention output";
    case Part::residual:
      return "residuals";
    default:
      return "query, key, value";
  }
}

std::string_view feed_forward_part(Role role) {
  switch (role.part) {
    case Part::router:
    case Part::correction:
    case Part::dispatch:
    case Part::combine:
      return "routing";
    case Part::activation:
      return "activation";
    case Part::residual:
      return "residuals";
    case Part::down:
      return role.expert == Expert::routed ? "experts down" : "feed-forward down";
    default:
      return role.expert == Expert::routed ? "experts up" : "feed-forward up";
  }
}

std::string_view part_of(const Op& op, Group group) {
  if (group != Group::none) return group_name(group);
  if (op.operation == &squared_norm_operation) return "gradient norm";
  if (op.stage == Stage::optimizer) return "optimizer";
  if (op.operation == &sum_rows_operation) return "gradients of biases";
  const Role role = op.scope.role;
  if (is_norm(role) || role.block == Block::final_norm) return "norms";
  switch (role.block) {
    case Block::embedding:
      return "embedding";
    case Block::attention:
    case Block::cross_attention:
      return attention_part(op);
    case Block::feed_forward:
      return feed_forward_part(role);
    case Block::recurrence:
      return role.part == Part::residual ? "residuals" : "recurrence";
    case Block::layer_input:
      return role.part == Part::residual ? "residuals" : "layers' inputs";
    case Block::streams:
      return "streams";
    case Block::head:
      return "head";
    case Block::loss:
      return "loss";
    default:
      return "other";
  }
}

// Of the step as it was put together, which knows what is hidden.
void set_exchange(TimeRow& row, const Step& step, Group group) {
  for (std::size_t stage = 0; stage < row.stages.size(); ++stage)
    row.stages[stage] = of(step.seconds.passes[stage].link, group);
  row.bound_by[static_cast<std::size_t>(Bound::link)] = row.seconds();
  row.sent = of(step.sent, group);
}

}  // namespace

Bound TimeRow::bound() const {
  return static_cast<Bound>(std::max_element(bound_by.begin(), bound_by.end()) - bound_by.begin());
}

std::vector<TimeRow> time_rows(const Program& program, const Timing& timing, const Step& step) {
  const std::int64_t micro_batches = program.workload.layout.micro_batches;
  std::vector<TimeRow> rows;
  for (const OpTime& time : timing.ops) {
    const Op& op = program.ops[time.op];
    const bool once = once_a_step(op);
    const double count = static_cast<double>(time.count * (once ? 1 : micro_batches));
    const double seconds = time.seconds() * count;
    if (seconds == 0) continue;
    const Cost cost = op.operation->cost(program, op);
    const std::string_view name = part_of(op, cost.group);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const TimeRow& r) { return r.name == name; });
    const bool is_new = row == rows.end();
    if (is_new) row = rows.insert(rows.end(), TimeRow{std::string(name)});
    if (cost.group != Group::none) {
      if (is_new) set_exchange(*row, step, cost.group);
      continue;
    }
    row->stages[static_cast<std::size_t>(op.stage)] += seconds;
    // A kernel's own time, and what the device waited for its launch.
    row->bound_by[static_cast<std::size_t>(Bound::launch)] += time.overhead * count;
    OpTime alone = time;
    alone.overhead = 0;
    row->bound_by[static_cast<std::size_t>(alone.bound())] += alone.seconds() * count;
    row->flops += static_cast<double>(cost.matmul.value() + cost.elementwise.value()) * count;
    row->bytes += static_cast<double>(cost.read + cost.written) * count;
  }
  if (step.seconds.bubble > 0) {
    TimeRow bubble{"waiting for the pipeline"};
    bubble.bubble = bubble.bound_by[static_cast<std::size_t>(Bound::pipeline)] = step.seconds.bubble;
    rows.push_back(bubble);
  }
  return rows;
}

}  // namespace reckon
