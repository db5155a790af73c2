// The operations as they are written, one after the other, in plain loops over their formulas: what every other backend
// is held against, and what a reader learns an operation from. Nothing is fused, nothing lies in another's memory, and
// no code is shared with the kernels of other backends.
#pragma once

#include "backend/step.h"
#include "program/program.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <vector>

namespace reckon {

// The elements of each tensor by its id, row-major; whole numbers are held as doubles too. A cache may have room for
// more tokens than its tensor: position p of a text is at p modulo that room.
using ReferenceValues = std::vector<std::span<double>>;

struct ReferenceOptions {
  bool float32 = false;  // every result is rounded to float32; loops still add up in float64
  TrainingStep step = {};
  std::initializer_list<Stage> stages = {};           // none: all
  std::function<void(std::size_t op)> before, after;  // called around each op
  std::map<TensorKey, Squares>* squares = nullptr;    // what updates saw
  Measured* measured = nullptr;                       // what the loops did is added to it
};

// Runs an expanded program for a target without views. `values` holds parameters, inputs, constants and what caches
// held before, and receives the rest.
void evaluate(const Program& program, const ReferenceValues& values, const ReferenceOptions& options = {});

}  // namespace reckon
