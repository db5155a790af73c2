// The backward pass: each op's own rule, from the last to the first.
#pragma once

#include "program/program.h"

#include <vector>

namespace reckon {

struct Differentiated {
  Program program;                  // the forward program with its backward ops behind it
  std::vector<TensorId> gradients;  // of each tensor of the forward program, or no_tensor
};

// Differentiates the program's output (the loss) with respect to every parameter that is trained.
Differentiated gradient(Program program);

}  // namespace reckon
