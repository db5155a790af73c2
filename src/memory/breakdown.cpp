#include "memory/breakdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "files/checked.h"
#include "files/encoding.h"
#include "program/iterations.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace reckon {
namespace {

bool scaled_apart(DType type) {
  switch (type) {
    case DType::int8:
    case DType::int4:
    case DType::float4:
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      return true;
    default:
      return false;
  }
}

// Whether the forward pass makes a tensor's memory and a later stage reads it.
std::vector<bool> kept_for_backward(const Program& program) {
  std::vector<bool> forward(program.tensors.size()), kept(program.tensors.size());
  for (const Op& op : program.ops) {
    const auto touch = [&](TensorId id) {
      if (id == no_tensor) return;
      const std::size_t root = index(memory_of(program, id, op.repeat).id);
      if (op.stage == Stage::forward) {
        forward[root] = true;
      } else if (forward[root]) {
        kept[root] = true;
      }
    };
    for (TensorId id : op.inputs) touch(id);
    for (TensorId id : op.outputs) touch(id);
  }
  return kept;
}

// Of a tensor that outlives a run; nothing for one of the arena.
std::optional<Held> resident(const Tensor& tensor, bool parameter_gradient) {
  if (tensor.label.piece == Piece::master) return Held::master;
  if (parameter_gradient) return Held::gradients;
  switch (tensor.kind) {
    case TensorKind::parameter:
      return Held::weights;
    case TensorKind::optimizer_state:
      return Held::optimizer;
    case TensorKind::cache:
      return Held::cache;
    case TensorKind::constant:
    case TensorKind::step:
      return Held::tables;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string_view held_name(Held held) {
  static constexpr std::array<std::string_view, held_kinds> names{"weights", "master", "gradients",   "optimizer",
                                                                  "cache",   "tables", "activations", "temporary"};
  return names[static_cast<std::size_t>(held)];
}

std::int64_t Breakdown::total() const {
  std::int64_t sum = 0;
  for (std::int64_t kind : bytes) sum = checked_add(sum, kind, "the memory");
  return sum;
}

Breakdown break_down(const Program& program, const Plan& plan) {
  const bool train = program.workload.phase == Phase::train;
  const std::vector<bool> gradients = parameter_gradients(program);
  const std::vector<bool> kept = train ? kept_for_backward(program) : std::vector<bool>(program.tensors.size(), true);
  Breakdown held;
  std::int64_t between = plan.arena;
  const auto add = [&](TensorId id, Held kind, std::int64_t instances, std::int64_t bytes) {
    std::int64_t& sum = held.bytes[static_cast<std::size_t>(kind)];
    sum = checked_add(sum, bytes, held_name(kind));
    held.tensors.push_back({id, kind, instances, bytes});
  };
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.storage != no_tensor) continue;
    const auto id = static_cast<TensorId>(i);
    const auto each = static_cast<std::int64_t>(bytes(tensor));
    if (const std::optional<Held> kind = resident(tensor, gradients[i])) {
      const std::int64_t instances = program.count(tensor.repeat);
      add(id, *kind, instances, checked_multiply(each, instances, held_name(*kind)));
      if (*kind == Held::weights)
        held.parameters = checked_add(
            held.parameters, checked_multiply(tensor.shape.elements(), instances, "the weights"), "the weights");
    } else if (const std::int64_t instances = plan.alive[i]; instances > 0) {
      add(id, kept[i] ? Held::activations : Held::temporary, instances, each * instances);
      between -= each * instances;
    }
  }
  if (between > 0) add(no_tensor, Held::temporary, 1, between);
  const Layout& layout = program.workload.layout;
  const std::int64_t others = train ? arena_in_flight(plan, layout) - plan.arena : 0;
  if (others > 0) add(no_tensor, Held::activations, 1, others);
  return held;
}

std::string uncounted_scales(const Program& program) {
  std::set<std::string> of;
  for (const Tensor& tensor : program.tensors) {
    const bool weight = tensor.kind == TensorKind::parameter;
    if (!scaled_apart(tensor.dtype) || (!weight && tensor.kind != TensorKind::cache)) continue;
    of.insert(fmt::format("of {} in {}", weight ? "weights" : "the cache", encoding_of(tensor.dtype).name));
  }
  return of.empty() ? "" : fmt::format("scales {} are not counted", fmt::join(of.rbegin(), of.rend(), " and "));
}

Course course_of(const Program& program, const Plan& plan, std::int64_t iterations) {
  Course course;
  for (std::size_t i = 0; i < program.ops.size();) {
    const std::int32_t r = program.ops[i].repeat;
    const std::int64_t count = program.count(r);
    const std::size_t end = r < 0 ? i + 1 : index(program.repeats[index(r)].last_op);
    const auto length = static_cast<std::int64_t>(end - i);
    // The first and last two, and others evenly between.
    const std::int64_t shown = std::min(count, std::max<std::int64_t>(iterations, 4));
    for (std::int64_t k = 0; k < shown; ++k) {
      const std::int64_t step = shown == count || k < 2 ? k
                                : k >= shown - 2        ? count - shown + k
                                                        : 1 + (k - 1) * (count - 3) / (shown - 3);
      for (std::size_t op = i; op < end; ++op)
        course.points.push_back(
            {course.ops + step * length + static_cast<std::int64_t>(op - i), op, plan.live[op].at(step, count)});
    }
    course.ops += count * length;
    i = end;
  }
  return course;
}

}  // namespace reckon
