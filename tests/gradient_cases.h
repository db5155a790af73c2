// Tiny programs, one or more for each operation that can be differentiated, whose gradients are held against finite
// differences.
#pragma once

#include "program/builder.h"

#include <string>
#include <vector>

namespace reckon {

struct GradientCase {
  std::string name;
  TensorId (*build)(Builder&);  // returns what a loss is made of, or the loss
  bool on_cpu = true;           // whether the cpu has kernels for it; else it refuses
};

const std::vector<GradientCase>& gradient_cases();

// The case's program with a loss that depends on all that it computes.
Program build(const GradientCase& row);

// Element i of an input (ids, labels) or a constant, by its name.
double given_element(const Tensor& tensor, std::int64_t i);

}  // namespace reckon
