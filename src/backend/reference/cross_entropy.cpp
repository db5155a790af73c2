// The mean, over rows that have a label, of −log softmax(row)[label].
#include "backend/reference/call.h"

#include <algorithm>

namespace reckon::reference {
namespace {

double log_sum_exp(const double* row, std::size_t n) {
  const double most = *std::max_element(row, row + n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(row[i] - most);
  return most + std::log(sum);
}

double labels(In all) {
  return static_cast<double>(std::count_if(all.begin(), all.end(), [](double label) { return label >= 0; }));
}

}  // namespace

void cross_entropy(const Call& c) {
  const Out loss = c.out(0), kept = c.out(1);
  const std::size_t words = c.in_size(0, -1);
  for (std::size_t row = 0; row < kept.size(); ++row) {
    const double* logits = &c.in(0)[row * words];
    kept[row] = log_sum_exp(logits, words);
    c.count(4 * words + 2);
    if (c.in(1)[row] >= 0) loss[0] += kept[row] - logits[static_cast<std::size_t>(c.in(1)[row])];
  }
  loss[0] /= labels(c.in(1));
}

void cross_entropy_backward(const Call& c) {
  const In logits = c.in(0);
  const Out d = c.out(0);
  const std::size_t words = c.in_size(0, -1);
  const double factor = c.step().loss_scale / labels(c.in(1));
  for (std::size_t row = 0; row < c.in(1).size(); ++row) {
    const double label = c.in(1)[row];
    c.count(3 * words + 1);
    if (label < 0) continue;
    const double total = log_sum_exp(&logits[row * words], words);
    for (std::size_t v = 0; v < words; ++v) {
      const double hit = v == static_cast<std::size_t>(label) ? 1.0 : 0.0;
      d[row * words + v] = factor * (std::exp(logits[row * words + v] - total) - hit);
    }
  }
}

}  // namespace reckon::reference
