// Binding and launching.
#include "backend/cpu/executable.h"

#include <reckon/error.h>

#include "backend/cpu/bfloat16.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/quantised.h"
#include "backend/inspection.h"
#include "lowering/regions.h"
#include "ops/adamw.h"
#include "ops/attend.h"
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

}  // namespace

CpuExecutable::CpuExecutable(const Compiled& compiled, const Resident& resident, std::shared_ptr<Buffer> arena,
                             Inspection* inspection, Machine& machine, RunProfile* const& profile)
    : HostExecutable(compiled, resident, std::move(arena), inspection),
      machine_(machine),
      profile_(profile),
      sums_up_(parameter_gradients(program())) {
  for (std::size_t i = 0; i < program().tensors.size(); ++i) {
    if (program().tensors[i].label.piece == Piece::starts && places_[i].buffer != nullptr)
      starts_ = reinterpret_cast<const std::int32_t*>(data(static_cast<TensorId>(i)));
  }
  std::int64_t experts = 1;
  for (std::size_t i = 0; i < program().ops.size();) {
    Step step;
    step.op = &program().ops[i];
    if (!is_product(*step.op)) {
      step.kernel = cpu_kernel(*step.op->operation);
      if (step.op->operation == &attend_operation && step.op->attributes<AttendAttributes>().dropout > 0)
        throw Error("[attend] got dropout of attention's weights, expected none: the CPU has no kernel for it");
      for (TensorId id : step.op->inputs) {
        step.inputs.push_back(bind(id));
        step.follows_length |= id != no_tensor && follows(program(), id);
      }
      for (TensorId id : step.op->outputs) {
        step.outputs.push_back(bind(id));
        step.follows_length |= id != no_tensor && follows(program(), id);
      }
      for (const View& view : step.inputs) {
        if (view.parameter != nullptr)
          experts = std::max(experts, static_cast<std::int64_t>(view.parameter->matrices.size()));
      }
      ++i;
    } else {
      const std::int64_t region = expanded_.regions[i];
      step.ops = 0;
      for (; i < program().ops.size() && expanded_.regions[i] == region; ++i, ++step.ops) {
        const Op& op = program().ops[i];
        std::vector<View> inputs;
        for (TensorId id : op.inputs) inputs.push_back(bind(id));
        if (op.operation == &weight_gradient_operation) {
          add_weight_gradient(step, op, inputs[0], inputs[1], bind(op.outputs[0]));
          continue;
        }
        add_products(step, op, inputs, bind(op.outputs[0]));
        step.follows_length |= follows(program(), op.outputs[0]);
      }
      for (const Product& product : step.products) step.rows.push_back(product.rows);
    }
    steps_.push_back(std::move(step));
  }
  // A mixture has a product per expert; a product per head is the other use.
  for (const Op& op : program().ops) {
    for (TensorId id : op.inputs) {
      if (id != no_tensor && program()[id].shape.rank() == 4) {
        experts = std::max(experts, program()[id].shape[0].size * program()[id].shape[2].size);
      }
    }
  }
  products_.reserve(static_cast<std::size_t>(experts));
  bind_updates();
}

View CpuExecutable::bind(TensorId id) {
  if (id == no_tensor) return {};
  if (program()[id].kind != TensorKind::parameter) return view(id);
  View view = shape_of(program()[id]);
  view.parameter = &bind_parameter(id);
  return view;
}

const BoundParameter& CpuExecutable::bind_parameter(TensorId id) {
  const auto [found, fresh] = parameters_.try_emplace(id);
  BoundParameter& bound = found->second;
  if (!fresh) return bound;
  if (const ParameterData* stored = place(id).stored) {
    bound.matrices = stored->matrices;
    bound.values = stored->values;
    return bound;
  }
  const Tensor& tensor = program()[id];
  const std::int64_t n = tensor.shape.elements();
  if (tensor.dtype == DType::float32) bound.master = reinterpret_cast<float*>(data(id));
  if (is_vector(key_of(tensor), static_cast<std::size_t>(tensor.shape.rank()))) {
    bound.values = {bound.master, static_cast<std::size_t>(n)};
  } else {
    const std::int64_t rows = tensor.shape[-2].size, cols = tensor.shape[-1].size;
    bound.matrices = matrices_of(data(id), tensor.dtype, n / (rows * cols), rows, cols);
  }
  return bound;
}

// Updates change the wide values, of a narrow parameter its masters, and say what they saw.
void CpuExecutable::bind_updates() {
  for (const Op& op : program().ops) {
    if (op.operation != &adamw_operation) continue;
    BoundParameter& bound = parameters_.at(op.inputs[adamw_input::parameter]);
    bound.squares = &squares_[key_of(program()[op.inputs[adamw_input::parameter]])];
    if (op.inputs.size() > adamw_input::master)
      bound.master = reinterpret_cast<float*>(data(op.inputs[adamw_input::master]));
  }
}

View CpuExecutable::view(TensorId id) const {
  const Tensor& tensor = program()[id];
  View view = shape_of(tensor);
  const TensorId root = placement(program(), id).root;
  const Tensor& owner = program()[root];
  view.data = data(id);
  view.sums_up = sums_up_[static_cast<std::size_t>(root)];
  if (view.rank > 1) view.capacity = view.size[1];
  if (owner.pages != no_tensor) {
    view.pages = reinterpret_cast<const std::int32_t*>(data(owner.pages));
    view.most_pages = program()[owner.pages].shape[1].size;
    view.page_tokens = owner.strides[2] / owner.strides[1];
    const Encoding& encoding = encoding_of(owner.dtype);
    view.page_stride = places_[static_cast<std::size_t>(root)].page_bytes / encoding.bytes * encoding.elements;
    if (owner.dtype != DType::float32) view.blocks = &encoding;
  }
  return view;
}

void CpuExecutable::add_products(Step& step, const Op& op, const std::vector<View>& inputs, const View& output) const {
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
  if (program()[op.inputs[project_input::x]].dtype == DType::activation8) {
    product.x = nullptr;
    product.x8 = x.data;
  }
  if (even < 0 || (follows(program(), op.outputs[0]) && x.size[0] != 1))
    throw Error("[project] got keys of several sequences, expected those of one");
  if (x.pages != nullptr) {
    product.x_stride = x.stride[1];
    product.pages = x.pages;
    product.page_rows = x.page_tokens;
    product.page_stride = x.page_stride;
  }
  step.products.push_back(product);
}

void CpuExecutable::add_weight_gradient(Step& step, const Op& op, const View& dy, const View& x,
                                        const View& output) const {
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

std::int64_t CpuExecutable::longest_past() const {
  return starts_ == nullptr ? 0 : *std::max_element(starts_, starts_ + program().workload.batch);
}

void CpuExecutable::follow_length(Step& step, std::int64_t keys) const {
  for (std::size_t i = 0; i < step.products.size(); ++i) step.products[i].rows = std::min(step.rows[i], keys);
  const auto follow = [&](const TensorIds& ids, std::vector<View>& views) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == no_tensor) continue;
      const Shape& shape = program()[ids[i]].shape;
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

void CpuExecutable::run(const TrainingStep* training, Stages stages) {
  const std::int64_t past = longest_past();
  if (inspection_ != nullptr) inspection_->begin_run();
  for (Step& step : steps_) {
    if (stages.size() > 0 && std::find(stages.begin(), stages.end(), step.op->stage) == stages.end()) continue;
    for (std::size_t i : step.sums_up) {
      Product& product = step.products[i];
      product.epilogue.residual = training->add ? product.y : nullptr;
      product.epilogue.residual_stride = product.y_stride;
    }
    if (step.follows_length) follow_length(step, past + program().workload.tokens);
    const RunProfile::Time begin = profile_ != nullptr ? RunProfile::now() : RunProfile::Time{};
    const auto first = static_cast<std::size_t>(step.op - program().ops.data());
    const std::size_t last = first + static_cast<std::size_t>(step.ops);
    if (inspection_ != nullptr) inspection_->before(*this, first, last, machine_.counters.total());
    if (step.kernel != nullptr) {
      const CountedTask here(machine_.counters, 0);
      step.kernel({*step.op, step.inputs, step.outputs, machine_, products_, training});
    } else {
      run_products(machine_, step.products);
    }
    if (inspection_ != nullptr)
      inspection_->after(*this, first, last, past, machine_.counters.total(), cpu_target.tiles);
    if (profile_ != nullptr) profile_->add(program(), *step.op, step.ops, past, begin);
  }
}

bool CpuExecutable::rounds(const Op& op) const {
  if (op.operation != &project_operation) return false;
  return rounds_to_bfloat16(program()[op.inputs[project_input::weight]].dtype, view(op.outputs[0]).rows());
}

std::vector<double> CpuExecutable::values(TensorId id) const {
  const View from = view(id);
  const Encoding& encoding = encoding_of(program()[id].dtype);
  std::vector<double> values(static_cast<std::size_t>(from.rank == 0 ? 1 : from.rows() * from.width()));
  if (program()[id].dtype == DType::activation8) {
    const std::int64_t width = from.width();
    for (std::int64_t row = 0; row < from.rows(); ++row)
      values_of_quantised_row(from.data + row * row_bytes(encoding, width), width, values.data() + row * width);
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at[Shape::capacity] = {};
    for (int d = from.rank - 1; d >= 0; --d) {
      at[d] = rest % from.size[d];
      rest /= from.size[d];
    }
    const bool paged = from.pages != nullptr;
    std::int64_t offset = paged ? from.place(at[0], at[1]) : 0;
    for (int d = paged ? 2 : 0; d < from.rank; ++d) offset += at[d] * from.stride[d];
    values[i] = program()[id].dtype == DType::int32 ? static_cast<double>(from.integers()[offset])
                                                    : static_cast<double>(decode_element(encoding, from.data, offset));
  }
  return values;
}

}  // namespace reckon
