// A model on the reference backend: its weights, caches and moments as plain numbers, by the keys of their tensors.
#pragma once

#include <reckon/model.h>

#include "backend/reference/evaluate.h"
#include "run/weights.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace reckon {

class ReferenceModel {
 public:
  using Kept = std::map<TensorKey, std::vector<double>>;

  // `float32`: every result is rounded to it; else all is float64. Throws where the weights, at 8 bytes each, do not
  // fit this machine.
  ReferenceModel(const Model& model, const Weights& weights, bool float32);

  // What a step is given besides the weights.
  struct Inputs {
    std::span<const std::int32_t> ids;          // batch × tokens
    std::span<const std::int32_t> labels = {};  // the same, when training
    std::int64_t length = 0;                    // of the whole text, which some kinds of rotary positions depend on
  };

  // Runs an expanded program that is not lowered, written for exactly the past that the caches hold, and returns its
  // output: logits, or the loss. Caches keep what it adds to them; parameters and moments what an optimizer made of
  // them.
  std::vector<double> run(const Program& program, const Inputs& inputs, ReferenceOptions options = {});

  // By the keys of their parameters: of the last run that had a backward pass, and what one without it updates by.
  Kept& gradients() { return gradients_; }
  std::vector<double>& parameter(const TensorKey& key) { return parameters_.at(key); }
  Kept& moments() { return moments_; }  // by their own keys

  Kept& caches() { return caches_; }  // empty: nothing came before

 private:
  std::vector<double> given(const Program& program, TensorId id, const Inputs& inputs) const;
  Kept* home(const Tensor& tensor);  // of what outlives a run; nullptr: of nothing else

  const Model& model_;
  bool float32_;
  std::vector<Rope> ropes_;
  Kept parameters_, caches_, moments_, gradients_;
};

}  // namespace reckon
