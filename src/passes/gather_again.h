// What a rank gathered from the others in the forward pass is not kept for the backward pass, but gathered once more.
#pragma once

#include "passes/gradient.h"

namespace reckon {

// Of inputs that tensor ranks have the tokens of (Korthikanti et al. 2022, section 4.2.2), of keys and values of other
// context ranks, and of parameters that ZeRO 3 shares out, only a rank's own part stays. Activations are gathered in
// front of the first op that reads them, parameters when the backward pass comes to their layer.
Differentiated gather_again(Differentiated differentiated);

}  // namespace reckon
