// What a target runs: products with their epilogues fused, attention in one pass over the keys, views without work,
// rotations in place, as far as it has them.
#pragma once

#include "lowering/target.h"
#include "program/program.h"

namespace reckon {

// Works on repeats: what is fused or written in place is so in every iteration.
Program lower(const Program& program, const Target& target);

}  // namespace reckon
