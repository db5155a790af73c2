// Each kept tensor becomes three: as the forward pass has it, as it is kept, and as the backward pass has it.
#include "lowering/narrow.h"

#include "lowering/regions.h"
#include "ops/adamw.h"
#include "ops/convert.h"

#include <map>
#include <vector>

namespace reckon {
namespace {

struct Use {
  std::int64_t last_forward_write = -1, first_backward_read = -1;
  bool forward = false, backward_write = false;
};

class Narrowing {
 public:
  Narrowing(Program program, DType dtype) : program_(std::move(program)), dtype_(dtype) {}

  Program run() {
    const std::map<TensorId, Use> uses = find_uses();
    const std::vector<std::int64_t> regions = parallel_regions(program_);
    std::map<std::int64_t, std::vector<Op>> after, before;  // by region: products of one stay together
    for (const auto& [root, use] : uses) {
      if (!kept(root, use)) continue;
      const TensorId narrow = like(root, dtype_), wide = like(root, DType::float32);
      again_[root] = wide;
      const Tensor& tensor = program_[root];
      const auto writer = static_cast<std::size_t>(use.last_forward_write);
      const auto reader = static_cast<std::size_t>(use.first_backward_read);
      after[regions[writer]].push_back({narrow_operation, {root}, {narrow, root}, {}, tensor.scope, Stage::forward});
      before[regions[reader]].push_back({widen_operation, {narrow}, {wide}, {}, tensor.scope, Stage::backward});
    }
    std::vector<Op> ops;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const std::int64_t region = regions[i];
      const bool first = i == 0 || regions[i - 1] != region, last = i + 1 == regions.size() || regions[i + 1] != region;
      if (first && before.contains(region)) append(ops, before[region]);
      if (program_.ops[i].stage == Stage::backward) {
        for (TensorId& id : program_.ops[i].inputs) id = in_backward(id);
      }
      ops.push_back(std::move(program_.ops[i]));
      if (last && after.contains(region)) append(ops, after[region]);
    }
    program_.ops = std::move(ops);
    for (Op& op : program_.ops) add_master(op);
    return std::move(program_);
  }

 private:
  static void append(std::vector<Op>& ops, const std::vector<Op>& more) {
    ops.insert(ops.end(), more.begin(), more.end());
  }

  std::map<TensorId, Use> find_uses() const {
    std::map<TensorId, Use> uses;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const auto at = static_cast<std::int64_t>(i);
      for (TensorId id : op.inputs) {
        if (id == no_tensor) continue;
        Use& use = uses[placement(program_, id).root];
        if (op.stage == Stage::forward) use.forward = true;
        if (op.stage != Stage::forward && use.first_backward_read < 0) use.first_backward_read = at;
      }
      for (TensorId id : op.outputs) {
        if (id == no_tensor) continue;
        Use& use = uses[placement(program_, id).root];
        if (op.stage == Stage::forward) {
          use.last_forward_write = at;
        } else {
          use.backward_write = true;
        }
      }
    }
    return uses;
  }

  // The optimizer adds steps that a narrow weight would round away: it has the wide values, and makes the narrow ones.
  void add_master(Op& op) {
    if (op.operation != &adamw_operation || program_[op.inputs[adamw_input::parameter]].dtype != dtype_) return;
    const TensorId master = like(op.inputs[adamw_input::parameter], DType::float32);
    program_.tensors.back().kind = TensorKind::optimizer_state;
    program_.tensors.back().label = Piece::master;
    op.inputs.push_back(master);
    op.outputs.push_back(master);
  }

  // Small things that are no part of the network's width (softmax sums, statistics of norms) stay as they are.
  bool kept(TensorId root, const Use& use) const {
    const Tensor& tensor = program_[root];
    return tensor.kind == TensorKind::activation && tensor.dtype == DType::float32 && use.last_forward_write >= 0 &&
           use.first_backward_read >= 0 && !use.backward_write && tensor.label.piece != Piece::statistics &&
           root != placement(program_, program_.output).root;
  }

  TensorId like(TensorId id, DType dtype) {
    Tensor tensor = program_[id];
    tensor.dtype = dtype;
    program_.tensors.push_back(tensor);
    return static_cast<TensorId>(program_.tensors.size()) - 1;
  }

  // The tensor as the backward pass has it: itself, or under another owner.
  TensorId in_backward(TensorId id) {
    if (id == no_tensor) return id;
    if (const auto found = again_.find(id); found != again_.end()) return found->second;
    const TensorId storage = program_[id].storage;
    if (storage == no_tensor) return id;
    const TensorId owner = in_backward(storage);
    if (owner == storage) return id;
    const TensorId copy = like(id, program_[id].dtype);
    program_.tensors[static_cast<std::size_t>(copy)].storage = owner;
    return again_[id] = copy;
  }

  Program program_;
  DType dtype_;
  std::map<TensorId, TensorId> again_;
};

}  // namespace

Program keep_narrow(Program program, DType dtype) { return Narrowing(std::move(program), dtype).run(); }

}  // namespace reckon
