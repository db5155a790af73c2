// Which lowered ops a device with a compiler runs as one kernel, as PyTorch does on GPUs:
// - Query, key and value are one matrix, and so are gate and up: their products and gradients are one each. Backward,
//   the gradients of the parts are first copied beside each other, where no kernel writes them so.
// - Element-wise ops and norms that follow each other are one, which reads each tensor once and has what it wrote.
// - A sum over rows is a pass of its own, in two kernels (parts, and their sums): a norm's gradient reads its operands
//   again for that of its weight. Attention's gradient is three: Σ do·o of each row, the products, and dq made narrow.
#pragma once

#include <cstddef>
#include <vector>

#include "program/program.h"

namespace reckon {

// The first op of the kernel that each op is part of: itself where it begins one. `costs` are those of the ops.
std::vector<std::size_t> kernels_of(const Program& program, const std::vector<Cost>& costs);

// Launches of an op whose cost rule says one, alone in its kernel.
double launches_of(const Op& op);

// What the kernels of a program move beside what its ops' cost rules say, in bytes of one instance of an op; less where
// it is negative.
struct KernelBytes {
  double read = 0, written = 0;
  double copied = 0;  // read and written once by a copy before it
};
std::vector<KernelBytes> bytes_of_kernels(const Program& program, const std::vector<std::size_t>& kernels);

}  // namespace reckon
