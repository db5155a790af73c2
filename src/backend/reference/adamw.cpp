// AdamW (Loshchilov and Hutter, arXiv 1711.05101) and the norm that it clips by.
#include "ops/adamw.h"

#include "backend/reference/call.h"

#include <algorithm>

namespace reckon::reference {

void squared_norm(const Call& c) {
  const double before = c.has(0) ? c.in(0)[0] : 0.0;
  const Out sum = c.out(0);
  sum[0] = before;
  for (double g : c.in(1)) sum[0] += g * g;
  c.count(2 * c.in(1).size());
}

// Inputs: parameter, gradient, moments, squared norm. Nothing changes where that is not finite.
void adamw(const Call& c) {
  const TrainingStep& s = c.step();
  const double norm = std::sqrt(c.in(4)[0]);
  if (!std::isfinite(norm)) return;
  const double clip = s.clip > 0 && norm > s.clip ? s.clip / norm : 1.0;
  const auto t = static_cast<double>(s.step);
  const double correct1 = 1.0 - std::pow(s.beta1, t), correct2 = 1.0 - std::pow(s.beta2, t);
  const double decay = c.op.attributes<AdamwAttributes>().decay ? s.decay : 0.0;
  const Out w = c.held(c.op.inputs[0]), m = c.held(c.op.inputs[2]), v = c.held(c.op.inputs[3]);
  Squares seen;
  c.count(w.size() * (c.op.attributes<AdamwAttributes>().decay ? 16 : 15));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double g = clip * c.in(1)[i], before = w[i];
    m[i] = s.beta1 * m[i] + (1.0 - s.beta1) * g;
    v[i] = s.beta2 * v[i] + (1.0 - s.beta2) * g * g;
    w[i] -= s.learning_rate * (m[i] / correct1 / (std::sqrt(v[i] / correct2) + s.epsilon) + decay * w[i]);
    seen += {c.in(1)[i] * c.in(1)[i], (w[i] - before) * (w[i] - before), w[i] * w[i]};
  }
  if (c.options.squares != nullptr) (*c.options.squares)[key_of(c.program[c.op.inputs[0]])] = seen;
}

}  // namespace reckon::reference
