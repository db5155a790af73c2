// The epilogue of a lowered product, from its op's attributes and operands.
#include "ops/project.h"

#include "backend/cpu/kernels.h"

namespace reckon {

Epilogue epilogue_of(const Op& op, std::span<const View> inputs) {
  const View &bias = inputs[project_input::bias], &gate = inputs[project_input::gate];
  const View& residual = inputs[project_input::residual];
  const Attributes& a = op.attributes;
  Epilogue epilogue;
  if (bias.there()) epilogue.bias = bias.parameter->values.data();
  if (gate.there()) {
    epilogue.gate = gate.floats();
    epilogue.gate_stride = gate.width();
  }
  epilogue.activate = a.flag("activate");
  epilogue.activation = static_cast<Activation>(a.whole("activation"));
  epilogue.clamp = a.get("clamp");
  if (residual.there()) {
    epilogue.residual = residual.floats();
    epilogue.residual_stride = residual.width();
  }
  epilogue.scale = static_cast<float>(a.get("scale", 1.0));
  return epilogue;
}

}  // namespace reckon
