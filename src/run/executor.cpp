// Binding and launching.
#include "run/executor.h"

#include <reckon/error.h>

#include "backend/cpu/kernels.h"
#include "lowering/regions.h"
#include "ops/project.h"
#include "ops/runtime.h"

#include <algorithm>

namespace reckon {
namespace {

bool follows(const Program& program, TensorId id) {
  const Shape& shape = program[id].shape;
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return dim.symbol == Symbol::keys; });
}

// The distance of the rows of a view, counting dimensions from `from` on; -1 where they are not even.
std::int64_t row_stride(const View& view, int from) {
  std::int64_t distance = 0, span = 0;
  for (int i = view.rank - 2; i >= from; --i) {
    if (view.size[i] == 1) continue;
    if (distance == 0) distance = view.stride[i];
    if (span != 0 && view.stride[i] != span) return -1;
    span = view.stride[i] * view.size[i];
  }
  return distance == 0 ? view.width() : distance;
}

View shape_of(const Tensor& tensor) {
  View view;
  const Strides strides = strides_of(tensor);
  view.rank = tensor.shape.rank();
  for (int i = 0; i < view.rank; ++i) {
    view.size[i] = tensor.shape[i].size;
    view.stride[i] = strides[static_cast<std::size_t>(i)];
  }
  return view;
}

Plan inspected(const Program& program, std::vector<std::int64_t>& offsets, Plan plan, const Inspection* inspection) {
  const Sabotage* sabotage = inspection != nullptr ? inspection->sabotage() : nullptr;
  if (sabotage != nullptr && sabotage->plan) sabotage->plan(program, offsets, plan);
  return plan;
}

}  // namespace

Executor::Executor(Expanded expanded, Plan plan, const Weights& weights, const Resident& resident,
                   std::shared_ptr<Arena> arena, Inspection* inspection)
    : program_(std::move(expanded.program)),
      inspection_(inspection),
      offsets_(std::move(expanded.offsets)),
      plan_(inspected(program_, offsets_, std::move(plan), inspection)),
      arena_(std::move(arena)),
      addresses_(program_.tensors.size()),
      sums_up_(parameter_gradients(program_)) {
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    if (program_.tensors[i].label.piece == Piece::starts) starts_ = static_cast<TensorId>(i);
  }
  std::int64_t experts = 1;
  for (std::size_t i = 0; i < program_.ops.size();) {
    Step step;
    step.op = &program_.ops[i];
    if (!is_product(*step.op)) {
      step.kernel = cpu_kernel(*step.op->operation);
      for (TensorId id : step.op->inputs) {
        step.inputs.push_back(bind(id, weights, resident));
        step.follows_length |= id != no_tensor && follows(program_, id);
      }
      for (TensorId id : step.op->outputs) {
        step.outputs.push_back(bind(id, weights, resident));
        step.follows_length |= id != no_tensor && follows(program_, id);
      }
      for (const View& view : step.inputs) {
        if (view.parameter != nullptr)
          experts = std::max(experts, static_cast<std::int64_t>(view.parameter->matrices.size()));
      }
      ++i;
    } else {
      const std::int64_t region = expanded.regions[i];
      step.ops = 0;
      for (; i < program_.ops.size() && expanded.regions[i] == region; ++i, ++step.ops) {
        const Op& op = program_.ops[i];
        std::vector<View> inputs;
        for (TensorId id : op.inputs) inputs.push_back(bind(id, weights, resident));
        if (op.operation == &weight_gradient_operation) {
          add_weight_gradient(step, op, inputs[0], inputs[1], bind(op.outputs[0], weights, resident));
          continue;
        }
        add_products(step, op, inputs, bind(op.outputs[0], weights, resident));
        step.follows_length |= follows(program_, op.outputs[0]);
      }
      for (const Product& product : step.products) step.rows.push_back(product.rows);
    }
    steps_.push_back(std::move(step));
  }
  // A mixture has a product per expert; a product per head is the other use.
  for (const Op& op : program_.ops) {
    for (TensorId id : op.inputs) {
      if (id != no_tensor && program_[id].shape.rank() == 4) {
        experts = std::max(experts, program_[id].shape[0].size * program_[id].shape[2].size);
      }
    }
  }
  products_.reserve(static_cast<std::size_t>(experts));
}

View Executor::bind(TensorId id, const Weights& weights, const Resident& resident) {
  if (id == no_tensor) return {};
  const Tensor& tensor = program_[id];
  if (tensor.kind == TensorKind::parameter) {
    View view = shape_of(tensor);
    view.parameter = &weights[key_of(tensor)];
    return view;
  }
  const TensorId root = placement(program_, id).root;
  place(root, resident);
  if (program_[root].pages != no_tensor) place(program_[root].pages, resident);
  return view(id);
}

View Executor::view(TensorId id) const {
  const Tensor& tensor = program_[id];
  View view = shape_of(tensor);
  const TensorId root = placement(program_, id).root;
  const Tensor& owner = program_[root];
  view.data = data(id);
  view.sums_up = sums_up_[static_cast<std::size_t>(root)];
  if (view.rank > 1) view.capacity = view.size[1];
  if (owner.pages != no_tensor) {
    view.pages = reinterpret_cast<const std::int32_t*>(data(owner.pages));
    view.most_pages = program_[owner.pages].shape[1].size;
    view.page_tokens = owner.strides[2] / owner.strides[1];
    view.page_stride = addresses_[static_cast<std::size_t>(root)].page_bytes / row_bytes(owner.dtype, 1);
  }
  return view;
}

// Gives a tensor its memory, once.
void Executor::place(TensorId root, const Resident& resident) {
  Address& address = addresses_[static_cast<std::size_t>(root)];
  if (address.data != nullptr) return;
  const std::int64_t at = offsets_[static_cast<std::size_t>(root)];
  if (at >= 0) {
    address.data = arena_->take(at, padded(static_cast<std::int64_t>(bytes(program_[root]))));
  } else {
    address = resident(program_, root);
  }
}

void Executor::add_products(Step& step, const Op& op, const std::vector<View>& inputs, const View& output) const {
  const View& x = inputs[project_input::x];
  const Epilogue epilogue = epilogue_of(op, inputs);
  const std::int64_t even = row_stride(x, 0);
  const Weight& stored = inputs[project_input::weight].parameter->matrices.at(0);
  Product product{x.floats(),
                  x.rows(),
                  even,
                  op.attributes<ProjectAttributes>().transposed ? transposed(stored) : stored,
                  output.floats(),
                  output.width(),
                  epilogue};
  if (even < 0 || (follows(program_, op.outputs[0]) && x.size[0] != 1))
    throw Error("[project] got keys of several sequences, expected those of one");
  if (x.pages != nullptr) {
    product.x_stride = x.stride[1];
    product.pages = x.pages;
    product.page_rows = x.page_tokens;
    product.page_stride = x.page_stride;
  }
  step.products.push_back(product);
}

void Executor::add_weight_gradient(Step& step, const Op& op, const View& dy, const View& x, const View& output) const {
  const std::int64_t dy_stride = row_stride(dy, 0), x_stride = row_stride(x, 0);
  if (dy_stride < 0 || x_stride < 0) throw Error("[weight_gradient] got rows at uneven distances");
  Product product{dy.floats(),     dy.width(),
                  dy_stride,       Weight{x.data, DType::float32, x.width(), x.rows(), 1, x_stride, 0, 0},
                  output.floats(), output.width(),
                  Epilogue{},      true};
  if (op.inputs[2] != no_tensor) {
    product.epilogue.residual = output.floats();  // lowering put both at one place
    product.epilogue.residual_stride = output.width();
  } else if (output.sums_up) {
    step.sums_up.push_back(step.products.size());
  }
  step.products.push_back(product);
}

std::int64_t Executor::longest_past() const {
  if (starts_ == no_tensor) return 0;
  const auto* starts = reinterpret_cast<const std::int32_t*>(addresses_[static_cast<std::size_t>(starts_)].data);
  return starts == nullptr ? 0 : *std::max_element(starts, starts + program_.workload.batch);
}

void Executor::follow_length(Step& step, std::int64_t keys) const {
  for (std::size_t i = 0; i < step.products.size(); ++i) step.products[i].rows = std::min(step.rows[i], keys);
  const auto follow = [&](const TensorIds& ids, std::vector<View>& views) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == no_tensor) continue;
      const Shape& shape = program_[ids[i]].shape;
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape[d].symbol == Symbol::keys) views[i].size[d] = std::min(shape[d].size, keys);
      }
    }
  };
  if (step.kernel != nullptr) {
    follow(step.op->inputs, step.inputs);
    follow(step.op->outputs, step.outputs);
  }
}

void Executor::run(Machine& machine, Profile* profile, const TrainingStep* training, Stages stages) {
  const std::int64_t past = longest_past();
  if (inspection_ != nullptr) inspection_->begin_run();
  for (Step& step : steps_) {
    if (stages.size() > 0 && std::find(stages.begin(), stages.end(), step.op->stage) == stages.end()) continue;
    for (std::size_t i : step.sums_up) {
      Product& product = step.products[i];
      product.epilogue.residual = training->add ? product.y : nullptr;
      product.epilogue.residual_stride = product.y_stride;
    }
    if (step.follows_length) follow_length(step, past + program_.workload.tokens);
    const Profile::Time begin = profile != nullptr ? Profile::now() : Profile::Time{};
    const auto first = static_cast<std::size_t>(step.op - program_.ops.data());
    const std::size_t last = first + static_cast<std::size_t>(step.ops);
    if (inspection_ != nullptr) inspection_->before(*this, first, last, machine.counters.total());
    if (step.kernel != nullptr) {
      const CountedTask here(machine.counters, 0);
      step.kernel({*step.op, step.inputs, step.outputs, machine, products_, training});
    } else {
      run_products(machine, step.products);
    }
    if (inspection_ != nullptr) inspection_->after(*this, first, last, past, machine.counters.total());
    if (profile != nullptr) profile->add(program_, *step.op, step.ops, past, begin);
  }
}

std::byte* Executor::data(TensorId id) const {
  const auto [root, offset] = placement(program_, id);
  return addresses_[static_cast<std::size_t>(root)].data + row_bytes(program_[id].dtype, offset);
}

}  // namespace reckon
