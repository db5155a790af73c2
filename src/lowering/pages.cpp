#include "lowering/lower.h"

#include "lowering/regions.h"
#include "ops/append.h"
#include "ops/attention.h"
#include "ops/chosen.h"
#include "ops/convolved_heads.h"
#include "ops/entries.h"
#include "ops/delta_rule.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reckon {
namespace {

constexpr Scope input{{Block::input}};

class Paging {
 public:
  Paging(Program program, const Target& target)
      : program_(std::move(program)),
        target_(target),
        batch_(program_.workload.batch, Symbol::batch),
        capacity_(capacity(program_.workload)) {}

  Program run() {
    starts_ = add({input, Piece::starts, TensorKind::step, DType::int32, {batch_}});
    for (Op& op : program_.ops) {
      if (const TensorId state = state_of(op); state != no_tensor) {
        lay_out_state(state);
        op.inputs.push_back(starts_);
      }
      if (op.scope.role.block != Block::attention) continue;  // an encoder's keys are not cached as they come
      if (op.operation == &append_operation) lay_out(op.inputs[1]);
      if (op.operation == &entries_operation) lay_out(op.inputs[entries_input::cache]);
      if (op.operation == &append_operation || op.operation == &rope_operation || op.operation == &scores_operation ||
          op.operation == &position_scale_operation || op.operation == &choose_keys_operation ||
          op.operation == &attend_chosen_operation || op.operation == &attend_entries_operation)
        op.inputs.push_back(starts_);
    }
    // Views of a cache lie as it does.
    for (Tensor& tensor : program_.tensors) {
      if (tensor.storage == no_tensor) continue;
      const Tensor& owner =
          program_[placement(program_, static_cast<TensorId>(&tensor - program_.tensors.data())).root];
      if (owner.pages != no_tensor) tensor.strides = owner.strides;
    }
    return std::move(program_);
  }

 private:
  TensorId add(const Tensor& tensor) {
    program_.tensors.push_back(tensor);
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  static TensorId state_of(const Op& op) {
    if (op.operation == &short_convolution_operation) return op.inputs[3];
    if (op.operation == &head_convolution_operation) return op.inputs[4];
    if (op.operation == &delay_operation) return op.inputs[1];
    if (op.operation == &entries_operation) return op.inputs[entries_input::state];
    if (op.operation == &scan_operation) return op.inputs[scan_input::state];
    if (op.operation == &delta_rule_operation) return op.inputs[delta_input::state];
    return no_tensor;
  }

  // A page is a state. A step reads one and writes the other, so that one that is cancelled destroys nothing.
  void lay_out_state(TensorId id) {
    if (states_ == no_tensor) states_ = add({input, Piece::pages, TensorKind::step, DType::int32, {batch_, 2}});
    Tensor& cache = program_.tensors[static_cast<std::size_t>(id)];
    const Dim elements = cache.shape[3];
    cache.shape = {cache.shape[0], 2, 1, elements};
    cache.strides = {2 * elements.size, elements.size, elements.size, 1};
    cache.pages = states_;
  }

  void lay_out(TensorId id) {
    const Shape shape = program_[id].shape;
    const std::int64_t every = program_[id].every, positions = shape[1].size;
    const bool ring = every == 1 && positions < capacity_;
    const std::int64_t page = ring ? positions : std::min(target_.page_tokens, positions);
    const auto pages = [&](std::int64_t tokens) { return (tokens + page * every - 1) / (page * every); };
    auto table = tables_.find({page, every});
    if (table == tables_.end()) {
      const Tensor added{input, Piece::pages, TensorKind::step, DType::int32, {batch_, pages(capacity_)}};
      table = tables_.emplace(std::pair(page, every), add(added)).first;
    }
    Tensor& cache = program_.tensors[static_cast<std::size_t>(id)];
    cache.shape = {shape[0], {pages(ring ? positions : capacity_) * page, shape[1].symbol}, shape[2], shape[3]};
    cache.strides = {shape[2].size * page * shape[3].size, shape[3].size, page * shape[3].size, 1};
    cache.pages = table->second;
  }

  Program program_;
  const Target& target_;
  const Dim batch_;
  const std::int64_t capacity_;
  TensorId starts_ = no_tensor;
  TensorId states_ = no_tensor;                                       // the table of the pages that hold states
  std::map<std::pair<std::int64_t, std::int64_t>, TensorId> tables_;  // by the entries of a page, and tokens of each
};

}  // namespace

Program page_caches(Program program, const Target& target) {
  const Phase phase = program.workload.phase;
  if (target.page_tokens == 0 || (phase != Phase::prefill && phase != Phase::decode)) return program;
  return Paging(std::move(program), target).run();
}

}  // namespace reckon
