// xIELU (Huang & Schlag, arXiv 2411.13010), with p = softplus(a_p) and n = β + softplus(a_n):
//   x > 0:  p·x² + β·x        else:  n·(e^min(x, ε) − 1 − x) + β·x
#pragma once

#include "program/builder.h"

namespace reckon {

extern const OperationOf<> xielu_operation, xielu_backward_operation;

// slopes: a_p and a_n, which are learned; shape: β and ε, which are not
TensorId xielu(Builder& builder, TensorId x, TensorId slopes, TensorId shape, Label label);

}  // namespace reckon
