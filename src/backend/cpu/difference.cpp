// What the first of two heads mixed, less λ times what the second did; and back.
#include "ops/difference.h"

#include "backend/cpu/kernels.h"

#include <cmath>
#include <span>
#include <vector>

namespace reckon {
namespace {

struct Lambda {
  float first, second, value;  // e^(a·b), e^(c·d), and λ
};

Lambda lambda(std::span<const float> vectors, double initial) {
  const std::size_t n = vectors.size() / 4;
  float ab = 0, cd = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ab += vectors[i] * vectors[n + i];
    cd += vectors[2 * n + i] * vectors[3 * n + i];
  }
  count_elementwise(static_cast<std::int64_t>(vectors.size()) + 2);
  return {std::exp(ab), std::exp(cd), std::exp(ab) - std::exp(cd) + static_cast<float>(initial)};
}

// Which row of x is the first of the pair whose result is row r; the second is `group` rows further on.
std::int64_t first_of(std::int64_t r, std::int64_t group) { return r / group * 2 * group + r % group; }

}  // namespace

void run_difference(const Launch& launch) {
  const View &x = launch.inputs[0], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<DifferenceAttributes>();
  const float value = lambda(launch.inputs[1].parameter->values, a.initial).value;
  over_rows(launch.machine, y.rows(), 2 * y.width(), [&](std::int64_t begin, std::int64_t end, int) {
    count_elementwise(2 * (end - begin) * y.width());
    for (std::int64_t r = begin; r < end; ++r) {
      const float *first = x.row(first_of(r, a.group)), *second = x.row(first_of(r, a.group) + a.group);
      for (std::int64_t i = 0; i < y.width(); ++i) y.row(r)[i] = first[i] - value * second[i];
    }
  });
}

// λ's gradient is summed row by row, then over the rows in order: the same for any number of threads.
void run_difference_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &x = launch.inputs[1], &dx = launch.outputs[0], &d_vectors = launch.outputs[1];
  const auto& a = launch.op.attributes<DifferenceAttributes>();
  const std::span<const float> vectors = launch.inputs[2].parameter->values;
  const Lambda l = lambda(vectors, a.initial);
  const std::int64_t width = dy.width();
  std::vector<float> sums(d_vectors.there() ? static_cast<std::size_t>(dy.rows()) : 0);
  over_rows(launch.machine, dy.rows(), 4 * width, [&](std::int64_t begin, std::int64_t end, int) {
    count_elementwise((sums.empty() ? 1 : 3) * (end - begin) * width);
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t first = first_of(r, a.group), second = first + a.group;
      const float *d = dy.row(r), *from = x.row(second);
      float sum = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        dx.row(first)[i] = d[i];
        dx.row(second)[i] = -l.value * d[i];
        sum -= d[i] * from[i];
      }
      if (!sums.empty()) sums[static_cast<std::size_t>(r)] = sum;
    }
  });
  if (!d_vectors.there()) return;
  float total = 0;
  for (const float sum : sums) total += sum;
  count_elementwise(static_cast<std::int64_t>(vectors.size()) + 2);
  const std::size_t n = vectors.size() / 4;
  const bool adds = launch.adds(d_vectors);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::size_t which = i / n;
    const float other = vectors[(which ^ 1) * n + i % n];
    const float gradient = (which < 2 ? total * l.first : -total * l.second) * other;
    float& to = d_vectors.floats()[i];
    to = adds ? to + gradient : gradient;
  }
}

}  // namespace reckon
