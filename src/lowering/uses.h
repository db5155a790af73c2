// Who reads and writes each tensor of a program, as lowering needs to know it.
#pragma once

#include "lowering/regions.h"
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
        of_root_(program.tensors.size()) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (TensorId id : program.ops[i].inputs) {
        if (id == no_tensor) continue;
        consumers_[index(id)].push_back(i);
        of_root_[index(placement(program, id).root)].push_back(i);
      }
      for (TensorId id : program.ops[i].outputs) {
        if (id == no_tensor) continue;
        writer_[index(id)] = static_cast<std::int64_t>(i);
        of_root_[index(placement(program, id).root)].push_back(i);
      }
    }
  }

  const std::vector<std::size_t>& consumers(TensorId id) const { return consumers_[index(id)]; }
  std::int64_t writer(TensorId id) const { return writer_[index(id)]; }  // the op; -1: none
  bool known_before(TensorId id, std::size_t op) const { return writer(id) < static_cast<std::int64_t>(op); }

  // Whether nothing touches the memory that `id` is part of after op `at`.
  bool ends_at(TensorId id, std::size_t at) const {
    const std::vector<std::size_t>& uses = of_root_[index(placement(program_, id).root)];
    return std::all_of(uses.begin(), uses.end(), [&](std::size_t use) { return use <= at; });
  }

  // Whether an op at `at` may write its result over `id`: nothing but the op `also` touches that memory from there on.
  bool free_from(TensorId id, std::size_t at, std::size_t also) const {
    const auto [root, offset] = placement(program_, id);
    const Tensor& owner = program_[root];
    if (owner.kind != TensorKind::activation && owner.kind != TensorKind::gradient) return false;
    if (offset != 0 || owner.shape.elements() != program_[id].shape.elements()) return false;
    if (root == placement(program_, program_.output).root) return false;
    const std::vector<std::size_t>& uses = of_root_[index(root)];
    return std::all_of(uses.begin(), uses.end(), [&](std::size_t use) { return use < at || use == also; });
  }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }

  const Program& program_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<std::int64_t> writer_;
  std::vector<std::vector<std::size_t>> of_root_;
};

}  // namespace reckon
