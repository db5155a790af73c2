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

// dx[i] = dy[i]·act'(x[i]); dx may be dy or x.
void activate_backward(Activation activation, const float* dy, const float* x, std::int64_t count, float* dx);

// The same for activate_gated; d_gate and d_up may be dy, gate or up.
void activate_gated_backward(Activation activation, double clamp, const float* dy, const float* gate, const float* up,
                             std::int64_t count, float* d_gate, float* d_up);

}  // namespace reckon
