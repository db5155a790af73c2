// What tokens before add to queries, keys and values.
#include "ops/convolved_heads.h"

#include "backend/cpu/convolved_text.h"
#include "backend/cpu/kernels.h"

#include <algorithm>
#include <vector>

namespace reckon {
void run_head_convolution(const Launch& launch) {
  const View &x = launch.inputs[0], &weight = launch.inputs[1], &y = launch.outputs[0];
  const float *shift = launch.inputs[2].values(), *bias = launch.inputs[3].values();
  const std::int64_t tokens = x.size[1], heads = x.size[2], width = x.size[3], taps = weight.size[2];
  const std::int64_t row = heads * width;
  // (H·m × m × w) as, of each token of the window and head, m rows of results: so that sums run over neighbours.
  const float* stored = weight.values();
  std::vector<float> by_tap(static_cast<std::size_t>(row * width * taps));
  for (std::int64_t o = 0; o < row; ++o)
    for (std::int64_t i = 0; i < width; ++i)
      for (std::int64_t j = 0; j < taps; ++j)
        by_tap[static_cast<std::size_t>(((j * heads + o / width) * width + i) * width + o % width)] =
            stored[(o * width + i) * taps + j];
  const ConvolvedText text(launch, 4, taps - 1, row);
  over_rows(launch.machine, x.size[0] * tokens, 2 * row * width * taps,
            [&](std::int64_t first, std::int64_t last, int) {
              count_products((last - first) * row * width * taps);
              count_elementwise(2 * (last - first) * row);
              for (std::int64_t r = first; r < last; ++r) {
                float* out = y.floats() + r / tokens * y.stride[0] + r % tokens * y.stride[1];
                std::copy_n(bias, row, out);
                for (std::int64_t j = 0; j < taps; ++j) {
                  const float* in = text.at(r / tokens, r % tokens - taps + 1 + j);
                  for (std::int64_t i = 0; i < row; ++i) {
                    const float factor = (in != nullptr ? in[i] : 0.0f) + shift[i];
                    const float* column = by_tap.data() + (j * row + i) * width;
                    float* to = out + i / width * width;
                    for (std::int64_t o = 0; o < width; ++o) to[o] += factor * column[o];
                  }
                }
              }
            });
  text.keep();
}

void run_delay(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const std::int64_t row = x.size[2];
  const ConvolvedText text(launch, 1, 1, row);
  for (std::int64_t b = 0; b < x.size[0]; ++b)
    for (std::int64_t t = 0; t < x.size[1]; ++t) text.copy(b, t - 1, y.floats() + b * y.stride[0] + t * y.stride[1]);
  text.keep();
}

void run_average_heads(const Launch& launch) {
  const View &queries = launch.inputs[0], &keys = launch.inputs[1];
  const View &of_query = launch.outputs[0], &of_key = launch.outputs[1];
  const std::int64_t heads = queries.size[2], kv_heads = keys.size[2], width = queries.size[3];
  const std::int64_t group = heads / kv_heads;
  over_rows(launch.machine, keys.rows(), 3 * group * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise(3 * (last - first) * group * width);
    for (std::int64_t r = first; r < last; ++r) {
      const float* key = keys.row(r);
      float* mean = of_key.row(r);
      std::fill_n(mean, width, 0.0f);
      for (std::int64_t h = r * group; h < (r + 1) * group; ++h) {
        const float* query = queries.row(h);
        float* to = of_query.row(h);
        for (std::int64_t i = 0; i < width; ++i) mean[i] += to[i] = 0.5f * (query[i] + key[i]);
      }
      for (std::int64_t i = 0; i < width; ++i) mean[i] /= static_cast<float>(group);
    }
  });
}

void run_scale_heads(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const float* factors = launch.inputs[1].values();
  over_rows(launch.machine, x.rows(), x.width(), [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * x.width());
    for (std::int64_t r = first; r < last; ++r)
      for (std::int64_t i = 0; i < x.width(); ++i) y.row(r)[i] = factors[r % x.size[2]] * x.row(r)[i];
  });
}

}  // namespace reckon
