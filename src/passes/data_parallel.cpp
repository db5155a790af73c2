#include "passes/data_parallel.h"

#include "ops/collectives.h"
#include "passes/shard.h"

#include <map>
#include <utility>
#include <vector>

namespace reckon {
namespace {

// Appends ops to the optimizer's stage; those on tensors of a body are a repeat of their own.
class Sweep {
 public:
  explicit Sweep(Program& program) : program_(program) {}

  void add(TensorId parameter, const OperationOf<CollectiveAttributes>& operation, TensorId in, TensorId out,
           const CollectiveAttributes& attributes) {
    const Tensor& tensor = program_[parameter];
    ops_[tensor.repeat].emplace_back(operation, TensorIds{in}, TensorIds{out}, attributes, tensor.scope,
                                     Stage::optimizer);
  }

  void write() {
    for (auto& [body, ops] : ops_) {
      std::int32_t repeat = -1;
      if (body >= 0) {
        repeat = static_cast<std::int32_t>(program_.repeats.size());
        Repeat own = program_.repeats[static_cast<std::size_t>(body)];
        own.carried.clear();
        program_.repeats.push_back(std::move(own));
      }
      for (Op& op : ops) {
        op.repeat = repeat;
        program_.ops.push_back(std::move(op));
      }
    }
    find_bodies(program_);
  }

 private:
  Program& program_;
  std::map<std::int32_t, std::vector<Op>> ops_;  // by the body of the parameters
};

class Sharing {
 public:
  explicit Sharing(Differentiated differentiated)
      : result_(std::move(differentiated)),
        program_(result_.program),
        layout_(program_.workload.layout),
        sums_(program_) {}

  Differentiated run() {
    const std::size_t parameters = result_.gradients.size();
    if (layout_.zero == 1 || layout_.zero == 2) {
      for (std::size_t id = 0; id < parameters; ++id) {
        if (program_.tensors[id].kind == TensorKind::parameter && result_.gradients[id] != no_tensor)
          share(static_cast<TensorId>(id));
      }
    }
    insert();
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.operation == &keep_alike_operation) sum(op.inputs[0], op.attributes<CollectiveAttributes>());
    }
    sums_.write();
    return std::move(result_);
  }

 private:
  TensorId add(const Tensor& tensor) {
    program_.tensors.push_back(tensor);
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  void share(TensorId parameter) {
    const std::int64_t ranks = alike_ranks(layout_, program_[parameter]);
    if (ranks == 1) return;
    const TensorId gradient = result_.gradients[static_cast<std::size_t>(parameter)];
    const CollectiveAttributes attributes{Group::data, ranks};
    Tensor part = program_[parameter], sum = program_[gradient];
    part.shape = sum.shape = part_of(part.shape, ranks);
    part.storage = parameter;
    if (layout_.zero == 1) sum.storage = gradient;  // where the whole lies
    sum.offset = 0;
    sum.strides = {};
    const TensorId mine = add(part), summed = add(sum);
    result_.gradients[static_cast<std::size_t>(parameter)] = no_tensor;
    result_.gradients.resize(program_.tensors.size(), no_tensor);
    result_.gradients[static_cast<std::size_t>(mine)] = summed;
    parts_.emplace(parameter, mine);
    if (layout_.zero == 1) {
      sums_.add(parameter, reduce_scatter_operation, gradient, summed, attributes);
    } else {
      after_.emplace(gradient,
                     Op(reduce_scatter_operation, {gradient}, {summed}, attributes, part.scope, Stage::backward));
    }
  }

  // ZeRO 2: behind the op that finishes the gradient.
  void insert() {
    if (after_.empty()) return;
    std::vector<Op> ops;
    ops.reserve(program_.ops.size() + after_.size());
    for (Op& op : program_.ops) {
      ops.push_back(std::move(op));
      const Op writer = ops.back();
      if (writer.stage != Stage::backward) continue;
      for (TensorId id : writer.outputs) {
        const auto found = after_.find(id);
        if (found == after_.end()) continue;
        found->second.repeat = writer.repeat;
        program_.tensors[static_cast<std::size_t>(found->second.outputs[0])].repeat = writer.repeat;
        ops.push_back(std::move(found->second));
        after_.erase(found);
      }
    }
    program_.ops = std::move(ops);
    find_bodies(program_);
  }

  void sum(TensorId parameter, const CollectiveAttributes& attributes) {
    if (const auto found = parts_.find(parameter); found != parts_.end()) parameter = found->second;
    const TensorId gradient = result_.gradients[static_cast<std::size_t>(parameter)];
    if (gradient != no_tensor) sums_.add(parameter, all_reduce_operation, gradient, gradient, attributes);
  }

  Differentiated result_;
  Program& program_;
  const Layout layout_;
  Sweep sums_;
  std::map<TensorId, TensorId> parts_;  // of parameters, those that this rank updates
  std::map<TensorId, Op> after_;        // by gradient
};

}  // namespace

Differentiated share_gradients(Differentiated differentiated) {
  if (differentiated.program.workload.layout == Layout{}) return differentiated;
  return Sharing(std::move(differentiated)).run();
}

Program gather_updates(Program program) {
  const Layout layout = program.workload.layout;
  if (layout.zero != 1 && layout.zero != 2) return program;
  Sweep updates(program);
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor& part = program.tensors[id];
    if (part.kind != TensorKind::parameter || part.storage == no_tensor) continue;
    updates.add(part.storage, all_gather_operation, static_cast<TensorId>(id), part.storage,
                {Group::data, alike_ranks(layout, part)});
  }
  updates.write();
  return program;
}

}  // namespace reckon
