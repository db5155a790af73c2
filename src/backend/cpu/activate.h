// Activations on their own, where no product ends in them.
#pragma once

#include <reckon/model.h>

#include <cstdint>

namespace reckon {

// y[i] = act(x[i]); y may be x.
void activate(Activation activation, const float* x, std::int64_t count, float* y);

// y[i] = act(gate[i])·up[i]; clamp as in Epilogue (gpt-oss), 0: none. y may be gate or up.
void activate_gated(Activation activation, double clamp, const float* gate, const float* up, std::int64_t count,
                    float* y);

}  // namespace reckon
