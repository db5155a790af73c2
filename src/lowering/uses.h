// Who reads and writes each tensor of a folded program, as lowering needs to know it.
#pragma once

#include "lowering/regions.h"
#include "program/iterations.h"
#include "program/program.h"

#include <algorithm>
#include <vector>

namespace reckon {

class Uses {
 public:
  explicit Uses(const Program& program)
      : program_(program),
        consumers_(program.tensors.size()),
        writer_(program.tensors.size(), -1),
        of_memory_(program.tensors.size()),
        output_(memory_of(program, program.output, -1).id) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (TensorId id : program.ops[i].inputs) {
        if (id == no_tensor) continue;
        consumers_[index(id)].push_back(i);
        add(id, i);
      }
      for (TensorId id : program.ops[i].outputs) {
        if (id == no_tensor) continue;
        writer_[index(id)] = static_cast<std::int64_t>(i);
        add(id, i);
      }
    }
  }

  const std::vector<std::size_t>& consumers(TensorId id) const { return consumers_[index(id)]; }
  std::int64_t writer(TensorId id) const { return writer_[index(id)]; }  // the op; -1: none
  bool known_before(TensorId id, std::size_t op) const { return writer(id) < static_cast<std::int64_t>(op); }

  // Whether, in every iteration, nothing touches the memory that `id` is part of after op `at`.
  bool ends_at(TensorId id, std::size_t at) const { return untouched_from(id, at, at); }

  // Whether an op at `at` may write its result over `id`: in every iteration, nothing but the op `also` touches that
  // memory from there on.
  bool free_from(TensorId id, std::size_t at, std::size_t also) const {
    const Meaning memory = memory_of(program_, id, program_.ops[at].repeat);
    return whole(id, memory.id) && (memory.shift == 0 || whole(id, memory.first)) && untouched_from(id, at, also);
  }

 private:
  struct Use {
    std::size_t op;
    bool each;  // touches, in iteration k, the instance of iteration k + shift
    std::int32_t shift;
    bool first;  // touches it only in the iteration that runs first
  };

  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }

  void add(TensorId id, std::size_t op) {
    const Meaning memory = memory_of(program_, id, program_.ops[op].repeat);
    of_memory_[index(memory.id)].push_back({op, memory.each, memory.shift, false});
    if (memory.shift != 0) of_memory_[index(memory.first)].push_back({op, false, 0, true});
  }

  // Whether `id` is all of `owner`, and that is a result which nobody outside of the program asks for.
  bool whole(TensorId id, TensorId owner) const {
    const Tensor& tensor = program_[owner];
    return (tensor.kind == TensorKind::activation || tensor.kind == TensorKind::gradient) && owner != output_ &&
           tensor.shape.elements() == program_[id].shape.elements();
  }

  bool untouched_from(TensorId id, std::size_t at, std::size_t also) const {
    const Meaning memory = memory_of(program_, id, program_.ops[at].repeat);
    return untouched_from(memory, at, also) && (memory.shift == 0 || untouched_from(Meaning{memory.first}, at, also));
  }

  bool untouched_from(const Meaning& memory, std::size_t at, std::size_t also) const {
    const std::int32_t r = program_.ops[at].repeat;
    const std::vector<Use>& uses = of_memory_[index(memory.id)];
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      // From outside, it is that of the iteration that ran last, which no other carries on from.
      if (memory.shift != 0 && !use.each) return true;
      if (program_.ops[use.op].repeat == r && program_.count(r) > 1 && !use.first) {
        if (!memory.each || !use.each) return false;  // the next iteration touches it again
        const std::int32_t iterations_later = memory.shift - use.shift;
        if (iterations_later != 0) return (iterations_later > 0) == program_.repeats[index(r)].reversed;
      }
      return use.op < at || use.op == also;
    });
  }

  const Program& program_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<std::int64_t> writer_;
  std::vector<std::vector<Use>> of_memory_;
  TensorId output_;
};

}  // namespace reckon
