// The epilogue of a lowered product, from its op's attributes and operands.
#include "ops/project.h"

#include "backend/cpu/kernels.h"

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

}  // namespace reckon
