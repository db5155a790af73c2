// Keeping activations in a narrower type than kernels compute in.
#pragma once

#include "program/program.h"

namespace reckon {

// Takes a lowered training program whose activations are float32 and returns one that keeps, from the forward to the
// backward pass, those that both touch in `dtype`: a `narrow` behind the last forward op that writes one, a `widen`
// before the first backward op that reads it. What only one pass touches, and what the loss is made of, stays float32.
Program keep_narrow(Program program, DType dtype);

}  // namespace reckon
