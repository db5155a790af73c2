// Predicted beside measured, of a training step.
#pragma once

#include "run/verify.h"

namespace reckon {

Verification verify_step(const Model& model, Weights weights, const VerifyOptions& options);

}  // namespace reckon
