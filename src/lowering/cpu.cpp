// One walk over the ops. Each is kept, fused into another, or replaced by its lowered form.
#include "lowering/cpu.h"

#include <reckon/error.h>

#include "ops/activate.h"
#include "ops/add.h"
#include "ops/append.h"
#include "ops/attend.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/project.h"
#include "ops/rope.h"
#include "ops/scale.h"
#include "ops/softmax.h"
#include "ops/split.h"
#include "ops/view.h"

#include <vector>

namespace reckon {
namespace {

class Lowering {
 public:
  explicit Lowering(Program program)
      : program_(std::move(program)),
        ops_(std::move(program_.ops)),
        consumers_(program_.tensors.size()),
        position_(program_.tensors.size(), -1),
        done_(ops_.size(), false) {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (TensorId id : ops_[i].inputs) {
        if (id != no_tensor) consumers_[index(id)].push_back(i);
      }
      for (TensorId id : ops_[i].outputs) {
        if (id != no_tensor) position_[index(id)] = static_cast<std::int64_t>(i);
      }
    }
  }

  Program run() {
    program_.ops.clear();
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!done_[i]) lower(i);
    }
    return std::move(program_);
  }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }
  Tensor& tensor(TensorId id) { return program_.tensors[index(id)]; }

  // The one op that reads `id`, if it is of this operation; else nullptr.
  const Op* only_consumer(TensorId id, const Operation& operation) const {
    if (id == program_.output || consumers_[index(id)].size() != 1) return nullptr;
    const Op& op = ops_[consumers_[index(id)][0]];
    return op.operation == &operation ? &op : nullptr;
  }
  void fuse(const Op& op) { done_[static_cast<std::size_t>(&op - ops_.data())] = true; }
  bool known_before(TensorId id, std::size_t i) const { return position_[index(id)] < static_cast<std::int64_t>(i); }

  void lower(std::size_t i) {
    Op& op = ops_[i];
    if (op.operation == &view_operation || op.operation == &split_operation) return;  // aliases, without work
    if (op.operation == &matmul_operation || op.operation == &grouped_matmul_operation) return lower_product(i);
    if (op.operation == &scores_operation) return lower_attention(op);
    if (op.operation == &append_operation) order_cache(op);
    if (op.operation == &rope_operation) rotate_in_place(op);
    program_.ops.push_back(op);
  }

  // x·Wᵀ + b, and behind it an activation, or a multiplier and the residual sum, as far as nothing else reads
  // what lies between.
  void lower_product(std::size_t i) {
    const Op& op = ops_[i];
    const bool grouped = op.operation == &grouped_matmul_operation;
    TensorIds inputs(project_input::count, no_tensor);
    inputs[project_input::x] = op.inputs[0];
    inputs[project_input::weight] = op.inputs[1];
    inputs[project_input::bias] = op.inputs[2];
    if (grouped) inputs[project_input::offsets] = op.inputs[3];
    TensorId y = op.outputs[0];
    Attributes attributes;
    if (const Op* act = only_consumer(y, activate_operation); act != nullptr && fusible(*act, y, i)) {
      const bool gated = act->inputs[1] != no_tensor;
      if (gated) inputs[project_input::gate] = act->inputs[0];
      attributes = {
          {"activate", 1}, {"activation", act->attributes.get("activation")}, {"clamp", act->attributes.get("clamp")}};
      y = act->outputs[0];
      fuse(*act);
    } else if (!grouped) {
      double factor = 1.0;
      const Op* scaled = only_consumer(y, scale_operation);
      const TensorId term = scaled != nullptr ? scaled->outputs[0] : y;
      if (const Op* sum = only_consumer(term, add_operation);
          sum != nullptr && sum->inputs[1] == term && known_before(sum->inputs[0], i)) {
        if (scaled != nullptr) {
          factor = scaled->attributes.get("factor");
          fuse(*scaled);
        }
        inputs[project_input::residual] = sum->inputs[0];
        attributes = {{"scale", factor}};
        y = sum->outputs[0];
        fuse(*sum);
      }
    }
    program_.ops.push_back({grouped ? &grouped_project_operation : &project_operation,
                            std::move(inputs),
                            {y},
                            std::move(attributes),
                            op.scope,
                            op.stage});
  }

  // An activation of y alone, or of y gated by something that is there already.
  bool fusible(const Op& act, TensorId y, std::size_t i) const {
    if (act.inputs[1] == no_tensor) return true;
    return act.inputs[1] == y && known_before(act.inputs[0], i);
  }

  void lower_attention(const Op& scores) {
    const Op* soft = only_consumer(scores.outputs[0], softmax_operation);
    const Op* mixed = soft != nullptr ? only_consumer(soft->outputs[0], mix_operation) : nullptr;
    if (mixed == nullptr) throw Error("[lowering] scores without their softmax and mixing");
    Op op{&attend_operation,
          {scores.inputs[0], scores.inputs[1], mixed->inputs[1], soft->inputs[1]},
          {mixed->outputs[0]},
          {{"causal", scores.attributes.get("causal")},
           {"window", scores.attributes.get("window")},
           {"scale", scores.attributes.get("scale", 1.0)},
           {"softcap", scores.attributes.get("softcap")},
           {"alibi", soft->attributes.get("alibi")}},
          mixed->scope,
          mixed->stage};
    fuse(*soft);
    fuse(*mixed);
    program_.ops.push_back(std::move(op));
  }

  // A cache lies head by head, so that the keys of one head follow each other.
  void order_cache(const Op& append) {
    Tensor& cache = tensor(append.inputs[1]);
    const std::int64_t capacity = cache.shape[1].size, heads = cache.shape[2].size, width = cache.shape[3].size;
    cache.strides = {heads * capacity * width, width, capacity * width, 1};
    tensor(append.outputs[0]).strides = cache.strides;
    for (std::size_t reader : consumers_[index(append.outputs[0])]) {
      if (ops_[reader].operation != &split_operation) continue;
      for (TensorId part : ops_[reader].outputs) tensor(part).strides = cache.strides;
    }
  }

  void rotate_in_place(const Op& op) {
    if (consumers_[index(op.inputs[0])].size() != 1) return;
    const Tensor& x = tensor(op.inputs[0]);
    const Strides strides = strides_of(x);
    Tensor& y = tensor(op.outputs[0]);
    y.storage = op.inputs[0];
    y.offset = 0;
    y.strides = strides;
  }

  Program program_;
  std::vector<Op> ops_;
  std::vector<std::vector<std::size_t>> consumers_;
  std::vector<std::int64_t> position_;  // the op that writes each tensor; -1: none
  std::vector<bool> done_;
};

}  // namespace

Program lower_for_cpu(Program program) {
  for (const Op& op : program.ops) {
    if (op.repeat >= 0) throw Error("[lowering] got a program with repeats, expected an expanded one");
  }
  return Lowering(std::move(program)).run();
}

}  // namespace reckon
