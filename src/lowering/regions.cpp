// A region is closed by anything that reads what one of its products wrote or writes what one of them reads, and by
// anything that is no product; no region reaches into or out of an iteration of a body.
#include "lowering/regions.h"

#include "ops/project.h"

#include <algorithm>

namespace reckon {
namespace {

// Products over the keys of the cache have as many rows as the run's past says: they stand alone.
bool follows_past(const Program& program, TensorId id) {
  const Shape& shape = program[id].shape;
  return std::any_of(shape.begin(), shape.end(), [](Dim dim) { return dim.symbol == Symbol::keys; });
}

}  // namespace

Placement placement(const Program& program, TensorId id) {
  Placement p{id, 0};
  while (program[p.root].storage != no_tensor) {
    p.offset += program[p.root].offset;
    p.root = program[p.root].storage;
  }
  return p;
}

bool is_product(const Op& op) {
  return op.operation == &project_operation || op.operation == &weight_gradient_operation;
}

std::vector<std::int64_t> parallel_regions(const Program& program) {
  std::vector<std::int64_t> regions;
  TensorIds read, written;  // by the open region, all of whose ops are products; empty: none is open
  std::int64_t region = -1;
  std::int32_t repeat = -1;
  const auto among = [&](const TensorIds& touched, TensorId id) {
    return id != no_tensor && std::find(touched.begin(), touched.end(), placement(program, id).root) != touched.end();
  };
  for (const Op& op : program.ops) {
    const bool product = is_product(op) && !follows_past(program, op.outputs[0]);
    const bool joins =
        product && !written.empty() && op.repeat == repeat && !among(written, op.outputs[0]) &&
        !among(read, op.outputs[0]) &&
        std::none_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) { return among(written, id); });
    if (!joins) {
      ++region;
      read.clear();
      written.clear();
    }
    if (product) {
      written.push_back(placement(program, op.outputs[0]).root);
      for (TensorId id : op.inputs) {
        if (id != no_tensor) read.push_back(placement(program, id).root);
      }
    }
    regions.push_back(region);
    repeat = op.repeat;
  }
  return regions;
}

}  // namespace reckon
