// Reading a program op by op into the ledger.
#include <reckon/ledger.h>
#include <reckon/reckon.h>

#include <map>
#include <unordered_map>

#include "compile/compile.h"
#include "count/ledger.h"
#include "network/forward.h"
#include "ops/attention.h"
#include "ops/mixture.h"
#include "ops/update.h"
#include "program/trained.h"

namespace reckon {
namespace {

Place place_of(const Program& program, Scope scope, std::int32_t repeat) {
  if (repeat < 0) return {scope.role, scope.layer, 1, 1, scope.nth};
  const Repeat& body = program.repeats[static_cast<std::size_t>(repeat)];
  return {scope.role, scope.layer, body.layers, body.count, scope.nth};
}

// What one token touches of an expert's weights: k of E, read off the op that uses them.
std::unordered_map<TensorId, Count> active_elements(const Program& program) {
  std::unordered_map<TensorId, Count> active;
  for (const Op& op : program.ops) {
    if (op.stage != Stage::forward) break;
    if (op.operation != &grouped_matmul_operation) continue;
    for (TensorId id : op.inputs) {
      if (id == no_tensor || program[id].kind != TensorKind::parameter) continue;
      const Shape& shape = program[id].shape;
      if (shape[0].symbol != Symbol::experts || shape.rank() < 2) continue;
      const std::int64_t chosen = program[op.inputs[0]].shape[-2].size;
      active[id] = shape.product().value() / shape[0].size * chosen;
    }
  }
  return active;
}

void read_parameters(const Program& program, Ledger& ledger) {
  const auto active = active_elements(program);
  ParameterTotals& totals = ledger.parameter_totals;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.kind != TensorKind::parameter || tensor.storage != no_tensor) continue;
    const Term elements = tensor.shape.product();
    ParameterEntry entry{place_of(program, tensor.scope, tensor.repeat), tensor.label.piece, Formula(elements),
                         elements.value(), elements.value()};
    if (const auto found = active.find(static_cast<TensorId>(i)); found != active.end()) {
      entry.active_each = found->second;
    }
    const std::int64_t count = entry.place.count;
    totals.total += entry.each * count;
    totals.active += entry.active_each * count;
    totals.tensors += count;
    const Role role = tensor.scope.role;
    const bool looked_up = role.block == Block::embedding || role == Role{Block::layer_input, Part::token};
    if (looked_up) totals.embedding += entry.each * count;
    ledger.parameters.push_back(std::move(entry));
  }
  totals.non_embedding = totals.total - totals.embedding;
  totals.active_non_embedding = totals.active - totals.embedding;
}

void read_work(const Program& program, Ledger& ledger) {
  ledger.work.reserve(program.ops.size());
  for (const Op& op : program.ops) {
    Cost cost = op.operation->cost(program, op);
    const Count read_least = cost.read_least < 0 ? cost.read : cost.read_least;
    const WorkTotals each{cost.matmul.value(),
                          cost.elementwise.value(),
                          cost.read,
                          read_least,
                          cost.written,
                          cost.weights,
                          cost.sent,
                          cost.launches,
                          cost.matmul_least < 0 ? cost.matmul.value() : cost.matmul_least,
                          cost.elementwise_least < 0 ? cost.elementwise.value() : cost.elementwise_least};
    const Place place = place_of(program, op.scope, op.repeat);
    WorkTotals& totals = op.stage == Stage::forward    ? ledger.forward
                         : op.stage == Stage::backward ? ledger.backward
                                                       : ledger.optimizer;
    totals.add(each, place.count);
    ledger.work.push_back({place, op.operation->name, op.operation, op.stage, std::move(cost.matmul),
                           std::move(cost.elementwise), each, precision_of(program, op), cost.group});
  }
}

// The products of attention once more, with the other way to count its scores.
void read_other_way(Program& program, Ledger& ledger) {
  const bool full = program.workload.causal == Causal::full;
  program.workload.causal = full ? Causal::exact : Causal::full;
  Count& asked = full ? ledger.matmul_full : ledger.matmul_exact;
  Count& other = full ? ledger.matmul_exact : ledger.matmul_full;
  other = asked = ledger.total().matmul;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.operation != &scores_operation && op.operation != &mix_operation && op.operation != &spread_operation)
      continue;
    const Count matmul = op.operation->cost(program, op).matmul.value();
    other += (matmul - ledger.work[i].each.matmul) * ledger.work[i].place.count;
  }
}

double ratio(Count a, Count b) { return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

TrainingState training_state(const Program& program) {
  TrainingState state;
  for (const Op& op : program.ops) {
    if (!is_update(*op.operation)) continue;
    for (TensorId id : op.inputs) {
      while (program[id].storage != no_tensor) id = program[id].storage;  // a part is updated, all of it lasts
      const Tensor& tensor = program[id];
      const Count size = bytes(tensor) * program.count(op.repeat);
      const bool weights = tensor.kind == TensorKind::parameter || tensor.label.piece == Piece::master;
      if (weights) state.weights += size;
      if (tensor.kind == TensorKind::gradient) state.gradients += size;
      if (tensor.kind == TensorKind::optimizer_state && !weights) state.moments += size;
    }
  }
  if (program.workload.phase != Phase::train) return state;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == TensorKind::parameter && !is_trained(program.workload, tensor))
      state.weights += bytes(tensor) * program.count(tensor.repeat);
  }
  return state;
}

WorkTotals& WorkTotals::add(const WorkTotals& each, Count times) {
  matmul += each.matmul * times;
  elementwise += each.elementwise * times;
  read += each.read * times;
  read_least += each.read_least * times;
  written += each.written * times;
  weights += each.weights * times;
  sent += each.sent * times;
  launches += each.launches * times;
  matmul_least += each.matmul_least * times;
  elementwise_least += each.elementwise_least * times;
  return *this;
}

double WorkTotals::flops_per_byte() const { return ratio(flops(), read + written); }
double WorkTotals::flops_per_byte_most() const { return ratio(flops(), read_least + written); }

bool Ledger::mostly_visible() const { return matmul_full - matmul_exact <= matmul_full / 10; }

WorkTotals Ledger::total() const { return WorkTotals(forward).add(backward).add(optimizer); }

std::vector<PrecisionFlops> flops_by_precision(const Ledger& ledger) {
  std::map<DType, PrecisionFlops> sums;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.each.matmul == 0 && entry.each.elementwise == 0) continue;
    PrecisionFlops& sum = sums[entry.precision];
    sum.type = entry.precision;
    sum.matmul += entry.each.matmul * entry.place.count;
    sum.elementwise += entry.each.elementwise * entry.place.count;
  }
  std::vector<PrecisionFlops> out;
  out.reserve(sums.size());
  for (const auto& [type, sum] : sums) out.push_back(sum);
  return out;
}

std::vector<LinkBytes> bytes_by_group(const Ledger& ledger) {
  std::map<Group, Count> sums;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.group != Group::none) sums[entry.group] += entry.each.sent * entry.place.count;
  }
  std::vector<LinkBytes> out;
  out.reserve(sums.size());
  for (const auto& [group, sent] : sums) out.push_back({group, sent});
  return out;
}

Ledger read_ledger(Program program) {
  Ledger ledger;
  ledger.workload = program.workload;
  ledger.width = program.width;
  ledger.layers = program.layers;
  read_parameters(program, ledger);
  read_work(program, ledger);
  ledger.state = training_state(program);
  read_other_way(program, ledger);
  return ledger;
}

namespace {

// Embedding and head are the model's own, and counted there.
ParameterTotals count_predictors(const Model& model) {
  Workload one;
  one.tokens = 1;
  ParameterTotals totals;
  for (const Predictor& predictor : model.predictors) {
    Ledger ledger;
    read_parameters(forward(predictor, model, one), ledger);
    for (const ParameterEntry& entry : ledger.parameters) {
      if (entry.place.role.block == Block::embedding || entry.place.role.block == Block::head) continue;
      const Count times = Count(entry.place.count) * predictor.count;
      totals.total += entry.each * times;
      totals.active += entry.active_each * times;
      totals.tensors += times;
    }
  }
  totals.non_embedding = totals.total;
  totals.active_non_embedding = totals.active;
  return totals;
}

}  // namespace

Ledger count(const Model& model, const Workload& workload) {
  try {
    Ledger ledger = read_ledger(logical_program(model, workload));
    ledger.prediction = count_predictors(model);
    return ledger;
  } catch (const Overflow& overflow) {
    throw Overflow(model.name + " is too large to count: " + overflow.what());
  }
}

Count count_parameters(const Model& model) {
  Workload one;  // the parameters are the same for any workload
  one.tokens = 1;
  Ledger ledger;
  read_parameters(logical_program(model, one), ledger);
  return ledger.parameter_totals.total;
}

Count weight_bytes(const Ledger& ledger, DType dtype) {
  Count sum;
  for (const ParameterEntry& entry : ledger.parameters) {
    sum += whole_blocks(dtype, entry.each) * entry.place.count;  // each tensor is stored by itself
  }
  return sum;
}

}  // namespace reckon
