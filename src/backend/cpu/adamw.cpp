// The optimizer: the sum of squared gradients, and AdamW's update in one pass over memory. Both go in pieces of a fixed
// size, whose sums are added from the first to the last.
#include "backend/cpu/adamw.h"

#include "files/float_types.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"
#include "ops/adamw.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/adamw.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

template <class D>
HWY_INLINE std::int64_t update_lanes(D d, const AdamStep& a, float* w, const float* g, float* m, float* v,
                                     std::int64_t i, std::int64_t n, Squares& squares) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto clip = hn::Set(d, a.clip), beta1 = hn::Set(d, a.beta1), beta2 = hn::Set(d, a.beta2);
  const auto rest1 = hn::Set(d, 1.0f - a.beta1), rest2 = hn::Set(d, 1.0f - a.beta2);
  const auto rate = hn::Set(d, a.rate), root = hn::Set(d, a.root), epsilon = hn::Set(d, a.epsilon);
  const auto keep_share = hn::Set(d, a.shrink);
  auto gradients = hn::Zero(d), updates = hn::Zero(d), weights = hn::Zero(d);
  for (; i + lanes <= n; i += lanes) {
    const auto raw = hn::LoadU(d, g + i);
    const auto gradient = hn::Mul(raw, clip);
    const auto first = hn::MulAdd(beta1, hn::LoadU(d, m + i), hn::Mul(rest1, gradient));
    const auto second = hn::MulAdd(beta2, hn::LoadU(d, v + i), hn::Mul(rest2, hn::Mul(gradient, gradient)));
    const auto old = hn::LoadU(d, w + i);
    const auto step = hn::Div(hn::Mul(rate, first), hn::MulAdd(hn::Sqrt(second), root, epsilon));
    const auto next = hn::Sub(hn::Mul(old, keep_share), step);
    hn::StoreU(first, d, m + i);
    hn::StoreU(second, d, v + i);
    hn::StoreU(next, d, w + i);
    const auto change = hn::Sub(next, old);
    gradients = hn::MulAdd(raw, raw, gradients);
    updates = hn::MulAdd(change, change, updates);
    weights = hn::MulAdd(next, next, weights);
  }
  squares.gradient += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, gradients)));
  squares.update += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, updates)));
  squares.weight += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, weights)));
  return i;
}

void update(const AdamStep& a, float* w, const float* g, float* m, float* v, std::int64_t n, Squares& squares) {
  const std::int64_t done = update_lanes(Floats(), a, w, g, m, v, 0, n, squares);
  update_lanes(OneFloat(), a, w, g, m, v, done, n, squares);
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {

HWY_EXPORT(update);

void adam_update(const AdamStep& step, float* w, const float* g, float* m, float* v, std::int64_t n, Squares& squares) {
  count_elementwise(n * (step.shrink != 1.0f ? 16 : 15));  // the squares are for those who watch
  HWY_DYNAMIC_DISPATCH(update)(step, w, g, m, v, n, squares);
}

namespace {

constexpr std::int64_t piece = 8192;

std::int64_t elements(const View& view) {
  std::int64_t count = 1;
  for (int i = 0; i < view.rank; ++i) count *= view.size[i];
  return count;
}

// The products that read a narrower type than the optimizer's get the new values in theirs.
void narrow(const BoundParameter& parameter, std::int64_t begin, std::int64_t n) {
  if (parameter.matrices.empty() || parameter.matrices[0].dtype != DType::bfloat16) return;
  auto* to = static_cast<std::uint16_t*>(const_cast<void*>(parameter.matrices[0].data)) + begin;
  for (std::int64_t i = 0; i < n; ++i) to[i] = to_bfloat16(parameter.master[begin + i]);
}

}  // namespace

void run_squared_norm(const Launch& launch) {
  const View &before = launch.inputs[0], &gradient = launch.inputs[1];
  const std::int64_t n = elements(gradient), pieces = (n + piece - 1) / piece;
  auto* sums = reinterpret_cast<double*>(launch.machine.scratch.shared().data());
  check_pieces(launch.machine.scratch.shared().size() * sizeof(float), pieces, sizeof(double));
  launch.machine.run(pieces, [&](std::int64_t task, int) {
    const float* from = gradient.floats() + task * piece;
    const std::int64_t count = std::min(piece, n - task * piece);
    sums[task] = static_cast<double>(vector_dot(from, from, count));
  });
  double sum = before.there() ? static_cast<double>(before.floats()[0]) : 0.0;
  for (std::int64_t i = 0; i < pieces; ++i) sum += sums[i];
  count_elementwise(pieces);
  launch.outputs[0].floats()[0] = static_cast<float>(sum);
}

void run_adamw(const Launch& launch) {
  const BoundParameter& parameter = *launch.inputs[0].parameter;
  const View &gradient = launch.inputs[1], &first = launch.inputs[2], &second = launch.inputs[3];
  const TrainingStep& t = *launch.training;
  const double norm = std::sqrt(static_cast<double>(launch.inputs[4].floats()[0]));
  if (!std::isfinite(norm)) return;
  const double clip = t.clip > 0 ? std::min(1.0, t.clip / (norm + 1e-6)) : 1.0;
  const double step = static_cast<double>(t.step);
  const AdamStep a{
      static_cast<float>(clip),
      static_cast<float>(t.beta1),
      static_cast<float>(t.beta2),
      static_cast<float>(t.learning_rate / (1.0 - std::pow(t.beta1, step))),
      static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(t.beta2, step))),
      static_cast<float>(t.epsilon),
      static_cast<float>(launch.op.attributes<AdamwAttributes>().decay ? 1.0 - t.learning_rate * t.decay : 1.0)};
  const std::int64_t n = elements(gradient), pieces = (n + piece - 1) / piece;
  auto* sums = reinterpret_cast<Squares*>(launch.machine.scratch.shared().data());
  check_pieces(launch.machine.scratch.shared().size() * sizeof(float), pieces, sizeof(Squares));
  launch.machine.run(pieces, [&](std::int64_t task, int) {
    const std::int64_t begin = task * piece, count = std::min(piece, n - begin);
    sums[task] = {};
    adam_update(a, parameter.master + begin, gradient.floats() + begin, first.floats() + begin, second.floats() + begin,
                count, sums[task]);
    narrow(parameter, begin, count);
  });
  if (parameter.squares == nullptr) return;
  *parameter.squares = {};
  for (std::int64_t i = 0; i < pieces; ++i) *parameter.squares += sums[i];
}

}  // namespace reckon
#endif
