// One function for each operation, and the table of them. Those of mixtures stand in reference_mixture.cpp.
#include "reference_ops.h"

#include "reference_call.h"
#include "backend/cpu/random.h"
#include "ops/activate.h"
#include "ops/add.h"
#include "ops/attention.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embed.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/scale.h"
#include "ops/softcap.h"
#include "ops/softmax.h"
#include "ops/split.h"
#include "ops/view.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

namespace reckon {
namespace {

void copy(const Call& c) { c.out(0) = c.in(0); }

void embed_rows(const Call& c) {
  Values& y = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = c.in(0)[static_cast<std::size_t>(c.in(1)[i / width]) * width + i % width];
  }
}

void sum(const Call& c) {
  Values& y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(0)[i] + c.in(1)[i % c.in(1).size()];
}

void multiply_by(const Call& c) {
  Values& y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.op.attributes<ScaleAttributes>().factor * c.in(0)[i];
}

// What is dropped is told by the hash of (seed 0, no layer, stream, element).
void drop(const Call& c) {
  Values& y = c.out(0);
  const auto [probability, stream] = c.op.attributes<DropoutAttributes>();
  const std::uint64_t seed = mixed(mixed(0) + static_cast<std::uint64_t>(stream));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool dropped = static_cast<double>(mixed(seed + i) >> 11) * 0x1p-53 < probability;
    y[i] = dropped ? 0.0 : c.in(0)[i] / (1.0 - probability);
  }
}

double capped(double x, double cap) { return cap == 0 ? x : cap * std::tanh(x / cap); }

void cap(const Call& c) {
  Values& y = c.out(0);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = capped(c.in(0)[i], c.op.attributes<SoftcapAttributes>().cap);
}

void product(const Call& c) {
  Values& y = c.out(0);
  const std::size_t width = c.in_size(0, -1), n = c.out_size(0, -1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / n, column = i % n;
    y[i] = c.has(2) ? c.in(2)[column] : 0.0;
    for (std::size_t k = 0; k < width; ++k) y[i] += c.in(0)[row * width + k] * c.in(1)[column * width + k];
  }
}

double activation(Activation kind, double x) {
  switch (kind) {
    case Activation::gelu:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::relu_squared:
      return x > 0 ? x * x : 0.0;
    case Activation::silu:
      return x * sigmoid(x);
  }
  throw std::logic_error("an activation that the reference does not know");
}

void activate_all(const Call& c) {
  Values& y = c.out(0);
  const auto [kind, limit] = c.op.attributes<ActivateAttributes>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double gate = c.in(0)[i];
    if (!c.has(1)) {
      y[i] = activation(kind, gate);
    } else if (limit == 0) {
      y[i] = activation(kind, gate) * c.in(1)[i];
    } else {
      const double g = std::min(gate, limit), u = std::clamp(c.in(1)[i], -limit, limit);
      y[i] = g * sigmoid(1.702 * g) * (u + 1.0);
    }
  }
}

void normalise(const Call& c) {
  Values& y = c.out(0);
  const std::size_t width = c.in_size(0, -1);
  const bool layer = c.op.operation == &layer_norm_operation;
  const auto& a = c.op.attributes<NormAttributes>();
  const auto n = static_cast<double>(width);
  for (std::size_t row = 0; row < y.size(); row += width) {
    const double* x = &c.in(0)[row];
    const double mean = layer ? std::accumulate(x, x + width, 0.0) / n : 0.0;
    double squares = 0;
    for (std::size_t k = 0; k < width; ++k) squares += (x[k] - mean) * (x[k] - mean);
    const double root = std::sqrt(squares / n + a.epsilon);
    for (std::size_t k = 0; k < width; ++k) {
      double& value = y[row + k] = (x[k] - mean) / root;
      if (c.has(1)) value *= c.in(1)[(row + k) % c.in(1).size()] + (a.weight_plus_one ? 1.0 : 0.0);
      if (c.has(2)) value += c.in(2)[(row + k) % c.in(2).size()];
    }
  }
}

void rotate(const Call& c) {
  Values& y = c.out(0) = c.in(0);
  const std::size_t tokens = c.in_size(0, 1), heads = c.in_size(0, 2), width = c.in_size(0, 3);
  const std::size_t half = c.in_size(1, -1) / 2;
  const bool interleaved = c.op.attributes<RopeAttributes>().interleaved;
  for (std::size_t row = 0; row * width < y.size(); ++row) {
    const double* angles = &c.in(1)[row / heads % tokens * 2 * half];
    for (std::size_t i = 0; i < half; ++i) {
      double& a = y[row * width + (interleaved ? 2 * i : i)];
      double& b = y[row * width + (interleaved ? 2 * i + 1 : i + half)];
      const double cosine = angles[i], sine = angles[half + i], first = a, second = b;
      a = first * cosine - second * sine;
      b = first * sine + second * cosine;
    }
  }
}

// Calls body(b, h, t, s, place in the grid) for a grid of batch × heads × queries × keys.
template <class Body>
void over_grid(const Shape& grid, const Body& body) {
  const auto heads = static_cast<std::size_t>(grid[1].size), queries = static_cast<std::size_t>(grid[2].size),
             keys = static_cast<std::size_t>(grid[3].size), all = static_cast<std::size_t>(grid.elements());
  for (std::size_t i = 0; i < all; ++i) {
    body(i / (keys * queries * heads), i / (keys * queries) % heads, i / keys % queries, i % keys, i);
  }
}

void score(const Call& c) {
  Values& s = c.out(0);
  const std::size_t heads = c.in_size(0, 2), kv_heads = c.in_size(1, 2), width = c.in_size(0, 3);
  const auto& a = c.op.attributes<ScoresAttributes>();
  over_grid(c.program[c.op.outputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* query = &c.in(0)[((b * c.in_size(0, 1) + t) * heads + h) * width];
    const double* key = &c.in(1)[((b * c.in_size(1, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    s[at] = capped(std::inner_product(query, query + width, key, 0.0) * a.scale, a.softcap);
  });
}

// Press et al., arXiv 2108.12409: 2^(−8i/n) for n heads; where n is no power of two, the slopes of the one below it,
// then every other one of twice as many.
double slope(std::size_t head, std::size_t heads) {
  const double power = std::exp2(std::floor(std::log2(static_cast<double>(heads))));
  const auto i = static_cast<double>(head);
  return i < power ? std::exp2(-8.0 / power * (i + 1)) : std::exp2(-4.0 / power * (2 * (i - power) + 1));
}

void soften(const Call& c) {
  Values& p = c.out(0);
  const Shape& grid = c.program[c.op.outputs[0]].shape;
  const auto heads = static_cast<std::size_t>(grid[1].size), keys = static_cast<std::size_t>(grid[3].size);
  const auto& a = c.op.attributes<SoftmaxAttributes>();
  const auto window = static_cast<double>(a.mask.window);
  over_grid(grid, [&](auto, auto h, auto t, auto k, auto at) {
    const auto distance = static_cast<double>(t) - static_cast<double>(k);
    const bool hidden = (a.mask.causal && distance < 0) || (window > 0 && distance >= window);
    p[at] = hidden ? 0.0 : std::exp(c.in(0)[at] - a.alibi * slope(h, heads) * distance);
  });
  for (std::size_t row = 0; row < p.size(); row += keys) {
    const auto begin = p.begin() + static_cast<std::ptrdiff_t>(row), end = begin + static_cast<std::ptrdiff_t>(keys);
    double total = std::accumulate(begin, end, 0.0);
    if (c.has(1)) total += std::exp(c.in(1)[row / (keys * static_cast<std::size_t>(grid[2].size)) % heads]);
    std::for_each(begin, end, [&](double& weight) { weight /= total; });
  }
}

void mix_values(const Call& c) {
  Values& y = c.out(0);
  const std::size_t heads = c.in_size(0, 1), kv_heads = c.in_size(1, 2), width = c.in_size(1, 3);
  over_grid(c.program[c.op.inputs[0]].shape, [&](auto b, auto h, auto t, auto k, auto at) {
    const double* value = &c.in(1)[((b * c.in_size(1, 1) + k) * kv_heads + h * kv_heads / heads) * width];
    double* sum = &y[((b * c.in_size(0, 2) + t) * heads + h) * width];
    for (std::size_t i = 0; i < width; ++i) sum[i] += c.in(0)[at] * value[i];
  });
}

void split_parts(const Call& c) {
  Values &a = c.out(0), &b = c.out(1);
  const std::size_t width = c.in_size(0, -1), first = c.out_size(0, -1);
  for (std::size_t i = 0; i < c.in(0).size(); ++i) {
    const std::size_t row = i / width, k = i % width;
    (k < first ? a[row * first + k] : b[row * (width - first) + k - first]) = c.in(0)[i];
  }
}

// A second part with one head serves all heads of the first.
void join_parts(const Call& c) {
  Values& y = c.out(0);
  const std::size_t first = c.in_size(0, -1), second = c.in_size(1, -1), width = first + second;
  const std::size_t served = c.in(0).size() / first / (c.in(1).size() / second);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / width, k = i % width;
    y[i] = k < first ? c.in(0)[row * first + k] : c.in(1)[row / served * second + k - first];
  }
}

// The mean over rows that have a label of −log softmax(row)[label].
void mean_loss(const Call& c) {
  Values& loss = c.out(0);
  const std::size_t words = c.in_size(0, -1);
  double counted = 0;
  for (std::size_t row = 0; row < c.in(1).size(); ++row) {
    if (c.in(1)[row] < 0) continue;
    const double* logits = &c.in(0)[row * words];
    double total = 0;
    for (std::size_t v = 0; v < words; ++v) total += std::exp(logits[v]);
    loss[0] += std::log(total) - logits[static_cast<std::size_t>(c.in(1)[row])];
    ++counted;
  }
  loss[0] /= counted;
}

using Rule = void (*)(const Call&);

Rule rule_of(const Operation& operation) {
  static const std::pair<const Operation*, Rule> rules[] = {
      {&view_operation, copy},
      {&embed_operation, embed_rows},
      {&add_operation, sum},
      {&scale_operation, multiply_by},
      {&dropout_operation, drop},
      {&softcap_operation, cap},
      {&matmul_operation, product},
      {&activate_operation, activate_all},
      {&layer_norm_operation, normalise},
      {&rms_norm_operation, normalise},
      {&rope_operation, rotate},
      {&scores_operation, score},
      {&softmax_operation, soften},
      {&mix_operation, mix_values},
      {&split_operation, split_parts},
      {&join_operation, join_parts},
      {&route_operation, choose_experts},
      {&dispatch_operation, dispatch_rows},
      {&grouped_matmul_operation, grouped_product},
      {&combine_operation, combine_rows},
      {&cross_entropy_operation, mean_loss},
  };
  for (const auto& [candidate, rule] : rules) {
    if (candidate == &operation) return rule;
  }
  throw std::logic_error("the reference knows no " + std::string(operation.name));
}

}  // namespace

void evaluate(const Program& program, ReferenceValues& values) {
  values.resize(program.tensors.size());
  for (const Op& op : program.ops) rule_of (*op.operation)({program, op, values});
}

}  // namespace reckon
