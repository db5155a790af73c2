// Each kept tensor becomes three: as the forward pass has it, as it is kept, and as the backward pass has it.
#include "lowering/lower.h"

#include "lowering/regions.h"
#include "ops/elementwise.h"

#include <map>
#include <set>
#include <vector>

namespace reckon {
namespace {

struct Use {
  std::int64_t last_forward_write = -1;
  std::map<std::int32_t, std::size_t> first_backward_read;  // in each body, and outside of all (-1)
  bool backward_write = false;
};

class Narrowing {
 public:
  Narrowing(Program program, DType dtype) : program_(std::move(program)), dtype_(dtype) {}

  Program run() {
    find_uses();
    const std::vector<std::int64_t> regions = parallel_regions(program_);
    std::map<std::int64_t, std::vector<Op>> after, before;  // by region: products of one stay together
    const std::set<TensorId> all = kept();
    for (TensorId root : all) {
      const Use& use = uses_.at(root);
      const TensorId narrow = narrow_[root] = like(root, dtype_);
      const Tensor& tensor = program_[root];
      const auto writer = static_cast<std::size_t>(use.last_forward_write);
      after[regions[writer]].push_back(
          {narrow_operation, {root}, {narrow, root}, {}, tensor.scope, Stage::forward, tensor.repeat});
      for (const auto& [repeat, reader] : use.first_backward_read) {
        const TensorId wide = like(root, DType::float32);
        const Scope scope = program_.ops[reader].scope;
        program_.tensors[static_cast<std::size_t>(wide)].scope = scope;
        program_.tensors[static_cast<std::size_t>(wide)].repeat = repeat;
        again_[{root, repeat}] = wide;
        before[regions[reader]].push_back({widen_operation, {narrow}, {wide}, {}, scope, Stage::backward, repeat});
      }
    }
    carry();
    std::vector<Op> ops;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      Op& op = program_.ops[i];
      const std::int64_t region = regions[i];
      const bool first = i == 0 || regions[i - 1] != region, last = i + 1 == regions.size() || regions[i + 1] != region;
      if (first && before.contains(region)) append(ops, before[region]);
      if (op.stage == Stage::backward) {
        for (TensorId& id : op.inputs) id = in_backward(id, op.repeat);
      }
      ops.push_back(std::move(op));
      if (last && after.contains(region)) append(ops, after[region]);
    }
    program_.ops = std::move(ops);
    find_bodies(program_);
    return std::move(program_);
  }

 private:
  static void append(std::vector<Op>& ops, const std::vector<Op>& more) {
    ops.insert(ops.end(), more.begin(), more.end());
  }

  TensorId root_of(TensorId id) const { return placement(program_, id).root; }

  void find_uses() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      for (TensorId id : op.inputs) {
        if (id != no_tensor && op.stage != Stage::forward) uses_[root_of(id)].first_backward_read.emplace(op.repeat, i);
      }
      for (TensorId id : op.outputs) {
        if (id == no_tensor) continue;
        Use& use = uses_[root_of(id)];
        if (op.stage == Stage::forward) {
          use.last_forward_write = static_cast<std::int64_t>(i);
        } else {
          use.backward_write = true;
        }
      }
    }
  }

  // The tensors to keep narrow.
  std::set<TensorId> kept() const {
    std::set<TensorId> found;
    for (const auto& [root, use] : uses_) {
      if (touched_by_both(root, use)) found.insert(root);
    }
    // What enters a body and what leaves it are one tensor to the next iteration, so both are kept or neither is.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Repeat& repeat : program_.repeats) {
        if (repeat.count == 1) continue;
        for (const auto& [entering, leaving] : repeat.carried) {
          const TensorId in = root_of(entering), out = root_of(leaving);
          if (found.contains(in) != found.contains(out)) changed = found.erase(in) + found.erase(out) > 0;
        }
      }
    }
    return found;
  }

  // Small things that are no part of the network's width (softmax sums, statistics of norms) stay as they are.
  bool touched_by_both(TensorId root, const Use& use) const {
    const Tensor& tensor = program_[root];
    return tensor.kind == TensorKind::activation && tensor.dtype == DType::float32 && use.last_forward_write >= 0 &&
           !use.first_backward_read.empty() && !use.backward_write && tensor.label.piece != Piece::statistics &&
           root != root_of(program_.output);
  }

  // The narrow form of what a body carries is carried as well.
  void carry() {
    for (Repeat& repeat : program_.repeats) {
      const auto carried = repeat.carried;
      for (const auto& [entering, leaving] : carried) {
        const auto in = narrow_.find(root_of(entering)), out = narrow_.find(root_of(leaving));
        if (in != narrow_.end() && out != narrow_.end()) repeat.carried.emplace_back(in->second, out->second);
      }
    }
  }

  TensorId like(TensorId id, DType dtype) {
    Tensor tensor = program_[id];
    tensor.dtype = dtype;
    program_.tensors.push_back(tensor);
    return static_cast<TensorId>(program_.tensors.size()) - 1;
  }

  // The tensor as a backward body has it: itself, or under another owner.
  TensorId in_backward(TensorId id, std::int32_t repeat) {
    if (id == no_tensor) return id;
    if (const auto found = again_.find({id, repeat}); found != again_.end()) return found->second;
    const TensorId storage = program_[id].storage;
    if (storage == no_tensor) return id;
    const TensorId owner = in_backward(storage, repeat);
    if (owner == storage) return id;
    const TensorId copy = like(id, program_[id].dtype);
    program_.tensors[static_cast<std::size_t>(copy)].storage = owner;
    program_.tensors[static_cast<std::size_t>(copy)].repeat = repeat;
    return again_[{id, repeat}] = copy;
  }

  Program program_;
  DType dtype_;
  std::map<TensorId, Use> uses_;                                 // by the owner of the memory
  std::map<TensorId, TensorId> narrow_;                          // as it is kept
  std::map<std::pair<TensorId, std::int32_t>, TensorId> again_;  // as a backward body has it
};

}  // namespace

Program keep_narrow(Program program, DType dtype) { return Narrowing(std::move(program), dtype).run(); }

}  // namespace reckon
