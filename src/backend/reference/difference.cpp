// What the first of two heads mixed, less λ times what the second did; and back.
#include "ops/difference.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

struct Lambda {
  double first, second, value;  // e^(a·b), e^(c·d), and λ
};

Lambda lambda(In vectors, double initial) {
  const std::size_t n = vectors.size() / 4;
  double ab = 0, cd = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ab += vectors[i] * vectors[n + i];
    cd += vectors[2 * n + i] * vectors[3 * n + i];
  }
  return {std::exp(ab), std::exp(cd), std::exp(ab) - std::exp(cd) + initial};
}

// Where in x the first of the pair lies whose result is at `i`, and how much further on the second does.
struct Pair {
  std::size_t first, distance;
};

Pair pair_at(std::size_t i, std::size_t group, std::size_t width) {
  const std::size_t head = i / width, place = head / group * 2 * group + head % group;
  return {place * width + i % width, group * width};
}

}  // namespace

void difference(const Call& c) {
  const auto& a = c.op.attributes<DifferenceAttributes>();
  const Out y = c.out(0);
  const Lambda l = lambda(c.in(1), a.initial);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Pair at = pair_at(i, static_cast<std::size_t>(a.group), c.out_size(0, -1));
    y[i] = c.in(0)[at.first] - l.value * c.in(0)[at.first + at.distance];
  }
  c.count(2 * y.size() + c.in(1).size() + 2);
}

// Inputs: dy, x, vectors.
void difference_backward(const Call& c) {
  const auto& a = c.op.attributes<DifferenceAttributes>();
  const Out dx = c.out(0);
  const In dy = c.in(0), vectors = c.in(2);
  const Lambda l = lambda(vectors, a.initial);
  double sum = 0;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const Pair at = pair_at(i, static_cast<std::size_t>(a.group), c.out_size(0, -1));
    dx[at.first] = dy[i];
    dx[at.first + at.distance] = -l.value * dy[i];
    sum -= dy[i] * c.in(1)[at.first + at.distance];
  }
  c.count((c.wants(1) ? 3 : 1) * dy.size() + (c.wants(1) ? 2 : 1) * (vectors.size() + 2));
  if (!c.wants(1)) return;
  const Out d = c.out(1);
  const std::size_t n = vectors.size() / 4;
  for (std::size_t i = 0; i < n; ++i) {
    d[i] = sum * l.first * vectors[n + i];
    d[n + i] = sum * l.first * vectors[i];
    d[2 * n + i] = -sum * l.second * vectors[3 * n + i];
    d[3 * n + i] = -sum * l.second * vectors[2 * n + i];
  }
}

}  // namespace reckon::reference
