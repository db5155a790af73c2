// Several streams: what each layer predicts of them, and corrects; and their magnitudes. All row by row.
#include "ops/streams.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <cmath>

namespace reckon {
namespace {

// Numbers that lie together for each row, whatever extents they are counted by.
const float* beside(const View& numbers, std::int64_t row, std::int64_t each) { return numbers.floats() + row * each; }

// y += factor·x, of a product whose multiply-adds are counted as such
void add_product(float* y, const float* x, std::int64_t n, float factor) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

float product(const float* a, const float* b, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void run_predict(const Launch& launch) {
  const std::int64_t n = std::ssize(launch.outputs), width = launch.outputs[0].width();
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  over_rows(launch.machine, launch.outputs[0].rows(), 2 * n * n * width,
            [&](std::int64_t first, std::int64_t last, int) {
              count_products((last - first) * n * n * width);
              count_elementwise((last - first) * n * width);
              for (std::int64_t r = first; r < last; ++r) {
                const float* c = beside(launch.inputs[at(n)], r, n * n);
                for (std::int64_t j = 0; j < n; ++j) {
                  float* y = launch.outputs[at(j)].row(r);
                  std::copy_n(launch.inputs[at(j)].row(r), width, y);
                  for (std::int64_t i = 0; i < n; ++i) add_product(y, launch.inputs[at(i)].row(r), width, c[j * n + i]);
                }
              }
            });
}

// Inputs: dy of each, x of each, coefficients. A dy that is not there is zeros.
void run_predict_backward(const Launch& launch) {
  const std::int64_t n = std::ssize(launch.outputs) - 1, width = launch.outputs[0].width();
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const View& dc = launch.outputs[at(n)];
  over_rows(launch.machine, launch.outputs[0].rows(), 4 * n * n * width,
            [&](std::int64_t first, std::int64_t last, int) {
              count_products(2 * (last - first) * n * n * width);
              count_elementwise((last - first) * n * width);
              for (std::int64_t r = first; r < last; ++r) {
                const float* c = beside(launch.inputs[at(2 * n)], r, n * n);
                float* d = dc.floats() + r * n * n;
                for (std::int64_t i = 0; i < n; ++i) {
                  float* dx = launch.outputs[at(i)].row(r);
                  const View& own = launch.inputs[at(i)];
                  own.there() ? std::copy_n(own.row(r), width, dx) : std::fill_n(dx, width, 0.0f);
                  for (std::int64_t j = 0; j < n; ++j) {
                    const View& dy = launch.inputs[at(j)];
                    d[j * n + i] = dy.there() ? product(dy.row(r), launch.inputs[at(n + i)].row(r), width) : 0.0f;
                    if (dy.there()) add_product(dx, dy.row(r), width, c[j * n + i]);
                  }
                }
              }
            });
}

void run_correct(const Launch& launch) {
  const std::int64_t n = std::ssize(launch.outputs), width = launch.outputs[0].width();
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const View &p = launch.inputs[at(launch.op.attributes<CorrectAttributes>().active)], &made = launch.inputs[at(n)];
  over_rows(launch.machine, p.rows(), 2 * n * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * ((2 * n + 1) * width + n));
    for (std::int64_t r = first; r < last; ++r) {
      const float *c = beside(launch.inputs[at(n + 1)], r, n), *x = made.row(r), *active = p.row(r);
      for (std::int64_t i = 0; i < n; ++i) {
        const float* from = launch.inputs[at(i)].row(r);
        float* y = launch.outputs[at(i)].row(r);
        for (std::int64_t k = 0; k < width; ++k) y[k] = from[k] + (1 + c[i]) * (x[k] - active[k]);
      }
    }
  });
}

// Inputs: dy of each, the active prediction, what the layer made, coefficients. A dy that is not there is zeros.
void run_correct_backward(const Launch& launch) {
  const std::int64_t n = std::ssize(launch.inputs) - 3, width = launch.outputs[0].width();
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const View &p = launch.inputs[at(n)], &made = launch.inputs[at(n + 1)];
  const View &dp = launch.outputs[0], &d_made = launch.outputs[1], &dc = launch.outputs[2];
  const View& own = launch.inputs[at(launch.op.attributes<CorrectAttributes>().active)];
  over_rows(launch.machine, dp.rows(), 4 * n * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (4 * n + 1) * width);
    for (std::int64_t r = first; r < last; ++r) {
      const float *c = beside(launch.inputs[at(n + 2)], r, n), *x = made.row(r), *active = p.row(r);
      float *dx = d_made.row(r), *to = dp.row(r);
      std::fill_n(dx, width, 0.0f);
      for (std::int64_t i = 0; i < n; ++i) {
        const View& dy = launch.inputs[at(i)];
        float sum = 0;
        for (std::int64_t k = 0; k < width && dy.there(); ++k) {
          const float d = dy.row(r)[k];
          dx[k] += (1 + c[i]) * d;
          sum += d * (x[k] - active[k]);
        }
        dc.floats()[r * n + i] = sum;
      }
      for (std::int64_t k = 0; k < width; ++k) to[k] = (own.there() ? own.row(r)[k] : 0.0f) - dx[k];
    }
  });
}

void run_magnitude(const Launch& launch) {
  const View &x = launch.inputs[0], &target = launch.inputs[1], &y = launch.outputs[0];
  const std::int64_t width = y.width();
  const auto size = static_cast<float>(width);
  over_rows(launch.machine, y.rows(), 5 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (5 * width + 3));
    for (std::int64_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      const float own = product(from, from, width) / size, wanted = product(target.row(r), target.row(r), width) / size;
      const float ratio = std::sqrt(wanted / std::max(own, static_cast<float>(least_magnitude)));
      for (std::int64_t i = 0; i < width; ++i) y.row(r)[i] = ratio * from[i];
    }
  });
}

// Inputs: dy, x, target.
void run_magnitude_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &target = launch.inputs[2];
  const View &dx = launch.outputs[0], &dt = launch.outputs[1];
  const std::int64_t width = dx.width();
  const auto size = static_cast<float>(width), least = static_cast<float>(least_magnitude);
  over_rows(launch.machine, dx.rows(), 10 * width, [&](std::int64_t first, std::int64_t last, int) {
    count_elementwise((last - first) * (10 * width + 8));
    for (std::int64_t r = first; r < last; ++r) {
      const float *d = dy.row(r), *from = x.row(r), *as = target.row(r);
      const float own = product(from, from, width) / size, wanted = product(as, as, width) / size;
      const float large = std::max(own, least), ratio = std::sqrt(wanted / large);
      const float mean = product(d, from, width) / size;
      const float back = own > least ? mean * ratio / large : 0.0f, to = mean / std::sqrt(wanted * large);
      for (std::int64_t i = 0; i < width; ++i) {
        dx.row(r)[i] = ratio * d[i] - back * from[i];
        dt.row(r)[i] = to * as[i];
      }
    }
  });
}

}  // namespace reckon
