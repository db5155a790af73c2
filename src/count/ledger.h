// From a program to its ledger.
#pragma once

#include <reckon/ledger.h>

#include "program/program.h"

namespace reckon {

Ledger read_ledger(Program program);

// What lasts from one step of a training program to the next: each parameter that is trained is updated by one op,
// which holds its gradient, its moments and its master too; the others are weights alone.
TrainingState training_state(const Program& program);

}  // namespace reckon
