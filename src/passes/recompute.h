// Computing forward values again in the backward pass instead of keeping them (Chen et al., arXiv 1604.06174).
#pragma once

#include <reckon/workload.h>

#include "passes/gradient.h"

namespace reckon {

// Clones the forward ops of each layer that its backward pass needs, in front of that pass, and lets it read the
// clones:
//   selective  scores, softmax and dropout of attention: what lies between queries, keys and values, which are kept,
//              and what is mixed of them, which is kept too (Korthikanti et al., arXiv 2205.05198, section 5).
//              Mixing runs again with them, as in Megatron, which repeats that piece as a whole
//   block      everything between what enters a block and what leaves it
// Gradients are the same to the last bit.
Differentiated recompute(Differentiated differentiated, Recompute what);

}  // namespace reckon
