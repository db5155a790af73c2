// How much a model is to be trained, as scaling laws say of its size, and what that computes.
#pragma once

#include <reckon/ledger.h>

#include <optional>
#include <string>
#include <vector>

#include "count/scaling_laws.h"

namespace reckon {

struct TrainingAmount {
  std::string name, basis, reference;  // of the law
  double tokens = 0;
  double tokens_per_parameter = 0;
  double flops = 0;            // matrix products of the program, forward and backward
  double six_nd = 0;           // as the laws count: 6·N·D
  std::optional<double> loss;  // where the law is a fit of it
};

// The size and tokens of the least loss at a compute.
struct ComputeOptimum {
  std::string name;
  double parameters = 0, tokens = 0;
};

// What it changes that the model is asked for tokens once it is trained.
struct ServedOptimum {
  std::string name, reference;
  double tokens = 0;       // for this very model: no other size has its loss at less compute in all
  double flops = 0;        // 6·N·D of them
  TrainedAndServed plain;  // the model with the tokens of the law…
  TrainedAndServed best;   // …and the one of the same loss at the least compute in all
  double saved = 0;        // 1 − the one over the other
};

struct TrainingAmounts {
  double parameters = 0;  // N of the laws: all of them
  bool mixture = false;   // the laws are of dense models
  bool adapters = false;  // …and of models that are trained whole
  std::vector<TrainingAmount> amounts;
  double compute = 0;                  // 6·N·D of the tokens that were asked for; 0: none were
  std::vector<ComputeOptimum> optima;  // for it
  double inference_tokens = 0;         // 0: none
  std::vector<ServedOptimum> served;
};

// `step` is the ledger of a training step of the model in which nothing is computed again. `tokens`: those that the
// model is to be trained on anyway; `inference_tokens`: those that it is asked for later.
TrainingAmounts training_amounts(const Ledger& step, std::optional<double> tokens,
                                 std::optional<double> inference_tokens);

}  // namespace reckon
