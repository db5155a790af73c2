// How many tokens a model should be trained on, and how large it should be for a given compute: published fits. None of
// them knows anything of a network but its number of parameters N; compute is C = 6·N·D for D tokens, theirs too.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace reckon {

// The loss that a dense model of N parameters has after D tokens: E + A/N^α + B/D^β.
struct LossFit {
  double e = 0, a = 0, b = 0, alpha = 0, beta = 0;
  double loss(double parameters, double tokens) const;
};

// At the least compute for a loss, D = coefficient · N^exponent.
struct ScalingLaw {
  enum class Use { training, inference };
  std::string name;   // "Chinchilla, approach 1"
  std::string basis;  // what was fitted
  std::string reference;
  double coefficient = 0, exponent = 1;
  std::optional<LossFit> fit;    // where it comes from one
  Use used_for = Use::training;  // what its authors ask: the least compute of a training, or with inference

  double tokens(double parameters) const;
  double parameters(double compute) const;
};

// Chinchilla's three approaches (Hoffmann et al. 2022), the third fitted again (Besiroglu et al. 2024), and with the
// constants that Sardana et al. 2023 use.
const std::vector<ScalingLaw>& scaling_laws();

// A training and what is asked of the model afterwards.
struct TrainedAndServed {
  double parameters = 0, tokens = 0;
  double training = 0, inference = 0;  // FLOPs: 6·N·D, 2·N·D_inference
  double flops() const { return training + inference; }
};
TrainedAndServed trained_and_served(double parameters, double tokens, double inference_tokens);

// The least 6·N·D + 2·N·D_inference for a loss (Sardana et al. 2023, arXiv 2401.00448, equation 1). Throws UsageError
// where no model reaches the loss.
TrainedAndServed cheapest(const LossFit& fit, double loss, double inference_tokens);

// The tokens to train a model of so many parameters on, so that no other size has its loss at less: where the
// derivative of that sum along the curve of equal loss is 0, αA/(βB) · N^−α · D^(β+1) − D = D_inference/3.
double tokens_for_inference(const LossFit& fit, double parameters, double inference_tokens);

}  // namespace reckon
