// What a tensor of a folded program means inside the iterations of a body.
#pragma once

#include "program/program.h"

namespace reckon {

// Inside iteration k of a body, a tensor of that body (or of one that shares its iterations) stands for its own
// instance of iteration k, or, when it is carried, for the one that another iteration left. Any other tensor stands for
// what it is from outside: the instance of the iteration that ran last.
struct Meaning {
  TensorId id;
  bool each = false;           // there is one of it for each iteration …
  std::int32_t shift = 0;      // … and it is that of iteration k + shift,
  TensorId first = no_tensor;  // or, where there is no such iteration, this one, from outside
};

// The tensor that `id` names in the body of `repeat`; -1: outside of all.
Meaning meaning(const Program& program, TensorId id, std::int32_t repeat);

// The tensor whose memory that one is part of. A carried tensor that every iteration writes in place is the one that
// entered the first.
Meaning memory_of(const Program& program, TensorId id, std::int32_t repeat);

// The iteration of `repeat` that ran last: what its tensors mean from outside.
std::int64_t last_run(const Repeat& repeat);

}  // namespace reckon
