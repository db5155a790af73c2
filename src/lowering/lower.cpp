// One walk over the ops. Each is kept, fused into another, or replaced by its lowered form.
#include "lowering/lower.h"

#include "lowering/attention.h"
#include "lowering/uses.h"
#include "ops/activate.h"
#include "ops/attend.h"
#include "ops/attention.h"
#include "ops/collectives.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/norm.h"
#include "ops/project.h"
#include "ops/rope.h"
#include "ops/view.h"

#include <algorithm>
#include <map>
#include <vector>

namespace reckon {
namespace {

class Lowering {
 public:
  Lowering(const Program& program, const Target& target)
      : target_(target),
        given_(program),
        ops_(program.ops),
        uses_(program),
        program_(program),
        done_(ops_.size(), false) {}

  Program run() {
    program_.ops.clear();
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (const auto found = placed_.find(i); found != placed_.end()) program_.ops.push_back(std::move(found->second));
      if (!done_[i]) lower(i);
    }
    find_bodies(program_);
    return std::move(program_);
  }

 private:
  static std::size_t index(TensorId id) { return static_cast<std::size_t>(id); }
  Tensor& tensor(TensorId id) { return program_.tensors[index(id)]; }

  // The one op that reads `id`, if it is of this operation and in the same iteration; else nullptr.
  const Op* only_consumer(TensorId id, const Operation& operation) const {
    if (id == no_tensor || id == program_.output || uses_.consumers(id).size() != 1 || leaves_a_body(id))
      return nullptr;
    const Op& op = ops_[uses_.consumers(id)[0]];
    return op.operation == &operation && op.repeat == given_[id].repeat ? &op : nullptr;
  }
  bool leaves_a_body(TensorId id) const {
    return std::any_of(given_.repeats.begin(), given_.repeats.end(), [&](const Repeat& repeat) {
      return std::any_of(repeat.carried.begin(), repeat.carried.end(), [&](const auto& c) { return c.second == id; });
    });
  }
  std::size_t position(const Op& op) const { return static_cast<std::size_t>(&op - ops_.data()); }
  void fuse(const Op& op) { done_[position(op)] = true; }

  void lower(std::size_t i) {
    Op& op = ops_[i];
    if (op.operation == &view_operation || op.operation == &split_operation || is_name(op)) return;  // without work
    if (op.operation == &matmul_operation && op.attributes<MatmulAttributes>().transpose_a)
      return lower_weight_gradient(i);
    if (op.operation == &matmul_operation || op.operation == &grouped_matmul_operation) return lower_product(i);
    if (op.operation == &scores_operation && target_.fusions.attention) return lower_attention(i);
    if (op.operation == &rope_operation) rotate_in_place(op);
    if (op.operation == &layer_norm_backward_operation || op.operation == &rms_norm_backward_operation ||
        op.operation == &embed_backward_operation) {
      return lower_summed_gradient(i);
    }
    if (op.operation == &cross_entropy_backward_operation && target_.fusions.in_place &&
        uses_.free_from(op.inputs[0], i, i)) {
      write_over(op.outputs[0], op.inputs[0]);
    }
    program_.ops.push_back(op);
  }

  // `id` lies where `over` does.
  void write_over(TensorId id, TensorId over) {
    tensor(id).storage = over;
    tensor(id).offset = 0;
    tensor(id).strides = strides_of(tensor(over));
  }

  // The sum that adds `term`, made by op i, to something that is there already.
  const Op* sum_of(TensorId term, std::size_t i) const {
    const Op* sum = only_consumer(term, add_operation);
    return sum != nullptr && sum->inputs[1] == term && uses_.known_before(sum->inputs[0], i) &&
                   given_[sum->inputs[0]].shape.same_sizes(given_[term].shape)
               ? sum
               : nullptr;
  }

  // Op i makes the sum itself, in the place of what it adds to. Only done where that place is free.
  TensorId add_in_place(TensorId y, std::size_t i, TensorId& residual) {
    const Op* sum = sum_of(y, i);
    if (sum == nullptr || !target_.fusions.in_place || !uses_.free_from(sum->inputs[0], i, position(*sum))) return y;
    residual = sum->inputs[0];
    fuse(*sum);
    write_over(sum->outputs[0], residual);
    return sum->outputs[0];
  }

  // x·Wᵀ + b, and behind it an activation, or a multiplier and the residual sum, as far as nothing else reads
  // what lies between. Backward it is dy·W, and the sum that of gradients.
  void lower_product(std::size_t i) {
    const Op& op = ops_[i];
    const bool grouped = op.operation == &grouped_matmul_operation;
    TensorIds inputs(project_input::count, no_tensor);
    inputs[project_input::x] = op.inputs[0];
    inputs[project_input::weight] = op.inputs[1];
    inputs[project_input::bias] = op.inputs[2];
    if (grouped) inputs[project_input::offsets] = op.inputs[3];
    TensorId y = op.outputs[0];
    ProjectAttributes attributes;
    attributes.transposed = grouped ? !op.attributes<GroupedMatmulAttributes>().transpose_b
                                    : !op.attributes<MatmulAttributes>().transpose_b;
    const Op* act = target_.fusions.activations ? only_consumer(y, activate_operation) : nullptr;
    if (act != nullptr && fusible(*act, y, i)) {
      const bool gated = act->inputs[1] != no_tensor;
      if (gated) inputs[project_input::gate] = act->inputs[0];
      attributes.activate = act->attributes<ActivateAttributes>();
      y = act->outputs[0];
      fuse(*act);
    } else if (!grouped && target_.fusions.epilogues) {
      const Op* scaled = only_consumer(y, scale_operation);
      const TensorId term = scaled != nullptr ? scaled->outputs[0] : y;
      if (const Op* sum = sum_of(term, i)) {
        if (scaled != nullptr) {
          attributes.scale = scaled->attributes<ScaleAttributes>().factor;
          fuse(*scaled);
        }
        inputs[project_input::residual] = sum->inputs[0];
        y = sum->outputs[0];
        if (target_.fusions.in_place && uses_.free_from(sum->inputs[0], i, position(*sum))) {
          write_over(y, sum->inputs[0]);
        }
        fuse(*sum);
      }
    }
    program_.ops.emplace_back(grouped ? grouped_project_operation : project_operation, std::move(inputs), TensorIds{y},
                              attributes, op.scope, op.stage, op.repeat);
  }

  // An activation of y alone, or of y gated by something that is there already.
  bool fusible(const Op& act, TensorId y, std::size_t i) const {
    if (act.inputs[1] == no_tensor) return true;
    return act.inputs[1] == y && uses_.known_before(act.inputs[0], i);
  }

  void lower_weight_gradient(std::size_t i) {
    const Op& op = ops_[i];
    TensorId residual = no_tensor;
    const TensorId y = add_in_place(op.outputs[0], i, residual);
    program_.ops.push_back(
        {weight_gradient_operation, {op.inputs[0], op.inputs[1], residual}, {y}, {}, op.scope, op.stage, op.repeat});
  }

  // The gradient of a norm or of an embedding; what it is added to becomes its last input.
  void lower_summed_gradient(std::size_t i) {
    Op op = ops_[i];
    TensorId residual = no_tensor;
    op.outputs[0] = add_in_place(op.outputs[0], i, residual);
    if (residual != no_tensor) op.inputs.push_back(residual);
    program_.ops.push_back(std::move(op));
  }

  void lower_attention(std::size_t i) {
    const WrittenAttention found = find_attention(given_, uses_, i);
    const Op &scores = ops_[found.scores], &soft = ops_[found.softmax], &mixed = ops_[found.mix];
    const auto& scored = scores.attributes<ScoresAttributes>();
    const AttendAttributes rule{
        {.mask = scored.mask,
         .scale = scored.scale,
         .softcap = scored.softcap,
         .alibi = soft.attributes<SoftmaxAttributes>().alibi},
        static_cast<std::int32_t>(target_.query_block),
        found.dropout ? static_cast<float>(ops_[*found.dropout].attributes<DropoutAttributes>().probability) : 0.0f};
    const TensorId starts = scores.inputs.size() > 2 ? scores.inputs[2] : no_tensor;
    Op op{attend_operation,   {scores.inputs[0], scores.inputs[1], mixed.inputs[1], soft.inputs[1], starts},
          {mixed.outputs[0]}, rule,
          mixed.scope,        mixed.stage,
          mixed.repeat};
    const bool shifts = soft.inputs.size() > 2 && scored.mask.keep > 0;
    if (soft.inputs.size() > 2) op.inputs.push_back(soft.inputs[2]);
    fuse(soft);
    if (found.dropout) fuse(ops_[*found.dropout]);
    fuse(mixed);
    if (found.backward) {
      const WrittenAttention::Backward& b = *found.backward;
      const Shape grid = given_[scores.outputs[0]].shape;
      const Tensor kept{mixed.scope,    {Piece::statistics, "log_sum_exp"}, TensorKind::activation,
                        DType::float32, {grid[0], grid[1], grid[2]},        mixed.repeat};
      const auto log_sum_exp = static_cast<TensorId>(program_.tensors.size());
      program_.tensors.push_back(kept);
      op.outputs.push_back(log_sum_exp);
      // Training begins at 0.
      TensorIds inputs{b.query, b.keys, b.values, soft.inputs[1], mixed.outputs[0], b.d_out, log_sum_exp};
      TensorIds gradients{b.d_query, b.d_keys, b.d_values, b.d_sinks};
      if (shifts) inputs.push_back(soft.inputs[2]);
      if (shifts) gradients.push_back(b.d_shifts);
      // Where the first of those stood that all of its inputs are made before: sums of gradients (of keys that several
      // layers read) may stand between them.
      const auto made = [&](std::size_t at) {
        return std::all_of(inputs.begin(), inputs.end(), [&](TensorId id) {
          return id == no_tensor || id == log_sum_exp || uses_.known_before(id, at);
        });
      };
      const std::size_t at = *std::find_if(b.ops.begin(), b.ops.end() - 1, made);
      placed_[at] = {attend_backward_operation, std::move(inputs), std::move(gradients),     rule,
                     ops_[b.ops.back()].scope,  Stage::backward,   ops_[b.ops.back()].repeat};
      for (std::size_t part : b.ops) done_[part] = true;
    }
    program_.ops.push_back(std::move(op));
  }

  void rotate_in_place(const Op& op) {
    if (!target_.fusions.in_place || !uses_.ends_at(op.inputs[0], position(op))) return;
    write_over(op.outputs[0], op.inputs[0]);
  }

  const Target& target_;
  const Program& given_;
  std::vector<Op> ops_;
  Uses uses_;
  Program program_;
  std::vector<bool> done_;
  std::map<std::size_t, Op> placed_;  // ops that stand for several, where one of those stood
};

// Every tensor in memory of its own, as it is written otherwise: nothing is fused without views.
Program without_views(Program program) {
  for (Tensor& tensor : program.tensors) {
    if (tensor.storage == no_tensor) continue;
    tensor.storage = no_tensor;
    tensor.offset = 0;
    tensor.strides = {};
    if (tensor.kind == TensorKind::cache) tensor.kind = TensorKind::activation;  // what is read of one
  }
  return program;
}

}  // namespace

Program lower(const Program& program, const Target& target) {
  if (!target.views) return without_views(program);
  if (!target.fusions.attention || program.workload.recompute != Recompute::selective)
    return Lowering(program, target).run();
  const Program once = without_repeated_scores(program);
  return Lowering(once, target).run();
}

}  // namespace reckon
