// LayerNorm and RMSNorm over the last dimension.
#include "ops/norm.h"

#include "backend/reference/call.h"

#include <numeric>

namespace reckon::reference {
namespace {

struct Row {
  double mean, factor;  // x̂ = (x − mean)·factor
};

Row statistics(const double* x, std::size_t width, bool layer, double epsilon) {
  const auto n = static_cast<double>(width);
  const double mean = layer ? std::accumulate(x, x + width, 0.0) / n : 0.0;
  double squares = 0;
  for (std::size_t k = 0; k < width; ++k) squares += (x[k] - mean) * (x[k] - mean);
  return {mean, 1.0 / std::sqrt(squares / n + epsilon)};
}

}  // namespace

void norm(const Call& c) {
  const auto [epsilon, plus_one] = c.op.attributes<NormAttributes>();
  const bool layer = c.op.operation == &layer_norm_operation;
  const std::size_t width = c.in_size(0, -1);
  const Out y = c.out(0);
  if (c.wants(1)) c.out(1);
  if (c.has(1) && plus_one) c.count(c.in(1).size());  // 1 + w, as if it were made once
  std::size_t row = 0;
  for (std::size_t begin = 0; begin < y.size(); begin += width, ++row) {
    const double* x = &c.in(0)[begin];
    const auto [mean, factor] = statistics(x, width, layer, epsilon);
    if (c.wants(1)) {  // each row's factor, and its mean where there is one
      double* kept = &c.held(c.op.outputs[1])[row * (layer ? 2 : 1)];
      kept[0] = factor;
      if (layer) kept[1] = mean;
    }
    c.count(width * ((layer ? 5 : 3) + (c.has(1) ? 1 : 0) + (c.has(2) ? 1 : 0)) + 2);
    for (std::size_t k = 0; k < width; ++k) {
      double& value = y[begin + k] = (x[k] - mean) * factor;
      if (c.has(1)) value *= c.in(1)[(begin + k) % c.in(1).size()] + (plus_one ? 1.0 : 0.0);
      if (c.has(2)) value += c.in(2)[(begin + k) % c.in(2).size()];
    }
  }
}

// Inputs: dy, x, weight. With ŷ = dy·w:  dx = r·(ŷ − mean(ŷ) − x̂·mean(ŷ·x̂)), without mean(ŷ) for RMSNorm.
void norm_backward(const Call& c) {
  const auto [epsilon, plus_one] = c.op.attributes<NormAttributes>();
  const bool layer = c.op.operation == &layer_norm_backward_operation;
  const std::size_t width = c.in_size(1, -1);
  const auto n = static_cast<double>(width);
  const Out dx = c.out(0);
  if (c.wants(1)) c.out(1);
  if (c.wants(2)) c.out(2);
  Values normed(width), scaled(width);
  for (std::size_t begin = 0; begin < dx.size(); begin += width) {
    const double *dy = &c.in(0)[begin], *x = &c.in(1)[begin];
    const auto [mean, factor] = statistics(x, width, layer, epsilon);
    double sum = 0, product = 0;
    c.count(width * ((layer ? 9 : 6) + (c.has(2) ? 3 : 0) + (c.wants(2) ? 1 : 0)));
    for (std::size_t k = 0; k < width; ++k) {
      normed[k] = (x[k] - mean) * factor;
      scaled[k] = dy[k];
      if (c.has(2)) scaled[k] *= c.in(2)[(begin + k) % c.in(2).size()] + (plus_one ? 1.0 : 0.0);
      sum += scaled[k];
      product += scaled[k] * normed[k];
      if (c.wants(1)) {
        const Out dw = c.held(c.op.outputs[1]);
        dw[(begin + k) % dw.size()] += dy[k] * normed[k];
      }
      if (c.wants(2)) {
        const Out db = c.held(c.op.outputs[2]);
        db[(begin + k) % db.size()] += dy[k];
      }
    }
    for (std::size_t k = 0; k < width; ++k) {
      dx[begin + k] = factor * (scaled[k] - (layer ? sum / n : 0.0) - normed[k] * product / n);
    }
  }
}

}  // namespace reckon::reference
