#include "count/scaling_laws.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <cmath>
#include <utility>

namespace reckon {
namespace {

constexpr const char* hoffmann = "Hoffmann et al. 2022, arXiv 2203.15556";

struct Size {
  double parameters, tokens;
};

// The straight line through the sizes of a table in logarithms: approaches 1 and 2 are published as such tables.
ScalingLaw through(const std::vector<Size>& sizes, std::string name, std::string basis, std::string reference) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Size& size : sizes) {
    const double u = std::log(size.parameters), v = std::log(size.tokens);
    x += u, y += v, xx += u * u, xy += u * v;
  }
  const double n = static_cast<double>(sizes.size());
  const double exponent = (n * xy - x * y) / (n * xx - x * x);
  return {std::move(name), std::move(basis), std::move(reference), std::exp((y - exponent * x) / n),
          exponent,        std::nullopt};
}

// N = G·(C/6)^(β/(α+β)) with G = (αA/βB)^(1/(α+β)), so that D = (αA/βB)^(−1/β) · N^(α/β).
ScalingLaw of(const LossFit& fit, std::string name, std::string basis, std::string reference,
              ScalingLaw::Use use = ScalingLaw::Use::training) {
  const double ratio = fit.alpha * fit.a / (fit.beta * fit.b);
  return {std::move(name),
          std::move(basis),
          std::move(reference),
          std::pow(ratio, -1 / fit.beta),
          fit.alpha / fit.beta,
          fit,
          use};
}

}  // namespace

double LossFit::loss(double parameters, double tokens) const {
  return e + a / std::pow(parameters, alpha) + b / std::pow(tokens, beta);
}

double ScalingLaw::tokens(double parameters) const { return coefficient * std::pow(parameters, exponent); }

double ScalingLaw::parameters(double compute) const {
  return std::pow(compute / (6 * coefficient), 1 / (1 + exponent));
}

const std::vector<ScalingLaw>& scaling_laws() {
  static const std::vector<ScalingLaw> laws = {
      through({{400e6, 8.0e9},
               {1e9, 20.2e9},
               {10e9, 205.1e9},
               {67e9, 1.5e12},
               {175e9, 3.7e12},
               {280e9, 5.9e12},
               {520e9, 11.0e12},
               {1e12, 21.2e12},
               {10e12, 216.2e12}},
              "Chinchilla, approach 1", "the least loss over sizes at each compute; a line through table 3",
              std::string(hoffmann) + ", table 3"),
      through({{400e6, 7.7e9},
               {1e9, 20.0e9},
               {10e9, 219.5e9},
               {67e9, 1.7e12},
               {175e9, 4.3e12},
               {280e9, 7.1e12},
               {520e9, 13.4e12},
               {1e12, 26.5e12},
               {10e12, 292.0e12}},
              "Chinchilla, approach 2", "curves of equal compute; a line through table A3",
              std::string(hoffmann) + ", table A3"),
      // As printed (406.4, 410.7, 1.69, 0.34, 0.28) the constants are rounded too far to give the 40B of the text;
      // these are those of the paper's TeX source.
      of({std::exp(0.5267228), std::exp(6.0073404), std::exp(6.0179186), 0.33917084, 0.2849083},
         "Chinchilla, approach 3", "a fit of the loss; constants of the TeX source",
         std::string(hoffmann) + ", equation 10"),
      of({1.81686, 482.00572, 2085.43420, 0.34781, 0.36585}, "Chinchilla, approach 3 corrected",
         "the same data fitted again", "Besiroglu et al. 2024, arXiv 2404.10102"),
      of({1.69, 406.4, 410.7, 0.336, 0.283}, "Sardana", "the fit of approach 3, as used for inference-aware training",
         "Sardana et al. 2023, arXiv 2401.00448", ScalingLaw::Use::inference),
  };
  return laws;
}

TrainedAndServed trained_and_served(double parameters, double tokens, double inference_tokens) {
  return {parameters, tokens, 6 * parameters * tokens, 2 * parameters * inference_tokens};
}

TrainedAndServed cheapest(const LossFit& fit, double loss, double inference_tokens) {
  if (!(loss > fit.e))
    throw UsageError(
        fmt::format("a loss of {:.4g} is asked for; expected more than {:.4g}, which no model reaches", loss, fit.e));
  const auto with = [&](double parameters) {
    const double left = loss - fit.e - fit.a / std::pow(parameters, fit.alpha);
    return trained_and_served(parameters, std::pow(fit.b / left, 1 / fit.beta), inference_tokens);
  };
  // The cost has one minimum above the least N that reaches the loss with any number of tokens: golden section over
  // log N. A thousand times that N is beyond any minimum: fewer tokens then save nothing any more.
  double low = std::log(fit.a / (loss - fit.e)) / fit.alpha, high = low + std::log(1e3);
  constexpr double golden = 0.6180339887498949;
  for (int i = 0; i < 200; ++i) {
    const double span = high - low, left = high - golden * span, right = low + golden * span;
    if (with(std::exp(left)).flops() < with(std::exp(right)).flops()) {
      high = right;
    } else {
      low = left;
    }
  }
  return with(std::exp((low + high) / 2));
}

double tokens_for_inference(const LossFit& fit, double parameters, double inference_tokens) {
  const double slope = fit.alpha * fit.a / (fit.beta * fit.b) * std::pow(parameters, -fit.alpha);
  const auto excess = [&](double tokens) {
    return tokens * (slope * std::pow(tokens, fit.beta) - 1) - inference_tokens / 3;
  };
  // It is below 0 up to the tokens without inference, and grows from there.
  double low = std::pow(1 / slope, 1 / fit.beta), high = 2 * low;
  while (excess(high) < 0) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (excess(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace reckon
