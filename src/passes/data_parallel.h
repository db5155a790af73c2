// Ranks that train on other sequences, or on other tokens of the same, share out the optimizer's work (ZeRO,
// Rajbhandari et al. 2019, arXiv 1910.02054), and parameters that several ranks hold are kept alike.
#pragma once

#include "passes/gradient.h"

namespace reckon {

// Between the gradient and the optimizer's step. Gradients of parameters marked `keep_alike` are summed over their
// group, once a step. From ZeRO 1 on a rank updates a part of each parameter, with the gradient's sum of that part:
//   1  the gradients are summed once a step, and stay whole: micro-batches add to them
//   2  they are summed after every micro-batch, and only the part stays
// (0 sums whole gradients, see passes/all_reduce.h; with 3 the parameters are parts already, see passes/shard.h.)
Differentiated share_gradients(Differentiated differentiated);

// Behind the optimizer's step: with ZeRO 1 and 2, every rank gets the parts that the others updated.
Program gather_updates(Program program);

}  // namespace reckon
