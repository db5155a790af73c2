// Layer by layer: which forward ops the backward ops of that layer need, their clones, and where these go.
#include "passes/recompute.h"

#include "ops/elementwise.h"
#include "ops/matmul.h"

#include <algorithm>
#include <map>
#include <set>

namespace reckon {
namespace {

// A layer: of a repeated body (by the forward repeat), or on its own (-1).
using Layer = std::pair<std::int32_t, std::int32_t>;

class Recomputation {
 public:
  Recomputation(Program& program, Recompute what) : program_(program), what_(what) {}

  void run() {
    std::map<Layer, std::vector<std::size_t>> forward, backward;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.scope.layer < 0) continue;
      const Layer layer{op.repeat < 0 ? -1 : program_.repeats[static_cast<std::size_t>(op.repeat)].root,
                        op.scope.layer};
      if (op.stage == Stage::forward && chosen(op)) forward[layer].push_back(i);
      if (op.stage == Stage::backward) backward[layer].push_back(i);
    }
    for (const auto& [layer, ops] : forward) clone_layer(ops, backward[layer]);
    insert();
  }

 private:
  bool chosen(const Op& op) const {
    if (what_ == Recompute::block) return true;
    return op.scope.role.block == Block::attention && op.operation != &matmul_operation &&
           op.operation != &add_operation;
  }

  void clone_layer(const std::vector<std::size_t>& forward, const std::vector<std::size_t>& backward) {
    std::set<TensorId> made, needed;
    for (std::size_t i : forward) made.insert(program_.ops[i].outputs.begin(), program_.ops[i].outputs.end());
    made.erase(no_tensor);
    std::size_t first = program_.ops.size();  // the first op backward that reads one of them
    for (std::size_t i : backward) {
      for (TensorId id : program_.ops[i].inputs) {
        if (!made.contains(id)) continue;
        needed.insert(id);
        first = std::min(first, i);
      }
    }
    if (needed.empty()) return;
    // From the last to the first: an op is cloned if something needed is made by it.
    std::vector<std::size_t> cloned;
    for (auto i = forward.rbegin(); i != forward.rend(); ++i) {
      const Op& op = program_.ops[*i];
      if (std::none_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) { return needed.contains(id); }))
        continue;
      cloned.push_back(*i);
      for (TensorId id : op.inputs) {
        if (made.contains(id)) needed.insert(id);
      }
    }
    std::reverse(cloned.begin(), cloned.end());

    const std::int32_t repeat = program_.ops[first].repeat;
    std::map<TensorId, TensorId> copies;
    const auto copy_of = [&](TensorId id) {
      const auto found = copies.find(id);
      return found == copies.end() ? id : found->second;
    };
    for (std::size_t i : cloned) {
      Op op = program_.ops[i];
      for (TensorId& id : op.inputs) id = copy_of(id);
      for (TensorId& id : op.outputs) {
        if (id == no_tensor) continue;
        Tensor tensor = program_[id];
        tensor.repeat = repeat;
        tensor.storage = tensor.storage == no_tensor ? no_tensor : copy_of(tensor.storage);
        const auto copy = static_cast<TensorId>(program_.tensors.size());
        program_.tensors.push_back(tensor);
        copies[id] = copy;
        id = copy;
      }
      op.stage = Stage::backward;
      op.repeat = repeat;
      before_[first].push_back(std::move(op));
    }
    for (std::size_t i : backward) {
      for (TensorId& id : program_.ops[i].inputs) id = copy_of(id);
    }
  }

  void insert() {
    std::vector<Op> ops;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      if (const auto found = before_.find(i); found != before_.end()) {
        std::move(found->second.begin(), found->second.end(), std::back_inserter(ops));
      }
      ops.push_back(std::move(program_.ops[i]));
    }
    program_.ops = std::move(ops);
    find_bodies(program_);
  }

  Program& program_;
  Recompute what_;
  std::map<std::size_t, std::vector<Op>> before_;  // clones, by the op that they stand before
};

}  // namespace

Differentiated recompute(Differentiated differentiated, Recompute what) {
  if (what != Recompute::none) Recomputation(differentiated.program, what).run();
  return differentiated;
}

}  // namespace reckon
