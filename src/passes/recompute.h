// Computing forward values again in the backward pass instead of keeping them (Chen et al., arXiv 1604.06174).
#pragma once

#include <reckon/workload.h>

#include "passes/gradient.h"

namespace reckon {

// Clones the forward ops of each layer that its backward pass needs, in front of that pass, and lets it read the
// clones:
//   attention  all of it but its projections: norms, rotations, scores, softmax, mixing
//   block      everything between what enters a block and what leaves it
// Gradients are the same to the last bit.
Differentiated recompute(Differentiated differentiated, Recompute what);

}  // namespace reckon
