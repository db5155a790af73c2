// The AdamW step of every parameter, after the norm of all gradients is known.
#pragma once

#include "passes/gradient.h"

namespace reckon {

Program optimizer_step(Differentiated differentiated);

}  // namespace reckon
