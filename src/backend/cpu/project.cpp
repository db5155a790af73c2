// The epilogue of a lowered product, from its op's attributes and operands; the products of experts.
#include "ops/project.h"

#include "backend/cpu/kernels.h"

#include <algorithm>

namespace reckon {

Epilogue epilogue_of(const Op& op, std::span<const View> inputs) {
  const View &bias = inputs[project_input::bias], &gate = inputs[project_input::gate];
  const View& residual = inputs[project_input::residual];
  const auto& a = op.attributes<ProjectAttributes>();
  Epilogue epilogue;
  if (bias.there()) epilogue.bias = bias.parameter->values.data();
  if (gate.there()) {
    epilogue.gate = gate.floats();
    epilogue.gate_stride = gate.width();
  }
  if (a.activate) {
    epilogue.activate = true;
    epilogue.activation = a.activate->activation;
    epilogue.clamp = a.activate->clamp;
  }
  if (residual.there()) {
    epilogue.residual = residual.floats();
    epilogue.residual_stride = residual.width();
  }
  epilogue.scale = static_cast<float>(a.scale);
  return epilogue;
}

void run_grouped_project(const Launch& launch) {
  const View &x = launch.inputs[project_input::x], &y = launch.outputs[0];
  const View &bias = launch.inputs[project_input::bias], &gate = launch.inputs[project_input::gate];
  const std::vector<Weight>& weights = launch.inputs[project_input::weight].parameter->matrices;
  const std::int32_t* first = launch.inputs[project_input::offsets].integers();
  launch.products.clear();
  count_read(static_cast<std::int64_t>((weights.size() + 1) * sizeof *first));
  const bool back = launch.op.attributes<ProjectAttributes>().transposed;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const std::int64_t begin = first[e], count = first[e + 1] - begin;
    if (count == 0) continue;
    Epilogue epilogue = epilogue_of(launch.op, launch.inputs);
    if (bias.there()) epilogue.bias = bias.parameter->values.data() + static_cast<std::int64_t>(e) * y.width();
    if (gate.there()) epilogue.gate = gate.row(begin);
    launch.products.push_back(
        {nullptr, count, x.width(), back ? transposed(weights[e]) : weights[e], y.row(begin), y.width(), epilogue});
    Product& product = launch.products.back();
    if (is_quantised(product.weight.dtype))
      product.x8 = x.data + row_bytes(DType::activation8, begin * x.width());
    else
      product.x = x.row(begin);
  }
  run_products(launch.machine, launch.products);
  // Rows behind those of the experts chose an expert without products.
  const std::int64_t end = first[weights.size()], rest = y.rows() - end;
  if (rest == 0) return;
  std::fill_n(y.row(end), rest * y.width(), 0.0f);
  count_written_floats(rest * y.width());
}

}  // namespace reckon
