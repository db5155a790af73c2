// From a model to its program, and from a program to its ledger.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include "program/program.h"

namespace reckon {

// The whole program of a workload: forward, and for training also backward and the optimizer's step.
Program program_of(const Model& model, const Workload& workload);

Ledger read_ledger(Program program);

}  // namespace reckon
