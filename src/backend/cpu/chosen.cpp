// Attention to chosen keys. Queries are shared out; backwards, key heads are, as queries add to what they chose.
#include "ops/chosen.h"

#include "backend/cpu/kernels.h"
#include "backend/cpu/vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace reckon {
namespace {

// Rows of keys or values, of a cache or not; blocks are decoded to room of its own.
class Rows {
 public:
  explicit Rows(const View& view) : view_(view) {
    if (view.blocks != nullptr) room_.resize(static_cast<std::size_t>(view.size[3]));
  }
  const float* at(std::int64_t b, std::int64_t p, std::int64_t head) {
    const std::int64_t first = head * view_.stride[2] +
                               (view_.pages != nullptr ? view_.place(b, p) : b * view_.stride[0] + p * view_.stride[1]);
    if (view_.blocks == nullptr) return view_.floats() + first;
    view_.blocks->decode(view_.block(first), view_.size[3] / view_.blocks->elements, room_.data());
    return room_.data();
  }

 private:
  const View& view_;
  std::vector<float> room_;
};

// What vector loops count is among the products and formulas that are counted by hand.
class Uncounted {
 public:
  Uncounted() : before_(work_done) {}
  ~Uncounted() { work_done = before_; }
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

 private:
  Measured before_;
};

const std::int32_t* starts_of(const Launch& launch, std::size_t input) {
  return launch.inputs.size() > input && launch.inputs[input].there() ? launch.inputs[input].integers() : nullptr;
}

const float* query_at(const View& query, std::int64_t b, std::int64_t t, std::int64_t head) {
  return query.floats() + b * query.stride[0] + t * query.stride[1] + head * query.stride[2];
}

}  // namespace

void run_choose_keys(const Launch& launch) {
  const View &query = launch.inputs[0], &keys = launch.inputs[1], &weights = launch.inputs[2];
  const View& choice = launch.outputs[0];
  const auto& a = launch.op.attributes<ChooseAttributes>();
  const std::int32_t* starts = starts_of(launch, 3);
  const std::int64_t tokens = query.size[1], heads = query.size[2], width = query.size[3];
  const std::int64_t groups = choice.size[2], top = choice.size[3];
  launch.machine.run(query.size[0] * tokens, [&](std::int64_t row, int) {
    const std::int64_t b = row / tokens, t = row % tokens;
    const std::int64_t seen = ((starts != nullptr ? starts[b] : 0) + t + 1) / a.every;
    const std::int64_t blocks = (seen + a.block - 1) / a.block;
    count_products(seen * heads * width);
    count_elementwise(seen * heads * (weights.there() ? 3 : 1));
    const Uncounted inside;
    Rows rows(keys);
    std::vector<float> scores(static_cast<std::size_t>(groups * blocks), -std::numeric_limits<float>::infinity());
    for (std::int64_t k = 0; k < seen; ++k) {
      const float* key = rows.at(b, k, 0);
      float sum = 0.0f;
      for (std::int64_t h = 0; h < heads; ++h) {
        const float product = vector_dot(query_at(query, b, t, h), key, width);
        if (weights.there()) {
          sum += weights.row(row)[h] * std::max(product, 0.0f);
        } else {
          float& best = scores[static_cast<std::size_t>(h * blocks + k / a.block)];
          best = std::max(best, product);
        }
      }
      if (weights.there()) scores[static_cast<std::size_t>(k)] = sum;
    }
    std::vector<std::int32_t> order(static_cast<std::size_t>(blocks));
    for (std::int64_t g = 0; g < groups; ++g) {
      float* of = scores.data() + g * blocks;
      for (std::int64_t i = 0; i < std::min(a.local, blocks); ++i)
        of[blocks - 1 - i] = std::numeric_limits<float>::infinity();
      std::iota(order.begin(), order.end(), 0);
      const std::int64_t kept = std::min(top, blocks);
      std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                        [&](std::int32_t x, std::int32_t y) { return of[x] > of[y] || (of[x] == of[y] && x < y); });
      std::int32_t* to = choice.integers() + (row * groups + g) * top;
      std::copy_n(order.begin(), kept, to);
      std::fill(to + kept, to + top, -1);
    }
  });
}

namespace {

// The keys that a query's head attends to, in the order of the choice.
void find_kept(const std::int32_t* chosen, std::int64_t top, std::int64_t block, std::int64_t seen,
               std::vector<std::int64_t>& kept) {
  kept.clear();
  for (std::int64_t i = 0; i < top && chosen[i] >= 0; ++i)
    for (std::int64_t k = chosen[i] * block; k < std::min((chosen[i] + 1) * block, seen); ++k) kept.push_back(k);
}

// The softmax of the scaled scores of the kept keys.
void soften(const float* query, Rows& keys, std::int64_t b, std::int64_t kv_head, std::int64_t width, float scale,
            const std::vector<std::int64_t>& kept, std::vector<float>& p) {
  p.resize(kept.size());
  float most = -std::numeric_limits<float>::infinity();
  for (std::size_t j = 0; j < kept.size(); ++j) {
    p[j] = scale * vector_dot(query, keys.at(b, kept[j], kv_head), width);
    most = std::max(most, p[j]);
  }
  float sum = 0.0f;
  for (float& one : p) sum += one = std::exp(one - most);
  for (float& one : p) one /= sum;
}

}  // namespace

void run_attend_chosen(const Launch& launch) {
  const View &query = launch.inputs[0], &keys = launch.inputs[1], &values = launch.inputs[2];
  const View &choice = launch.inputs[3], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<AttendChosenAttributes>();
  const std::int32_t* starts = starts_of(launch, 4);
  const std::int64_t tokens = query.size[1], heads = query.size[2], width = query.size[3], value_width = y.size[3];
  const std::int64_t groups = choice.size[2], top = choice.size[3], kv_heads = keys.size[2];
  launch.machine.run(query.size[0] * tokens, [&](std::int64_t row, int) {
    const std::int64_t b = row / tokens, t = row % tokens, seen = (starts != nullptr ? starts[b] : 0) + t + 1;
    std::vector<std::int64_t> kept;
    std::vector<float> p;
    Rows key_rows(keys), value_rows(values);
    for (std::int64_t head = 0; head < heads; ++head) {
      find_kept(choice.integers() + (row * groups + head * groups / heads) * top, top, a.block, seen, kept);
      const auto count = static_cast<std::int64_t>(kept.size()), kv_head = head * kv_heads / heads;
      count_products(count * (width + value_width));
      count_elementwise(count * (a.scale != 1.0 ? 5 : 4) + value_width);
      const Uncounted inside;
      soften(query_at(query, b, t, head), key_rows, b, kv_head, width, static_cast<float>(a.scale), kept, p);
      float* out = y.floats() + b * y.stride[0] + t * y.stride[1] + head * y.stride[2];
      std::fill_n(out, value_width, 0.0f);
      for (std::size_t j = 0; j < kept.size(); ++j)
        vector_add_scaled(out, value_rows.at(b, kept[j], kv_head), value_width, p[j]);
    }
  });
}

void run_attend_entries(const Launch& launch) {
  const View &query = launch.inputs[0], &keys = launch.inputs[1], &entries = launch.inputs[2];
  const View &choice = launch.inputs[3], &sinks = launch.inputs[4], &y = launch.outputs[0];
  const auto& a = launch.op.attributes<AttendEntriesAttributes>();
  const std::int32_t* starts = starts_of(launch, 5);
  const float* learned = sinks.values();
  const auto scale = static_cast<float>(a.scale);
  const std::int64_t tokens = query.size[1], heads = query.size[2], width = query.size[3];
  launch.machine.run(query.size[0] * tokens, [&](std::int64_t row, int) {
    const std::int64_t b = row / tokens, t = row % tokens, position = (starts != nullptr ? starts[b] : 0) + t;
    const std::int64_t first = std::max<std::int64_t>(0, position + 1 - a.window);
    const std::int64_t seen = entries.there() ? (position + 1) / a.every : 0;
    const std::int64_t top = choice.there() ? choice.size[3] : seen;
    std::vector<std::int64_t> kept;  // entries
    for (std::int64_t i = 0; i < top; ++i) {
      const std::int64_t one = choice.there() ? choice.integers()[row * top + i] : i;
      if (one >= 0) kept.push_back(one);
    }
    const std::int64_t near = position + 1 - first, count = near + static_cast<std::int64_t>(kept.size());
    Rows key_rows(keys), entry_rows(entries);
    const auto at = [&](std::int64_t j) {
      return j < near ? key_rows.at(b, first + j, 0) : entry_rows.at(b, kept[static_cast<std::size_t>(j - near)], 0);
    };
    std::vector<float> p(static_cast<std::size_t>(count));
    for (std::int64_t head = 0; head < heads; ++head) {
      count_products(2 * count * width);
      count_elementwise(count * (a.scale != 1.0 ? 5 : 4) + width + 4);
      const Uncounted inside;
      const float* q = query_at(query, b, t, head);
      float most = learned[head];
      for (std::int64_t j = 0; j < count; ++j) {
        p[static_cast<std::size_t>(j)] = scale * vector_dot(q, at(j), width);
        most = std::max(most, p[static_cast<std::size_t>(j)]);
      }
      float sum = std::exp(learned[head] - most);
      for (float& one : p) sum += one = std::exp(one - most);
      float* out = y.floats() + b * y.stride[0] + t * y.stride[1] + head * y.stride[2];
      std::fill_n(out, width, 0.0f);
      for (std::int64_t j = 0; j < count; ++j)
        vector_add_scaled(out, at(j), width, p[static_cast<std::size_t>(j)] / sum);
    }
  });
}

void run_attend_chosen_backward(const Launch& launch) {
  const View &query = launch.inputs[0], &keys = launch.inputs[1], &values = launch.inputs[2];
  const View &choice = launch.inputs[3], &out = launch.inputs[4], &d_out = launch.inputs[5];
  const View &dq = launch.outputs[0], &dk = launch.outputs[1], &dv = launch.outputs[2];
  const auto& a = launch.op.attributes<AttendChosenAttributes>();
  const auto scale = static_cast<float>(a.scale);
  const std::int64_t tokens = query.size[1], heads = query.size[2], width = query.size[3], value_width = out.size[3];
  const std::int64_t groups = choice.size[2], top = choice.size[3], kv_heads = keys.size[2];
  const auto at = [](const View& view, std::int64_t b, std::int64_t p, std::int64_t head) {
    return view.floats() + b * view.stride[0] + p * view.stride[1] + head * view.stride[2];
  };
  launch.machine.run(query.size[0] * kv_heads, [&](std::int64_t task, int) {
    const std::int64_t b = task / kv_heads, kv_head = task % kv_heads;
    std::vector<std::int64_t> kept;
    std::vector<float> p;
    Rows key_rows(keys);
    for (std::int64_t k = 0; k < keys.size[1]; ++k) {
      std::fill_n(at(dk, b, k, kv_head), width, 0.0f);
      std::fill_n(at(dv, b, k, kv_head), value_width, 0.0f);
    }
    for (std::int64_t head = kv_head * heads / kv_heads; head < (kv_head + 1) * heads / kv_heads; ++head) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t row = b * tokens + t;
        find_kept(choice.integers() + (row * groups + head * groups / heads) * top, top, a.block, t + 1, kept);
        const auto count = static_cast<std::int64_t>(kept.size());
        count_products(count * (3 * width + 2 * value_width));
        count_elementwise(count * (a.scale != 1.0 ? 9 : 7) + 2 * value_width - 1);
        const Uncounted inside;
        const float *q = at(query, b, t, head), *go = at(d_out, b, t, head);
        soften(q, key_rows, b, kv_head, width, scale, kept, p);
        const float mean = vector_dot(at(out, b, t, head), go, value_width);
        float* to = at(dq, b, t, head);
        std::fill_n(to, width, 0.0f);
        for (std::size_t j = 0; j < kept.size(); ++j) {
          const float ds = p[j] * (vector_dot(go, at(values, b, kept[j], kv_head), value_width) - mean) * scale;
          vector_add_scaled(at(dv, b, kept[j], kv_head), go, value_width, p[j]);
          vector_add_scaled(to, at(keys, b, kept[j], kv_head), width, ds);
          vector_add_scaled(at(dk, b, kept[j], kv_head), q, width, ds);
        }
      }
    }
  });
}

}  // namespace reckon
