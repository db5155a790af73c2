#include "time/links.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "files/numbers.h"
#include "ops/collectives.h"
#include "time/rates.h"

namespace reckon {
namespace {

// Of what a ring reaches (NCCL, src/graph/tuning.cc, as the latencies): trees of sums, trees of one rank a node that
// gather (PAT), and small messages, in which every four bytes have a flag of four beside them (LL).
constexpr double tree_of_sums = 0.92, tree_of_parts = 0.75, small_messages = 0.5;

bool is_bucket(const Op& op) {
  return op.operation == &all_reduce_start_operation || op.operation == &all_reduce_wait_operation;
}

Exchange exchange_of(const Op& op) {
  if (op.operation == &all_reduce_operation) return Exchange::sum;
  if (op.operation == &all_to_all_operation) return Exchange::each;
  if (op.operation == &send_operation) return Exchange::next;
  return Exchange::gather;
}

// Messages that follow one another, to ranks of the same node and of another.
struct Steps {
  double within, between;
};

Steps ring(double ranks, double nodes) { return {ranks - nodes, nodes == 1 ? 0 : nodes - 1}; }
Steps tree(double ranks, double nodes) { return {ranks / nodes - 1, std::ceil(std::log2(nodes))}; }

}  // namespace

Span span_of(Group group, const Layout& layout) {
  const std::int64_t inner = layout.tensor * layout.context, replica = inner * layout.data;
  switch (group) {
    case Group::tensor:
      return {layout.tensor, layout.tensor, 1};
    case Group::context:
      return {layout.context, inner, layout.tensor};
    case Group::expert:
      return {layout.expert, std::max(inner, std::min(replica, layout.tensor * layout.expert)), layout.tensor};
    case Group::data:
      return {layout.data * layout.context, replica, layout.tensor};
    case Group::pipeline:
      return {std::min<std::int64_t>(2, layout.pipeline), replica * std::min<std::int64_t>(2, layout.pipeline),
              replica};
    case Group::none:
      break;
  }
  return {1, 1, 1};
}

Span span_of(const Program& program, const Op& op, const Cost& cost) {
  Span span = span_of(cost.group, program.workload.layout);
  if (cost.group != Group::data) return span;
  // Ranks with the same experts are as far apart as there are ranks with other ones between them.
  const std::int64_t ranks =
      is_bucket(op) ? op.attributes<AllReduceAttributes>().ranks : op.attributes<CollectiveAttributes>().ranks;
  span.apart *= std::max<std::int64_t>(1, span.ranks / std::max<std::int64_t>(1, ranks));
  span.ranks = ranks;
  return span;
}

double link_seconds(Rates& rates, double sent, const Span& span, Exchange exchange) {
  if (span.ranks < 2 || sent == 0) return 0;
  const Profile& profile = rates.profile();
  const Link* const link = link_of(profile, span.among);
  if (link == nullptr)
    throw Error(fmt::format(
        "{} has no link that joins {} devices; expected the GB/s that each of them has between nodes (`network`), or a "
        "profile of your own with such a link",
        profile.name, grouped(span.among)));
  const Link* const inner = link == profile.links.data() ? link : link - 1;
  // Ranks of the group that every node has which it reaches into, each with a link of its own to other nodes.
  const std::int64_t together =
      inner == link ? span.ranks : std::gcd(span.ranks, std::max<std::int64_t>(1, inner->devices / span.apart));
  const double ranks = static_cast<double>(span.ranks), here = static_cast<double>(together), nodes = ranks / here;
  double seconds = sent / rates.link(*link);
  if (inner != link && together > 1) {
    // As many rings as there are such links go through all ranks, and each leaves a node by another one: of what a rank
    // sends, all goes over the inner link, and one part of `together` over each outer one. What is for each rank alone
    // leaves the node by its sender's link unless its receiver is in it.
    const bool to_each = exchange == Exchange::each;
    const double outside = to_each ? (ranks - here) / (ranks - 1) : 1 / here, inside = to_each ? 1 - outside : 1;
    seconds = std::max(sent * outside / rates.link(*link), sent * inside / rates.link(*inner));
  }
  const Latency within = rates.latency(*inner), between = rates.latency(*link);
  const auto large = [&](Steps steps) { return steps.within * within.large + steps.between * between.large; };
  const auto small = [&](Steps steps) { return steps.within * within.small + steps.between * between.small; };
  const auto best_of = [&](Steps steps) {
    return std::min(seconds + large(steps), seconds / small_messages + small(steps));
  };
  switch (exchange) {
    case Exchange::gather: {
      const double around = best_of(ring(ranks, nodes));
      return here > 1 ? around : std::min(around, seconds / tree_of_parts + large(tree(ranks, nodes)));
    }
    case Exchange::sum: {
      const Steps one = ring(ranks, nodes), up = tree(ranks, nodes);
      return std::min(best_of({2 * one.within, 2 * one.between}), seconds / tree_of_sums + 2 * large(up));
    }
    case Exchange::each:
    case Exchange::next:
      break;
  }
  return best_of(nodes > 1 ? Steps{0, 1} : Steps{1, 0});
}

std::vector<double> link_seconds(const Program& program, const std::vector<Cost>& costs, Rates& rates) {
  struct Message {
    std::vector<std::size_t> ops;
    double sent = 0;
  };
  using Sender = std::tuple<std::int32_t, std::int32_t, Stage, const Operation*, std::int64_t>;
  std::map<Sender, Message> messages;
  std::vector<double> seconds(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (costs[i].launches == 0 || costs[i].group == Group::none) continue;
    const double sent = static_cast<double>(costs[i].sent);
    const Span span = span_of(program, op, costs[i]);
    if (costs[i].group == Group::data) {
      Message& message = messages[{op.repeat, op.scope.layer, op.stage, op.operation, span.ranks}];
      message.ops.push_back(i);
      message.sent += sent;
    } else {
      seconds[i] = link_seconds(rates, sent, span, exchange_of(op));
    }
  }
  for (const auto& [layer, message] : messages) {
    const std::size_t first = message.ops.front();
    const double whole = link_seconds(rates, message.sent, span_of(program, program.ops[first], costs[first]),
                                      exchange_of(program.ops[first]));
    for (const std::size_t i : message.ops) seconds[i] = whole * static_cast<double>(costs[i].sent) / message.sent;
  }
  return seconds;
}

}  // namespace reckon
