#include "ops/rules.h"

#include <reckon/error.h>

#include "ops/elementwise.h"

namespace reckon {

void check(bool good, const char* operation, const std::string& found, const std::string& expected) {
  if (!good) throw Error(std::string("[") + operation + "] got " + found + ", expected " + expected);
}

Cost streaming_cost(const Program& program, const Op& op, Formula elementwise, Formula matmul) {
  Cost cost;
  cost.matmul = std::move(matmul);
  cost.elementwise = std::move(elementwise);
  for (TensorId id : op.inputs) {
    if (id == no_tensor || program[id].kind == TensorKind::step) continue;
    const Count size = bytes(program[id]);
    cost.read += size;
    if (program[id].kind == TensorKind::parameter) cost.weights += size;
  }
  for (TensorId id : op.outputs) {
    if (id != no_tensor) cost.written += bytes(program[id]);
  }
  return cost;
}

Cost copy_cost(const Program& program, const Op& op) { return streaming_cost(program, op); }

Cost sum_cost(const Program& program, const Op& op) {
  Formula additions = program[op.inputs[0]].shape.product();
  additions += program[op.outputs[0]].shape.product(-1);
  return streaming_cost(program, op, std::move(additions));
}

Cost view_cost(const Program&, const Op&) {
  Cost cost;
  cost.launches = 0;
  return cost;
}

void check_state(const Builder& builder, TensorId cache, const char* operation, std::int64_t batch,
                 std::int64_t elements) {
  if (cache == no_tensor) return;
  const Shape shape = builder.shape(cache);
  check(shape.rank() == 4 && shape[0].size == batch && shape[1].size * shape[2].size == 1 && shape[3].size == elements,
        operation, "a state of " + to_string(shape),
        std::to_string(elements) + " elements for each of " + std::to_string(batch) + " sequences");
}

// A paged cache has the state before and after a step, of which one is read and the other written.
void add_state(const Program& program, const Op& op, std::size_t input, Cost& cost) {
  if (input >= op.inputs.size() || op.inputs[input] == no_tensor) return;
  const Tensor& cache = program[op.inputs[input]];
  const Count all = bytes(cache), state = all / cache.shape[1].size;
  cost.read -= all - state;
  cost.written += state;
}

Formula elements_and_rows(const Shape& x, std::int64_t per_element, std::int64_t per_row) {
  Formula formula = x.product(per_element);
  formula += x.leading().product(per_row);
  return formula;
}

Gradient::Gradient(Builder& builder, std::vector<bool> wanted)
    : builder_(builder), wanted_(std::move(wanted)), gradients_(wanted_.size(), no_tensor) {}

void Gradient::add(TensorId id, TensorId contribution) {
  if (!wanted(id)) return;
  TensorId& gradient = gradients_[static_cast<std::size_t>(id)];
  if (gradient == no_tensor) {
    gradient = contribution;
    return;
  }
  const TensorId sum = make(id);
  builder_.emit(add_operation, {gradient, contribution}, {sum});
  gradient = sum;
}

TensorId Gradient::make(TensorId id) {
  // Gradients of parameters are summed over micro-steps, and have a type of their own; any other is as what it is of.
  const Tensor& of = builder_[id];
  const bool parameter = of.kind == TensorKind::parameter;
  const DType dtype = parameter ? builder_.program().workload.precision.gradients : of.dtype;
  return builder_.like(id, TensorKind::gradient, of.label, dtype);
}

}  // namespace reckon
