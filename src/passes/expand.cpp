// Copies each body once per iteration and reconnects what one iteration hands to the next.
#include "passes/expand.h"

#include "program/iterations.h"

namespace reckon {
namespace {

class Expansion {
 public:
  Expansion(const Program& folded, Origins* origins)
      : folded_(folded), origins_(origins), instances_(folded.tensors.size()) {
    program_.workload = folded.workload;
    program_.width = folded.width;
    program_.layers = folded.layers;
    for (std::size_t id = 0; id < folded.tensors.size(); ++id) {
      const std::int64_t count = folded.count(folded.tensors[id].repeat);
      for (std::int64_t k = 0; k < count; ++k) copy_tensor(static_cast<TensorId>(id), k);
    }
    for (std::size_t id = 0; id < folded.tensors.size(); ++id) connect_storage(static_cast<TensorId>(id));
  }

  Program run() {
    for (std::size_t i = 0; i < folded_.ops.size();) {
      const std::int32_t r = folded_.ops[i].repeat;
      if (r < 0) {
        copy_op(i, -1, 0);
        ++i;
        continue;
      }
      const Repeat& body = repeat(r);
      for (std::int64_t step = 0; step < body.count; ++step) {
        const std::int64_t k = body.reversed ? body.count - 1 - step : step;
        for (std::int32_t j = body.first_op; j < body.last_op; ++j) copy_op(static_cast<std::size_t>(j), r, k);
      }
      i = static_cast<std::size_t>(body.last_op);
    }
    program_.output = resolve(folded_.output, -1, 0);
    return std::move(program_);
  }

 private:
  const Repeat& repeat(std::int32_t r) const { return folded_.repeats[static_cast<std::size_t>(r)]; }
  TensorId instance(TensorId id, std::int64_t k) const {
    return instances_[static_cast<std::size_t>(id)][static_cast<std::size_t>(k)];
  }

  void copy_tensor(TensorId id, std::int64_t k) {
    Tensor tensor = folded_[id];
    if (tensor.repeat >= 0 && tensor.scope.layer >= 0) {
      tensor.scope.layer += static_cast<std::int32_t>(k) * repeat(tensor.repeat).layers;
    }
    tensor.repeat = -1;
    instances_[static_cast<std::size_t>(id)].push_back(static_cast<TensorId>(program_.tensors.size()));
    program_.tensors.push_back(tensor);
    if (origins_ != nullptr) origins_->tensors.push_back({id, k});
  }

  // The tensor that `id` means inside iteration k of repeat r (r = -1: outside of all).
  TensorId resolve(TensorId id, std::int32_t r, std::int64_t k) const {
    if (id == no_tensor) return no_tensor;
    const Meaning m = meaning(folded_, id, r);
    k += m.shift;
    if (m.shift != 0 && (k < 0 || k >= repeat(r).count)) return resolve(m.first, -1, 0);
    if (m.each) return instance(m.id, k);
    const std::int32_t owner = folded_[m.id].repeat;
    return instance(m.id, owner < 0 ? 0 : last_run(repeat(owner)));
  }

  void connect_storage(TensorId id) {
    const Tensor& tensor = folded_[id];
    if (tensor.storage == no_tensor && tensor.pages == no_tensor) return;
    for (std::int64_t k = 0; k < folded_.count(tensor.repeat); ++k) {
      Tensor& own = program_.tensors[static_cast<std::size_t>(instance(id, k))];
      own.storage = resolve(tensor.storage, tensor.repeat, k);
      own.pages = resolve(tensor.pages, -1, 0);
    }
  }

  void copy_op(std::size_t i, std::int32_t r, std::int64_t k) {
    Op copy = folded_.ops[i];
    copy.repeat = -1;
    if (r >= 0 && copy.scope.layer >= 0) copy.scope.layer += static_cast<std::int32_t>(k) * repeat(r).layers;
    for (TensorId& id : copy.inputs) id = resolve(id, r, k);
    for (TensorId& id : copy.outputs) id = resolve(id, r, k);
    program_.ops.push_back(std::move(copy));
    if (origins_ != nullptr) origins_->ops.push_back({static_cast<std::int32_t>(i), k});
  }

  const Program& folded_;
  Origins* origins_;
  Program program_;
  std::vector<std::vector<TensorId>> instances_;  // of each folded tensor, by iteration
};

}  // namespace

Program expand(const Program& program, Origins* origins) { return Expansion(program, origins).run(); }

}  // namespace reckon
