// A region is closed by anything that reads what one of its products wrote, and by anything that is no product.
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

std::vector<std::int64_t> parallel_regions(const Program& program) {
  std::vector<std::int64_t> regions;
  TensorIds written;  // by the open region; empty: none is open
  std::int64_t region = -1;
  for (const Op& op : program.ops) {
    const bool joins = op.operation == &project_operation && !written.empty() &&
                       !follows_past(program, op.outputs[0]) &&
                       std::none_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
                         return id != no_tensor &&
                                std::find(written.begin(), written.end(), placement(program, id).root) != written.end();
                       });
    if (!joins) {
      ++region;
      written.clear();
    }
    if (op.operation == &project_operation && !follows_past(program, op.outputs[0])) {
      written.push_back(placement(program, op.outputs[0]).root);
    }
    regions.push_back(region);
  }
  return regions;
}

}  // namespace reckon
