// What the CPU backend runs: products with their epilogues fused, attention in one pass over the keys, views without
// work, rotations in place.
#pragma once

#include "program/program.h"

namespace reckon {

// Lowers an expanded program of a forward pass, prefill or decode step.
Program lower_for_cpu(const Program& program);

}  // namespace reckon
