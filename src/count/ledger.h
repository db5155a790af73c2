// From a program to its ledger.
#pragma once

#include <reckon/ledger.h>

#include "program/program.h"

namespace reckon {

Ledger read_ledger(Program program);

}  // namespace reckon
