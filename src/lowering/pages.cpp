#include "lowering/lower.h"

#include "lowering/regions.h"
#include "ops/append.h"
#include "ops/attention.h"
#include "ops/position_scale.h"
#include "ops/rope.h"

#include <algorithm>
#include <map>

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
      if (op.scope.role.block != Block::attention) continue;  // an encoder's keys are not cached as they come
      if (op.operation == &append_operation) lay_out(op.inputs[1]);
      if (op.operation == &append_operation || op.operation == &rope_operation || op.operation == &scores_operation ||
          op.operation == &position_scale_operation)
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

  void lay_out(TensorId id) {
    const Shape shape = program_[id].shape;
    const std::int64_t positions = shape[1].size;
    const std::int64_t page = positions < capacity_ ? positions : std::min(target_.page_tokens, positions);
    const auto pages = [&](std::int64_t tokens) { return (tokens + page - 1) / page; };
    auto table = tables_.find(page);
    if (table == tables_.end()) {
      const Tensor added{input, Piece::pages, TensorKind::step, DType::int32, {batch_, pages(capacity_)}};
      table = tables_.emplace(page, add(added)).first;
    }
    Tensor& cache = program_.tensors[static_cast<std::size_t>(id)];
    cache.shape = {shape[0], {pages(positions) * page, shape[1].symbol}, shape[2], shape[3]};
    cache.strides = {shape[2].size * page * shape[3].size, shape[3].size, page * shape[3].size, 1};
    cache.pages = table->second;
  }

  Program program_;
  const Target& target_;
  const Dim batch_;
  const std::int64_t capacity_;
  TensorId starts_ = no_tensor;
  std::map<std::int64_t, TensorId> tables_;  // by the tokens of a page
};

}  // namespace

Program page_caches(Program program, const Target& target) {
  const Phase phase = program.workload.phase;
  if (target.page_tokens == 0 || (phase != Phase::prefill && phase != Phase::decode)) return program;
  return Paging(std::move(program), target).run();
}

}  // namespace reckon
