// Angles θ^(−2i/n)·position, with the frequencies rescaled as each kind does.
#include "run/rope_table.h"

#include "files/checked.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reckon {
namespace {

std::vector<double> plain_frequencies(double theta, std::int64_t dims) {
  std::vector<double> f(static_cast<std::size_t>(dims / 2));
  for (std::size_t i = 0; i < f.size(); ++i) {
    f[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
  }
  return f;
}

// Dynamic NTK: the base grows with the length past the original context.
double dynamic_theta(const Rope& rope, std::int64_t length) {
  const double tokens = std::max(static_cast<double>(length), rope.original_context);
  const double dims = static_cast<double>(rope.dims);
  const double stretch = rope.factor * tokens / rope.original_context - (rope.factor - 1);
  return rope.theta * std::pow(stretch, dims / (dims - 2));
}

// Llama 3: low frequencies are divided by the factor, high ones kept, those between blended.
void scale_llama3(const Rope& rope, std::vector<double>& f) {
  for (double& frequency : f) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    const double turns = rope.original_context / wavelength;
    if (turns < rope.low_frequency_factor) {
      frequency /= rope.factor;
    } else if (turns < rope.high_frequency_factor) {
      const double smooth =
          (turns - rope.low_frequency_factor) / (rope.high_frequency_factor - rope.low_frequency_factor);
      frequency = (1 - smooth) * frequency / rope.factor + smooth * frequency;
    }
  }
}

// YaRN (Peng et al., arXiv 2309.00071): a ramp over the pairs between those that turn β_fast and β_slow times.
void scale_yarn(const Rope& rope, std::vector<double>& f) {
  const double dims = static_cast<double>(rope.dims);
  const auto pair_that_turns = [&](double times) {
    return dims * std::log(rope.original_context / (times * 2 * std::numbers::pi)) / (2 * std::log(rope.theta));
  };
  double low = pair_that_turns(rope.beta_fast), high = pair_that_turns(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = f[i] / rope.factor * ramp + f[i] * (1 - ramp);
  }
}

double yarn_magnitude(double factor, double scale) { return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0; }

// What cosines and sines are multiplied by, so that the scores keep their temperature.
double magnitude(const Rope& rope, std::int64_t length) {
  if (rope.short_magnitude != 0.0)
    return static_cast<double>(length) > rope.original_context ? rope.long_magnitude : rope.short_magnitude;
  if (rope.attention_factor != 0.0) return rope.attention_factor;
  if (rope.scaling == Rope::Scaling::yarn) {
    if (rope.mscale != 0.0 && rope.mscale_all_dim != 0.0) {
      return yarn_magnitude(rope.factor, rope.mscale) / yarn_magnitude(rope.factor, rope.mscale_all_dim);
    }
    return yarn_magnitude(rope.factor, 1.0);
  }
  if (rope.scaling == Rope::Scaling::longrope && rope.factor > 1) {
    return std::sqrt(1 + std::log(rope.factor) / std::log(rope.original_context));
  }
  return 1.0;
}

std::vector<double> frequencies(const Rope& rope, std::int64_t length) {
  const bool dynamic = rope.scaling == Rope::Scaling::dynamic;
  std::vector<double> f = plain_frequencies(dynamic ? dynamic_theta(rope, length) : rope.theta, rope.dims);
  switch (rope.scaling) {
    case Rope::Scaling::none:
    case Rope::Scaling::dynamic:
      break;
    case Rope::Scaling::linear:
      for (double& frequency : f) frequency /= rope.factor;
      break;
    case Rope::Scaling::llama3:
      scale_llama3(rope, f);
      break;
    case Rope::Scaling::yarn:
      scale_yarn(rope, f);
      break;
    case Rope::Scaling::longrope: {
      const bool is_long = static_cast<double>(length) > rope.original_context;
      const std::vector<double>& factors = is_long ? rope.long_factors : rope.short_factors;
      for (std::size_t i = 0; i < f.size(); ++i) f[i] /= factors.at(i);
      break;
    }
  }
  if (rope.evens_first > 0) {
    const std::vector<double> ordered = f;
    const auto n = static_cast<std::size_t>(rope.evens_first), evens = (n + 1) / 2;
    for (std::size_t i = 0; i < n; ++i) f[i] = ordered[i < evens ? 2 * i : 2 * (i - evens) + 1];
  }
  if (rope.turned > 0) std::fill(f.begin() + rope.turned, f.end(), 0.0);
  return f;
}

}  // namespace

std::vector<float> rope_rows(const Rope& rope, std::int64_t first, std::int64_t count, std::int64_t length) {
  const std::vector<double> f = frequencies(rope, length);
  const double scale = magnitude(rope, length);
  const double direction = rope.backwards ? -1.0 : 1.0;
  std::vector<float> rows;
  rows.reserve(memory_size(count * rope.dims, "a table of angles"));
  for (std::int64_t p = first; p < first + count; ++p) {
    for (double frequency : f) rows.push_back(static_cast<float>(scale * std::cos(static_cast<double>(p) * frequency)));
    for (double frequency : f)
      rows.push_back(static_cast<float>(direction * scale * std::sin(static_cast<double>(p) * frequency)));
  }
  return rows;
}

bool depends_on_length(const Rope& rope) {
  return rope.scaling == Rope::Scaling::dynamic || rope.scaling == Rope::Scaling::longrope;
}

}  // namespace reckon
