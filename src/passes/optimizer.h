// The optimizer's step of every parameter, after the norm of all gradients is known: of the one that the workload asks
// for.
#pragma once

#include "passes/gradient.h"

namespace reckon {

Program optimizer_step(Differentiated differentiated);

}  // namespace reckon
