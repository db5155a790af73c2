// The causal convolution of recurrent networks: rows of tokens times rows of weights, channel by channel.
#include "ops/short_convolution.h"

#include "backend/cpu/convolved_text.h"
#include "backend/cpu/kernels.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/short_convolution.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// y ← y + a·b
void AddProducts(const float* a, const float* b, float* y, std::int64_t n) {
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    store(hn::MulAdd(load(a + i, count), load(b + i, count), load(y + i, count)), y + i, count);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {
namespace {

HWY_EXPORT(AddProducts);
void add_products(const float* a, const float* b, float* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(AddProducts)(a, b, y, n);
}

// Weights (C × w) as w rows of C.
std::vector<float> by_tap(const View& weight) {
  const std::int64_t channels = weight.size[0], width = weight.size[1];
  const std::span<const float> stored = weight.parameter->values;
  std::vector<float> taps(stored.size());
  for (std::int64_t i = 0; i < channels; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      taps[static_cast<std::size_t>(j * channels + i)] = stored[static_cast<std::size_t>(i * width + j)];
  return taps;
}

}  // namespace

void run_short_convolution(const Launch& launch) {
  const View &x = launch.inputs[0], &weight = launch.inputs[1], &bias = launch.inputs[2], &y = launch.outputs[0];
  const std::int64_t tokens = x.size[1], channels = x.size[2], width = weight.size[1];
  const std::vector<float> taps = by_tap(weight);
  const ConvolvedText text(launch, 3, width - 1, channels);
  over_rows(launch.machine, x.rows(), 2 * width * channels, [&](std::int64_t first, std::int64_t last, int) {
    count_products((last - first) * channels * width);
    if (bias.there()) count_elementwise((last - first) * channels);
    for (std::int64_t r = first; r < last; ++r) {
      float* out = y.row(r);
      if (bias.there()) {
        std::copy_n(bias.parameter->values.data(), channels, out);
      } else {
        std::fill_n(out, channels, 0.0f);
      }
      for (std::int64_t j = 0; j < width; ++j) {
        const float* in = text.at(r / tokens, r % tokens - width + 1 + j);
        if (in != nullptr) add_products(in, taps.data() + j * channels, out, channels);
      }
    }
  });
  text.keep();
}

// Rows give dx; columns, in stripes, the gradients of weight and bias, each summed from the first row to the last.
void run_short_convolution_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &weight = launch.inputs[2];
  const View &dx = launch.outputs[0], &d_weight = launch.outputs[1], &d_bias = launch.outputs[2];
  const std::int64_t batch = x.size[0], tokens = x.size[1], channels = x.size[2], width = weight.size[1];
  const std::vector<float> taps = by_tap(weight);
  over_rows(launch.machine, x.rows(), 2 * width * channels, [&](std::int64_t first, std::int64_t last, int) {
    count_products((last - first) * channels * width);
    for (std::int64_t r = first; r < last; ++r) {
      std::fill_n(dx.row(r), channels, 0.0f);
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t later = width - 1 - j;
        if (r % tokens + later >= tokens) continue;
        add_products(dy.row(r + later), taps.data() + j * channels, dx.row(r), channels);
      }
    }
  });
  if (!d_weight.there() && !d_bias.there()) return;
  constexpr std::int64_t stripe = 64;
  launch.machine.run((channels + stripe - 1) / stripe, [&](std::int64_t task, int) {
    const std::int64_t begin = task * stripe, n = std::min(stripe, channels - begin);
    if (d_weight.there()) {
      count_products(batch * tokens * n * width);
      std::vector<float> sums(static_cast<std::size_t>(n));
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t back = width - 1 - j;
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (std::int64_t b = 0; b < batch; ++b)
          for (std::int64_t t = back; t < tokens; ++t)
            add_products(dy.row(b * tokens + t) + begin, x.row(b * tokens + t - back) + begin, sums.data(), n);
        for (std::int64_t i = 0; i < n; ++i) {
          float& to = d_weight.floats()[(begin + i) * width + j];
          to = (launch.adds(d_weight) ? to : 0.0f) + sums[static_cast<std::size_t>(i)];
        }
      }
    }
    if (d_bias.there()) {
      float* to = d_bias.floats() + begin;
      if (!launch.adds(d_bias)) std::fill_n(to, n, 0.0f);
      count_elementwise(batch * tokens * n);
      for (std::int64_t r = 0; r < batch * tokens; ++r)
        for (std::int64_t i = 0; i < n; ++i) to[i] += dy.row(r)[begin + i];
    }
  });
}

}  // namespace reckon
#endif
