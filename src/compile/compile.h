// The one way in src/ from a model to a program that is counted, planned, verified, run or trained. Tests of a pass
// call it alone.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "lowering/target.h"
#include "memory/plan.h"
#include "program/program.h"

namespace reckon {

// What the mathematics asks for: forward, and for training also backward, what it computes again, and the optimizer's
// step.
Program logical_program(const Model& model, const Workload& workload);

// What a target runs, and where its tensors lie.
struct Compiled {
  Program lowered;
  Plan plan;
};

Compiled compile(const Model& model, const Workload& workload, const Target& target, Places places = Places::all);
// The same from a logical program on, for one that no model writes.
Compiled compile(const Program& logical, const Target& target, Places places = Places::all);

}  // namespace reckon
