// Predicted beside measured, of a training step.
#pragma once

#include "run/verify.h"

namespace reckon {

struct VerifyStepOptions {
  std::int64_t batch = 1, tokens = 0;  // tokens 0: the model's context, at most 512
  DType precision = DType::float32;
  Device device = Device::cpu;
  int threads = 0;
  std::uint64_t seed = 1;                     // of the ids
  const std::atomic<bool>* cancel = nullptr;  // the trainer's
  const Sabotage* sabotage = nullptr;         // of tests
};

Verification verify_step(const Model& model, Weights weights, const VerifyStepOptions& options);

}  // namespace reckon
