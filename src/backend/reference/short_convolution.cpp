// Every channel's window of tokens times its weights. The cache holds the inputs before the first new token, the oldest
// first, and then those before the next.
#include "backend/reference/call.h"

namespace reckon::reference {

void short_convolution(const Call& c) {
  const In x = c.in(0), weight = c.in(1);
  const Out y = c.out(0);
  const std::size_t batch = c.in_size(0, 0), tokens = c.in_size(0, 1), channels = c.in_size(0, 2);
  const std::size_t width = c.in_size(1, -1), before = width - 1;
  c.count_products(y.size() * width);
  if (c.has(2)) c.count(y.size());
  Values text((before + tokens) * channels);  // what came before, then what is new
  for (std::size_t b = 0; b < batch; ++b) {
    const Out cache = c.has(3) ? c.held(c.op.inputs[3]).subspan(b * before * channels, before * channels) : Out();
    std::fill(text.begin(), text.end(), 0.0);
    if (c.has(3) && c.program.workload.past > 0) std::copy(cache.begin(), cache.end(), text.begin());
    std::copy_n(&x[b * tokens * channels], tokens * channels, &text[before * channels]);
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t i = 0; i < channels; ++i) {
        double sum = c.has(2) ? c.in(2)[i] : 0.0;
        for (std::size_t j = 0; j < width; ++j) sum += weight[i * width + j] * text[(t + j) * channels + i];
        y[(b * tokens + t) * channels + i] = sum;
      }
    }
    if (c.has(3)) std::copy_n(&text[tokens * channels], cache.size(), cache.begin());
  }
}

// Inputs: dy, x, weight. Of a training step, so that nothing comes before.
void short_convolution_backward(const Call& c) {
  const In dy = c.in(0), x = c.in(1), weight = c.in(2);
  const Out dx = c.out(0), dw = c.wants(1) ? c.out(1) : Out(), db = c.wants(2) ? c.out(2) : Out();
  const std::size_t batch = c.in_size(1, 0), tokens = c.in_size(1, 1), channels = c.in_size(1, 2);
  const std::size_t width = c.in_size(2, -1);
  c.count_products(dx.size() * width * (c.wants(1) ? 2 : 1));
  if (c.wants(2)) c.count(dx.size());
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t i = 0; i < channels; ++i) {
        const double d = dy[(b * tokens + t) * channels + i];
        if (c.wants(2)) db[i] += d;
        for (std::size_t j = 0; j < width; ++j) {
          if (t + j + 1 < width) continue;
          const std::size_t from = (b * tokens + t + j + 1 - width) * channels + i;
          dx[from] += d * weight[i * width + j];
          if (c.wants(1)) dw[i * width + j] += d * x[from];
        }
      }
    }
  }
}

}  // namespace reckon::reference
