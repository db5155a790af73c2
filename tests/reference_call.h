// What a reference of an operation is given, and the references that have a file of their own.
#pragma once

#include "reference_ops.h"

#include <cmath>

namespace reckon {

using Values = std::vector<double>;

struct Call {
  const Program& program;
  const Op& op;
  ReferenceValues& values;

  bool has(std::size_t input) const { return op.inputs[input] != no_tensor; }
  const Values& in(std::size_t i) const { return values[static_cast<std::size_t>(op.inputs[i])]; }
  Values& out(std::size_t i) const {
    Values& made = values[static_cast<std::size_t>(op.outputs[i])];
    made.assign(static_cast<std::size_t>(program[op.outputs[i]].shape.elements()), 0.0);
    return made;
  }
  // Extents; negative dimensions count from the last.
  std::size_t in_size(std::size_t i, int dim) const {
    return static_cast<std::size_t>(program[op.inputs[i]].shape[dim].size);
  }
  std::size_t out_size(std::size_t i, int dim) const {
    return static_cast<std::size_t>(program[op.outputs[i]].shape[dim].size);
  }
};

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

void choose_experts(const Call&);
void dispatch_rows(const Call&);
void grouped_product(const Call&);
void combine_rows(const Call&);

}  // namespace reckon
