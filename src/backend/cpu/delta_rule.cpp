// The gated delta rule: heads are shared out, and each goes through its tokens in order.
// A cache has two states of a sequence: position 0 is read, position 1 written.
#include "backend/cpu/delta_rule.h"

#include "backend/cpu/kernels.h"
#include "ops/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/delta_rule.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reckon {
namespace HWY_NAMESPACE {

// y ← y + factor·x
HWY_INLINE void add_scaled(float* y, const float* x, float factor, std::int64_t n) {
  const V f = hn::Set(D(), factor);
  for_vectors(n, [&](std::int64_t i, std::int64_t count)
                     HWY_ATTR { store(hn::MulAdd(load(x + i, count), f, load(y + i, count)), y + i, count); });
}

// The state (K × V) after token t, from that before it; `missed` becomes v − Sᵀ·k. They may lie at one place.
HWY_INLINE void advance(const DeltaText& s, std::int64_t t, std::int64_t head, const float* before, float* after,
                        float* missed) {
  const D d;
  const float *key = s.key + s.key_at(t, head), *value = s.value + s.value_at(t, head);
  const float *step = s.step + s.step_at(t, head), beta = s.beta[t * s.heads + head], rate = s.rates[head];
  std::copy_n(value, s.width, missed);
  float decay = std::exp(step[0] * rate);
  for (std::int64_t k = 0; k < s.keys; ++k) {
    if (s.steps > 1) decay = std::exp(step[k] * rate);
    const V alpha = hn::Set(d, decay), by = hn::Set(d, key[k]);
    const float* from = before + k * s.width;
    float* to = after + k * s.width;
    for_vectors(s.width, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const V decayed = hn::Mul(load(from + i, count), alpha);
      store(decayed, to + i, count);
      store(hn::NegMulAdd(decayed, by, load(missed + i, count)), missed + i, count);
    });
  }
  for (std::int64_t k = 0; k < s.keys; ++k) add_scaled(after + k * s.width, missed, key[k] * beta, s.width);
}

// All tokens of a head. `state` is changed; `missed` has room for V.
void DeltaHead(const DeltaText& s, std::int64_t head, float* state, float* missed, float* y) {
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    advance(s, t, head, state, state, missed);
    const float* query = s.query + s.key_at(t, head);
    float* out = y + s.value_at(t, head);
    std::fill_n(out, s.width, 0.0f);
    for (std::int64_t k = 0; k < s.keys; ++k) add_scaled(out, state + k * s.width, query[k], s.width);
  }
}

void DeltaHeadBackward(const DeltaText& s, std::int64_t head, const DeltaGradients& to) {
  const D d;
  const std::int64_t size = s.keys * s.width, width = s.width;
  std::fill_n(to.states, size, 0.0f);
  for (std::int64_t t = 0; t < s.tokens; ++t)
    advance(s, t, head, to.states + t * size, to.states + (t + 1) * size, to.missed + t * width);
  std::fill_n(to.g, size, 0.0f);
  for (std::int64_t t = s.tokens - 1; t >= 0; --t) {
    const std::int64_t at = s.key_at(t, head), values = s.value_at(t, head), steps = s.step_at(t, head);
    const float *before = to.states + t * size, *after = before + size, *dy = to.dy + values;
    const float *missed = to.missed + t * width, beta = s.beta[t * s.heads + head], rate = s.rates[head];
    std::fill_n(to.d_delta, width, 0.0f);
    for (std::int64_t k = 0; k < s.keys; ++k) {
      float* g = to.g + k * width;
      const V query = hn::Set(d, s.query[at + k]), key = hn::Set(d, s.key[at + k]);
      V d_query = hn::Zero(d), d_key = hn::Zero(d);
      for_vectors(width, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
        const V out = load(dy + i, count), each = hn::MulAdd(query, out, load(g + i, count));
        store(each, g + i, count);
        d_query = hn::MulAdd(load(after + k * width + i, count), out, d_query);
        d_key = hn::MulAdd(each, load(missed + i, count), d_key);
        store(hn::MulAdd(each, key, load(to.d_delta + i, count)), to.d_delta + i, count);
      });
      to.d_query[at + k] += sum_lanes(d_query);
      to.d_key[at + k] += beta * sum_lanes(d_key);
    }
    V d_beta = hn::Zero(d);
    for_vectors(width, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
      const V delta = load(to.d_delta + i, count);
      store(hn::Mul(delta, hn::Set(d, beta)), to.d_value + values + i, count);
      d_beta = hn::MulAdd(delta, load(missed + i, count), d_beta);
    });
    to.d_beta[t * s.heads + head] = sum_lanes(d_beta);
    const float* d_value = to.d_value + values;  // what the state gave is this, negated
    float d_step = 0.0f, alpha = std::exp(s.step[steps] * rate);
    for (std::int64_t k = 0; k < s.keys; ++k) {
      const float step = s.step[steps + (s.steps > 1 ? k : 0)];
      if (s.steps > 1) alpha = std::exp(step * rate);
      float* g = to.g + k * width;
      const float* held = before + k * width;
      const V decay = hn::Set(d, alpha), key = hn::Set(d, s.key[at + k]);
      V d_key = hn::Zero(d), d_alpha = hn::Zero(d);
      for_vectors(width, [&](std::int64_t i, std::int64_t count) HWY_ATTR {
        const V found = load(d_value + i, count), old = load(held + i, count);
        d_key = hn::MulAdd(old, found, d_key);
        const V each = hn::NegMulAdd(key, found, load(g + i, count));
        d_alpha = hn::MulAdd(each, old, d_alpha);
        store(hn::Mul(each, decay), g + i, count);
      });
      to.d_key[at + k] -= alpha * sum_lanes(d_key);
      const float along = sum_lanes(d_alpha) * alpha;
      to.d_rates[head] += along * step;
      d_step += along * rate;
      if (s.steps > 1) {
        to.d_step[steps + k] = d_step;
        d_step = 0.0f;
      }
    }
    if (s.steps == 1) to.d_step[steps] = d_step;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace reckon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reckon {
namespace {

HWY_EXPORT(DeltaHead);
HWY_EXPORT(DeltaHeadBackward);

std::vector<float> rates_of(const View& decay) {
  const std::span<const float> stored = decay.parameter->values;
  std::vector<float> rates(stored.size());
  std::transform(stored.begin(), stored.end(), rates.begin(), [](float a) { return -std::exp(a); });
  return rates;
}

// `first` is the input that is the query. Everything lies row-major: no op before it makes a part of a tensor.
DeltaText text_of(const Launch& launch, std::size_t first, std::int64_t b, const std::vector<float>& rates) {
  const View &query = launch.inputs[first], &value = launch.inputs[first + 2], &step = launch.inputs[first + 3];
  const auto at = [&](std::size_t i) {
    return launch.inputs[first + i].floats() + b * launch.inputs[first + i].stride[0];
  };
  return {value.size[1], value.size[2], query.size[2], query.size[3], value.size[3], step.rank == 4 ? step.size[3] : 1,
          at(0),         at(1),         at(2),         at(3),         at(5),         rates.data()};
}

// As the cost rule says: of each state, of each step, of each value.
void count_head(const DeltaText& s, std::int64_t products, std::int64_t state, std::int64_t step, std::int64_t value) {
  const std::int64_t values = s.tokens * s.width;
  count_products(products * values * s.keys);
  count_elementwise(state * values * s.keys + step * s.tokens * s.steps + value * values);
}

}  // namespace

void run_delta_rule(const Launch& launch) {
  const View &cache = launch.inputs[delta_input::state], &y = launch.outputs[0];
  const bool starts = launch.inputs.size() > delta_input::starts;
  const std::vector<float> rates = rates_of(launch.inputs[delta_input::decay]);
  count_elementwise(2 * std::ssize(rates));
  const DeltaText text = text_of(launch, 0, 0, rates);
  const std::int64_t size = text.keys * text.width;
  over_rows(launch.machine, y.size[0] * text.heads, 8 * text.tokens * size,
            [&](std::int64_t first, std::int64_t last, int worker) {
              std::vector<float> more;
              float* const state = launch.machine.scratch.of(worker, size + text.width, more).data();
              for (std::int64_t i = first; i < last; ++i) {
                const std::int64_t b = i / text.heads, head = i % text.heads;
                const bool begins = !cache.there() || !starts || launch.inputs[delta_input::starts].integers()[b] == 0;
                if (begins) {
                  std::fill_n(state, size, 0.0f);
                } else {
                  std::copy_n(cache.position(b, 0) + head * size, size, state);
                }
                HWY_DYNAMIC_DISPATCH(DeltaHead)
                (text_of(launch, 0, b, rates), head, state, state + size, y.floats() + b * y.stride[0]);
                if (cache.there()) std::copy_n(state, size, cache.position(b, 1) + head * size);
                count_head(text, 3, 1, 2, 2);
              }
            });
}

// The heads that share keys and queries are taken in slices, by their number alone; what each slice adds to the
// gradients of these is summed from the first to the last.
void run_delta_rule_backward(const Launch& launch) {
  const View &dy = launch.inputs[0], &d_query = launch.outputs[0], &d_key = launch.outputs[1];
  const View &d_value = launch.outputs[2], &d_step = launch.outputs[3], &d_decay = launch.outputs[4];
  const View& d_beta = launch.outputs[5];
  const std::vector<float> rates = rates_of(launch.inputs[1 + delta_input::decay]);
  const DeltaText text = text_of(launch, 1, 0, rates);
  const std::int64_t size = text.keys * text.width, shared = text.heads / text.groups;
  const std::int64_t of_group = std::min<std::int64_t>(shared, 8), keys = text.tokens * text.groups * text.keys;
  std::vector<float> d_rates(rates.size()), partial(static_cast<std::size_t>(2 * of_group * keys));
  for (std::int64_t b = 0; b < dy.size[0]; ++b) {
    std::fill(partial.begin(), partial.end(), 0.0f);
    launch.machine.run(text.groups * of_group, [&](std::int64_t slice, int) {
      const std::int64_t group = slice / of_group, nth = slice % of_group;
      const DeltaText own = text_of(launch, 1, b, rates);
      std::vector<float> room(static_cast<std::size_t>((text.tokens + 2) * size + (text.tokens + 1) * text.width));
      const auto at = [&](const View& view) { return view.floats() + b * view.stride[0]; };
      DeltaGradients to{};
      to.dy = at(dy);
      to.d_query = partial.data() + nth * keys;
      to.d_key = partial.data() + (of_group + nth) * keys;
      to.d_value = at(d_value);
      to.d_step = at(d_step);
      to.d_beta = at(d_beta);
      to.d_rates = d_rates.data();
      to.states = room.data();
      to.g = to.states + (text.tokens + 1) * size;
      to.missed = to.g + size;
      to.d_delta = to.missed + text.tokens * text.width;
      const std::int64_t first = group * shared + nth * shared / of_group;
      const std::int64_t last = group * shared + (nth + 1) * shared / of_group;
      for (std::int64_t head = first; head < last; ++head) {
        HWY_DYNAMIC_DISPATCH(DeltaHeadBackward)(own, head, to);
        count_head(own, 8, 4, 6, 6);
      }
    });
    for (std::int64_t i = 0; i < keys; ++i) {
      float query = 0.0f, key = 0.0f;
      for (std::int64_t slice = 0; slice < of_group; ++slice) {
        query += partial[static_cast<std::size_t>(slice * keys + i)];
        key += partial[static_cast<std::size_t>((of_group + slice) * keys + i)];
      }
      d_query.floats()[b * d_query.stride[0] + i] = query;
      d_key.floats()[b * d_key.stride[0] + i] = key;
    }
  }
  count_elementwise(3 * std::ssize(rates));
  if (!d_decay.there()) return;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    float& to = d_decay.floats()[i];
    to = (launch.adds(d_decay) ? to : 0.0f) + d_rates[i] * rates[i];  // −e^a is its own derivative
  }
}

}  // namespace reckon
#endif
