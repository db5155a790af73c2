// Recurrences whose state decays element by element: heads are shared out, and each goes through its tokens in order.
// A cache has two states of a sequence: position 0 is read, position 1 written.
#include "backend/cpu/scan.h"

#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/scan.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// e^(Δ·A) of a head: N of them, alike where the head has one A.
HWY_INLINE void decays(const ScanText& s, std::int64_t t, std::int64_t head, float* alphas) {
  const float step = s.step_of(t, head);
  if (!s.each_state) {
    std::fill_n(alphas, s.states, std::exp(step * s.rates[head]));
    return;
  }
  const D d;
  const float* rates = s.rates + head * s.states;
  for_vectors(s.states, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    store(exponential(d, hn::Mul(hn::Set(d, step), load(rates + i, count))), alphas + i, count);
  });
}

// What x is multiplied by before it enters the state.
HWY_INLINE float entry(const ScanText& s, std::int64_t t, std::int64_t head, float alpha) {
  if (s.rule == ScanRule::state_space) return s.step_of(t, head);
  if (s.rule == ScanRule::lightning || (s.begins && t == 0)) return 1.0f;
  return std::sqrt(1.0f - alpha * alpha);
}

// next ← α·state + k·u, of one value's N; next may be state. Returns the sum of next·q.
HWY_INLINE float advance(const float* state, const float* alphas, const float* key, const float* query, float u,
                         std::int64_t n, float* next) {
  const D d;
  const V in = hn::Set(d, u);
  V sum = hn::Zero(d);
  for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
    const V old = hn::Mul(load(state + i, count), load(alphas + i, count));
    const V s = key == nullptr ? hn::Add(old, in) : hn::MulAdd(load(key + i, count), in, old);
    store(s, next + i, count);
    if (query != nullptr) sum = hn::MulAdd(s, load(query + i, count), sum);
  });
  return query != nullptr ? sum_lanes(sum) : next[0];
}

// All tokens of a head. `state` (P × N) is changed.
void ScanHead(const ScanText& s, std::int64_t head, float* state, float* alphas, float* y) {
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    decays(s, t, head, alphas);
    const float in = entry(s, t, head, alphas[0]), skip = s.skip != nullptr ? s.skip[head] : 0.0f;
    const float* key = s.key != nullptr ? s.key + s.key_at(t, head) : nullptr;
    const float* query = s.query != nullptr ? s.query + s.key_at(t, head) : nullptr;
    const float* x = s.x_of(t, head);
    float* out = y + (t * s.heads + head) * s.width;
    for (std::int64_t p = 0; p < s.width; ++p) {
      float* const at = state + p * s.states;
      out[p] = advance(at, alphas, key, query, in * x[p], s.states, at) + skip * x[p];
    }
  }
}

void ScanHeadBackward(const ScanText& s, std::int64_t head, const ScanGradients& to) {
  const D d;
  const std::int64_t size = s.width * s.states, n = s.states;
  std::fill_n(to.states, size, 0.0f);
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    decays(s, t, head, to.alphas);
    const float in = entry(s, t, head, to.alphas[0]);
    const float* key = s.key != nullptr ? s.key + s.key_at(t, head) : nullptr;
    for (std::int64_t p = 0; p < s.width; ++p) {
      const float* before = to.states + t * size + p * n;
      advance(before, to.alphas, key, nullptr, in * s.x_of(t, head)[p], n, to.states + (t + 1) * size + p * n);
    }
  }
  std::fill_n(to.g, size, 0.0f);
  for (std::int64_t t = s.tokens - 1; t >= 0; --t) {
    decays(s, t, head, to.alphas);
    const float step = s.step_of(t, head), in = entry(s, t, head, to.alphas[0]);
    const float skip = s.skip != nullptr ? s.skip[head] : 0.0f;
    const float *x = s.x_of(t, head), *dy = to.dy + (t * s.heads + head) * s.width;
    const std::int64_t at = s.key_at(t, head);
    float d_entry = 0.0f;
    std::fill_n(to.d_alphas, n, 0.0f);
    for (std::int64_t p = 0; p < s.width; ++p) {
      const float *before = to.states + t * size + p * n, *after = before + size;
      float* const g = to.g + p * n;
      const V from = hn::Set(d, dy[p]), u = hn::Set(d, in * x[p]);
      V sum = hn::Zero(d);
      for_vectors(n, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
        V each = load(g + i, count);
        if (s.query != nullptr) {
          each = hn::MulAdd(load(s.query + at + i, count), from, each);
          store(hn::MulAdd(load(after + i, count), from, load(to.d_query + at + i, count)), to.d_query + at + i, count);
          store(hn::MulAdd(each, u, load(to.d_key + at + i, count)), to.d_key + at + i, count);
          sum = hn::MulAdd(each, load(s.key + at + i, count), sum);
        } else {
          each = hn::Add(each, from);
          sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), each));
        }
        store(hn::MulAdd(each, load(before + i, count), load(to.d_alphas + i, count)), to.d_alphas + i, count);
        store(hn::Mul(each, load(to.alphas + i, count)), g + i, count);
      });
      const float du = sum_lanes(sum);
      d_entry += du * x[p];
      to.dx[(t * s.heads + head) * s.width + p] = in * du + skip * dy[p];
      if (to.d_skip != nullptr) to.d_skip[head] += dy[p] * x[p];
    }
    if (s.step == nullptr) continue;  // lightning, whose decays are given
    float d_step = s.rule == ScanRule::state_space ? d_entry : 0.0f;
    if (s.rule == ScanRule::rg_lru && t > 0) to.d_alphas[0] -= d_entry * to.alphas[0] / std::max(in, 1.0f / 2000.0f);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t rate = s.each_state ? head * n + i : head;
      const float along = to.d_alphas[i] * to.alphas[i];
      d_step += along * s.rates[rate];
      to.d_rates[rate] += along * step;
    }
    to.d_step[t * s.heads + head] = d_step;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {
namespace {

HWY_EXPORT(ScanHead);
HWY_EXPORT(ScanHeadBackward);

const float* values_of(const View& view) {
  if (!view.there()) return nullptr;
  return view.parameter != nullptr ? view.parameter->values.data() : view.floats();
}

// A of each a, which is made once.
std::vector<float> rates_of(ScanRule rule, const View& decay) {
  const float* a = values_of(decay);
  std::vector<float> rates(static_cast<std::size_t>(decay.rows() * decay.width()));
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i] = rule == ScanRule::state_space ? -std::exp(a[i])
               : rule == ScanRule::lightning ? -a[i]
                                             : -8.0f * (std::max(a[i], 0.0f) + std::log1p(std::exp(-std::abs(a[i]))));
  }
  return rates;
}

// `first` is the input that is x.
ScanText text_of(const Launch& launch, std::size_t first, const std::vector<float>& rates) {
  const View &x = launch.inputs[first], &key = launch.inputs[first + 3];
  ScanText text{};
  text.rule = launch.op.attributes<ScanAttributes>().rule;
  text.tokens = x.size[1];
  text.heads = x.size[2];
  text.width = x.size[3];
  text.groups = key.there() ? key.size[2] : text.heads;
  text.states = key.there() ? key.size[3] : 1;
  text.each_state = text.states > 1 && std::ssize(rates) == text.heads * text.states;
  text.rates = rates.data();
  text.skip = values_of(launch.inputs[first + 5]);
  return text;
}

// The text of sequence b. Everything lies row-major: no op before it makes a part of a tensor.
void set_sequence(const Launch& launch, std::size_t first, std::int64_t b, ScanText& text) {
  const auto at = [&](std::size_t i) {
    const View& view = launch.inputs[first + i];
    return view.there() ? view.floats() + b * view.stride[0] : nullptr;
  };
  text.x = at(0);
  text.step = at(1);
  text.key = at(3);
  text.query = at(4);
}

// As the cost rule says: of each state, of each of a and token, of each value.
void count_head(const ScanText& s, std::int64_t products, std::int64_t state, std::int64_t decay, std::int64_t value) {
  const std::int64_t values = s.tokens * s.width;
  count_products(products * values * s.states);
  count_elementwise(state * values * s.states + decay * s.tokens * (s.each_state ? s.states : 1) + value * values);
}

}  // namespace

void run_scan(const Launch& launch) {
  const View &decay = launch.inputs[scan_input::decay], &y = launch.outputs[0];
  const View cache = launch.inputs[scan_input::state];
  const bool starts = launch.inputs.size() > scan_input::starts;
  const std::vector<float> rates = rates_of(launch.op.attributes<ScanAttributes>().rule, decay);
  const ScanText text = text_of(launch, scan_input::x, rates);
  count_elementwise(std::ssize(rates) * (text.rule == ScanRule::rg_lru ? 4 : 2));
  const std::int64_t batch = y.size[0], size = text.width * text.states;
  over_rows(launch.machine, batch * text.heads, 8 * text.tokens * size,
            [&](std::int64_t first, std::int64_t last, int worker) {
              std::vector<float> more;
              float* const state = launch.machine.scratch.of(worker, size + text.states, more).data();
              for (std::int64_t i = first; i < last; ++i) {
                const std::int64_t b = i / text.heads, head = i % text.heads;
                ScanText own = text;
                set_sequence(launch, scan_input::x, b, own);
                own.begins = !cache.there() || !starts || launch.inputs[scan_input::starts].integers()[b] == 0;
                if (own.begins) {
                  std::fill_n(state, size, 0.0f);
                } else {
                  std::copy_n(cache.position(b, 0) + head * size, size, state);
                }
                HWY_DYNAMIC_DISPATCH(ScanHead)(own, head, state, state + size, y.floats() + b * y.stride[0]);
                if (cache.there()) std::copy_n(state, size, cache.position(b, 1) + head * size);
                if (own.rule == ScanRule::state_space) {
                  count_head(own, 2, 1, 2, 3);
                } else if (own.rule == ScanRule::lightning) {
                  count_head(own, 2, 1, 0, 0);
                } else {
                  count_head(own, 0, 0, 0, 8);
                }
              }
            });
}

// The heads that share keys and queries are taken in slices, by their number alone; what each slice adds to the
// gradients of these is summed from the first to the last.
void run_scan_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &dx = launch.outputs[0], &d_step = launch.outputs[1];
  const View &d_decay = launch.outputs[2], &d_key = launch.outputs[3], &d_query = launch.outputs[4];
  const View& d_skip = launch.outputs[5];
  const ScanRule rule = launch.op.attributes<ScanAttributes>().rule;
  const View& decay = launch.inputs[1 + scan_input::decay];
  const std::vector<float> rates = rates_of(rule, decay);
  const ScanText text = text_of(launch, 1, rates);
  const std::int64_t batch = dx.size[0], size = text.width * text.states;
  const std::int64_t shared = text.heads / text.groups;
  const std::int64_t of_group = std::min<std::int64_t>(shared, 8), slices = text.groups * of_group;
  const std::int64_t keys = text.tokens * text.groups * text.states;
  std::vector<float> d_rates(rates.size()), d_skips(static_cast<std::size_t>(text.heads));
  const bool keyed = d_key.there();
  std::vector<float> partial(keyed ? static_cast<std::size_t>(2 * of_group * keys) : 0);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::fill(partial.begin(), partial.end(), 0.0f);
    launch.machine.run(slices, [&](std::int64_t slice, int) {
      const std::int64_t group = slice / of_group, nth = slice % of_group;
      ScanText own = text;
      set_sequence(launch, 1, b, own);
      own.begins = true;
      std::vector<float> room(static_cast<std::size_t>((text.tokens + 2) * size + 2 * text.states));
      ScanGradients to{};
      to.dy = dy.floats() + b * dy.stride[0];
      to.dx = dx.floats() + b * dx.stride[0];
      to.d_step = d_step.there() ? d_step.floats() + b * d_step.stride[0] : nullptr;
      to.d_rates = d_rates.data();
      to.d_key = keyed ? partial.data() + nth * keys : nullptr;
      to.d_query = keyed ? partial.data() + (of_group + nth) * keys : nullptr;
      to.d_skip = own.skip != nullptr ? d_skips.data() : nullptr;
      to.states = room.data();
      to.g = to.states + (text.tokens + 1) * size;
      to.alphas = to.g + size;
      to.d_alphas = to.alphas + text.states;
      const std::int64_t first = group * shared + nth * shared / of_group;
      const std::int64_t last = group * shared + (nth + 1) * shared / of_group;
      for (std::int64_t head = first; head < last; ++head) {
        HWY_DYNAMIC_DISPATCH(ScanHeadBackward)(own, head, to);
        if (rule == ScanRule::state_space) {
          count_head(own, 5, 4, 7, 8);
        } else if (rule == ScanRule::lightning) {
          count_head(own, 5, 2, 0, 0);
        } else {
          count_head(own, 0, 0, 0, 20);
        }
      }
    });
    if (!keyed) continue;
    for (std::int64_t i = 0; i < keys; ++i) {
      float key = 0.0f, query = 0.0f;
      for (std::int64_t slice = 0; slice < of_group; ++slice) {
        key += partial[static_cast<std::size_t>(slice * keys + i)];
        query += partial[static_cast<std::size_t>((of_group + slice) * keys + i)];
      }
      d_key.floats()[b * d_key.stride[0] + i] = key;
      d_query.floats()[b * d_query.stride[0] + i] = query;
    }
  }
  count_elementwise(std::ssize(rates) * (rule == ScanRule::state_space ? 3 : rule == ScanRule::lightning ? 2 : 9));
  if (d_decay.there()) {
    const float* a = values_of(decay);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const float slope = rule == ScanRule::rg_lru ? -8.0f / (1.0f + std::exp(-a[i])) : rates[i];
      float& to = d_decay.floats()[i];
      to = (launch.adds(d_decay) ? to : 0.0f) + d_rates[i] * slope;
    }
  }
  if (d_skip.there()) {
    for (std::size_t i = 0; i < d_skips.size(); ++i) {
      float& to = d_skip.floats()[i];
      to = (launch.adds(d_skip) ? to : 0.0f) + d_skips[i];
    }
  }
}

}  // namespace reckon
#endif
