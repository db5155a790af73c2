// The operations of a forward program in float64, as plain loops over their formulas: what kernels and gradients are
// held against. Shares no code with the kernels.
#pragma once

#include "program/program.h"

#include <vector>

namespace reckon {

// The elements of each tensor by its id, row-major; whole numbers are held as doubles too.
using ReferenceValues = std::vector<std::vector<double>>;

// Computes every op of a program that has no repeats and not been differentiated. `values` holds parameters, inputs
// and constants, and receives the rest.
void evaluate(const Program& program, ReferenceValues& values);

}  // namespace reckon
