#include "ops/collectives.h"

#include "ops/rules.h"

#include <algorithm>
#include <array>

namespace reckon {
namespace {

// Of so much, what is not a rank's own: (n − 1)/n.
Term others_share(Count whole, std::int64_t ranks) { return Term(whole * (ranks - 1)).over(ranks); }

// ---- collectives of a layout

Cost traffic(const Op& op, Count whole, std::int64_t times = 1) {
  const auto& a = op.attributes<CollectiveAttributes>();
  Cost cost;
  cost.group = a.group;
  cost.sent = others_share(times * whole, a.ranks).value();
  return cost;
}

// A rank adds what comes from the others to a part of 1/n: n − 1 additions an element.
Formula additions(const Program& program, const Op& op) {
  const std::int64_t ranks = op.attributes<CollectiveAttributes>().ranks;
  return program[op.inputs[0]].shape.product(ranks - 1).over(ranks);
}

Cost all_reduce_cost(const Program& program, const Op& op) {
  Cost cost = traffic(op, bytes(program[op.inputs[0]]), 2);
  cost.elementwise = additions(program, op);
  return cost;
}

Cost all_gather_cost(const Program& program, const Op& op) { return traffic(op, bytes(program[op.outputs[0]])); }

Cost reduce_scatter_cost(const Program& program, const Op& op) {
  Cost cost = traffic(op, bytes(program[op.inputs[0]]));
  cost.elementwise = additions(program, op);
  return cost;
}

Cost all_to_all_cost(const Program& program, const Op& op) { return traffic(op, bytes(program[op.inputs[0]])); }

Cost send_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.group = op.attributes<CollectiveAttributes>().group;
  cost.sent = bytes(program[op.inputs[0]]);
  return cost;
}

// What comes was counted by the rank that sent it.
Cost receive_cost(const Program&, const Op& op) {
  Cost cost;
  cost.group = op.attributes<CollectiveAttributes>().group;
  return cost;
}

void all_reduce_gradient(Gradient& g, const Op& op) { g.add(op.inputs[0], g.of(op.outputs[0])); }

void all_gather_gradient(Gradient& g, const Op& op) {
  const auto& a = op.attributes<CollectiveAttributes>();
  g.contribute(op.inputs[0], a.alike ? own_part_operation : reduce_scatter_operation, {g.of(op.outputs[0])}, a);
}

void gathered_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], all_gather_operation, {g.of(op.outputs[0])}, op.attributes<CollectiveAttributes>());
}

void all_to_all_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], all_to_all_operation, {g.of(op.outputs[0])}, op.attributes<CollectiveAttributes>());
}

// Summed where it lies.
void copy_to_group_gradient(Gradient& g, const Op& op) {
  const TensorId x = op.inputs[0], dy = g.of(op.outputs[0]);
  if (!g.wanted(x)) return;
  const TensorId dx = g.builder().alias(dy, g.builder()[x].label, g.builder().shape(x));
  g.builder().emit(all_reduce_operation, {dy}, {dx}, op.attributes<CollectiveAttributes>());
  g.add(x, dx);
}

void send_gradient(Gradient& g, const Op& op) {
  g.contribute(op.inputs[0], receive_operation, {g.of(op.outputs[0])}, op.attributes<CollectiveAttributes>());
}

void receive_gradient(Gradient& g, const Op& op) {
  const TensorId sent = g.builder().tensor(TensorKind::gradient, "sent", {}, DType::float32);
  g.builder().emit(send_operation, {g.of(op.outputs[0])}, {sent}, op.attributes<CollectiveAttributes>());
  if (!op.inputs.empty()) g.add(op.inputs[0], sent);
}

// ---- buckets of gradients

Count bucket_bytes(const Program& program, const Op& op) {
  Count bucket;
  for (TensorId id : op.inputs) bucket += padded(static_cast<std::int64_t>(bytes(program[id])), bucket_alignment);
  return bucket;
}

// Every rank sends the others their slices, and gets theirs of its own. Nothing of it counts as bytes of memory.
Cost start_cost(const Program& program, const Op& op) {
  Cost cost;
  cost.group = Group::data;
  cost.sent = others_share(bucket_bytes(program, op), op.attributes<AllReduceAttributes>().ranks).value();
  return cost;
}

// As many elements are received summands; the sums go to the others, and theirs come: 2·(R − 1)/R of the bucket in all.
Cost wait_cost(const Program& program, const Op& op) {
  Cost cost = start_cost(program, op);
  const Count elements = bucket_bytes(program, op) / row_bytes(program[op.inputs[0]].dtype, 1);
  cost.elementwise = others_share(elements, op.attributes<AllReduceAttributes>().ranks);
  return cost;
}

}  // namespace

using Collective = OperationOf<CollectiveAttributes>;
const Collective all_reduce_operation{{"all_reduce", all_reduce_cost, all_reduce_gradient}};
const Collective all_gather_operation{{"all_gather", all_gather_cost, all_gather_gradient}};
const Collective reduce_scatter_operation{{"reduce_scatter", reduce_scatter_cost, gathered_gradient}};
const Collective all_to_all_operation{{"all_to_all", all_to_all_cost, all_to_all_gradient}};
const Collective send_operation{{"send", send_cost, send_gradient}};
const Collective receive_operation{{"receive", receive_cost, receive_gradient}};
const Collective copy_to_group_operation{{"copy_to_group", view_cost, copy_to_group_gradient}};
const Collective own_part_operation{{"own_part", view_cost, gathered_gradient}};
const Collective keep_alike_operation{{"keep_alike", view_cost, nullptr}};
const OperationOf<AllReduceAttributes> all_reduce_start_operation{{"all_reduce_start", start_cost, nullptr}};
const OperationOf<AllReduceAttributes> all_reduce_wait_operation{{"all_reduce_wait", wait_cost, nullptr}};

bool once_a_step(const Op& op) { return op.stage == Stage::optimizer || op.operation == &all_reduce_start_operation; }

bool is_name(const Op& op) {
  const std::array<const Operation*, 3> names{&copy_to_group_operation, &own_part_operation, &keep_alike_operation};
  return std::find(names.begin(), names.end(), op.operation) != names.end();
}

TensorId send(Builder& builder, TensorId x, std::int64_t stages) {
  const TensorId token = builder.tensor(TensorKind::activation, "sent", {}, DType::float32);
  builder.emit(send_operation, {x}, {token}, {Group::pipeline, stages});
  return token;
}

TensorId receive(Builder& builder, TensorId token, const Shape& shape, std::int64_t stages) {
  return builder.compute("received", shape, receive_operation, token == no_tensor ? TensorIds{} : TensorIds{token},
                         {Group::pipeline, stages});
}

}  // namespace reckon
