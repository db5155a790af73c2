// Layer by layer: which forward ops the backward ops of that layer need, their clones, and where these go.
#include "passes/recompute.h"

#include "ops/attention.h"

#include <algorithm>
#include <map>
#include <set>

namespace reckon {
namespace {

// A layer: of a repeated body (by the forward repeat), or on its own (-1).
using RepeatAndLayer = std::pair<std::int32_t, std::int32_t>;

class Recomputation {
 public:
  Recomputation(Program& program, Recompute what) : program_(program), what_(what) {}

  void run() {
    std::map<RepeatAndLayer, std::vector<std::size_t>> forward, backward;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.scope.layer < 0) continue;
      const RepeatAndLayer layer{op.repeat < 0 ? -1 : program_.repeats[static_cast<std::size_t>(op.repeat)].root,
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
    const Part part = op.scope.role.part;
    return part == Part::scores || part == Part::softmax || ends(op);
  }
  // Of what is computed again, the last op, whose result is kept nevertheless.
  bool ends(const Op& op) const { return what_ == Recompute::selective && op.operation == &mix_operation; }

  void clone_layer(const std::vector<std::size_t>& forward, const std::vector<std::size_t>& backward) {
    std::set<TensorId> made, needed;
    for (std::size_t i : forward) {
      const Op& op = program_.ops[i];
      if (!ends(op)) made.insert(op.outputs.begin(), op.outputs.end());
    }
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
      const TensorIds& asked = ends(op) ? op.inputs : op.outputs;
      if (std::none_of(asked.begin(), asked.end(), [&](TensorId id) { return needed.contains(id); })) continue;
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
        if (!ends(op)) copies[id] = copy;
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
