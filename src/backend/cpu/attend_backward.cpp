// Attention backwards without its matrix: from what was kept of each row's softmax, the weights of a block are made
// again, transposed so that a row is a key and a column a query, and the gradients of queries, keys and values are
// summed block by block. One task has a head of values, with all key and query heads that share it, of one sequence.
#include "ops/attend.h"

#include "ops/alibi.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vectors.h"
#include "lowering/target.h"
#include "ops/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace reckon {
namespace {

using namespace attend_backward_input;
using namespace attend_backward_output;

constexpr std::int64_t query_block = cpu_target.query_block, key_block = 256;
constexpr float dismissed = -1e30f;  // the score of a key whose shift is too small

class HeadBackward {
 public:
  // `nth`: which of the key heads that share a value.
  HeadBackward(const Launch& launch, std::int64_t task, std::int64_t nth, int worker)
      : launch_(launch),
        q_(launch.inputs[query]),
        k_(launch.inputs[keys]),
        v_(launch.inputs[values]),
        o_(launch.inputs[out]),
        do_(launch.inputs[d_out]),
        dq_(launch.outputs[d_query]),
        dk_(launch.outputs[d_keys]),
        dv_(launch.outputs[d_values]),
        tokens_(q_.size[1]),
        heads_(q_.size[2]),
        group_(heads_ / k_.size[2]),
        value_head_(task % v_.size[2]),
        kv_head_(value_head_ * (k_.size[2] / v_.size[2]) + nth),
        b_(task / v_.size[2]),
        key_width_(q_.size[3]),
        value_width_(o_.size[3]) {
    const auto& rule = launch.op.attributes<AttendAttributes>().rule;
    mask_ = rule.mask;
    scale_ = static_cast<float>(rule.scale);
    cap_ = static_cast<float>(rule.softcap);
    alibi_ = static_cast<float>(rule.alibi);
    scores_ = launch.machine.scratch.of(worker).data();
    d_scores_ = scores_ + key_block * query_block;
    results_ = d_scores_ + key_block * query_block;
    packed_ = results_ + std::max(key_block, query_block) * std::max(key_width_, value_width_);
  }

  void run() {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      if (!at_once()) std::fill_n(at(dk_, t, kv_head_), key_width_, 0.0f);
      if (!at_once() && first_of_value()) std::fill_n(at(dv_, t, value_head_), value_width_, 0.0f);
      if (shifted()) *at(launch_.outputs[d_shifts], t, kv_head_) = 0.0f;
    }
    for (std::int64_t h = kv_head_ * group_; h < (kv_head_ + 1) * group_; ++h) {
      for (std::int64_t first = 0; first < tokens_; first += query_block) visit_queries(h, first);
    }
  }

 private:
  bool shifted() const { return mask_.keep > 0; }

  // Whether scores are only scaled, and each key is seen by all queries from its own on.
  bool is_plain() const { return cap_ == 0.0f && alibi_ == 0.0f && !shifted() && mask_.window == 0; }

  // Whether all queries of a head are one block, with all keys.
  bool at_once() const { return tokens_ <= query_block; }

  // The least shift that a token's queries see.
  float limit_of(std::int64_t token) {
    const std::int64_t begin = first_seen(mask_, token);
    if (token + 1 - begin <= mask_.keep) return -std::numeric_limits<float>::infinity();
    seen_.clear();
    for (std::int64_t p = begin; p <= token; ++p) seen_.push_back(*at(launch_.inputs[shifts], p, kv_head_));
    std::nth_element(seen_.begin(), seen_.begin() + (mask_.keep - 1), seen_.end(), std::greater<>());
    return seen_[static_cast<std::size_t>(mask_.keep - 1)];
  }

  bool first_of_value() const { return kv_head_ % (k_.size[2] / v_.size[2]) == 0; }

  float* at(const View& view, std::int64_t token, std::int64_t head) const {
    return view.floats() + b_ * view.stride[0] + token * view.stride[1] + head * view.stride[2];
  }

  void multiply(const Tile& tile) const { blas_wanted(tile.m) ? blas_tile(tile, packed_) : gemm_tile(tile, packed_); }

  void visit_queries(std::int64_t h, std::int64_t first) {
    const std::int64_t last = std::min(first + query_block, tokens_), rows = last - first;
    const float* kept = launch_.inputs[log_sum_exp].floats() + (b_ * heads_ + h) * tokens_ + first;
    for (std::int64_t t = first; t < last; ++t) {
      delta_[static_cast<std::size_t>(t - first)] = vector_dot(at(do_, t, h), at(o_, t, h), value_width_);
      if (!at_once()) std::fill_n(at(dq_, t, h), key_width_, 0.0f);
      if (shifted()) limits_[static_cast<std::size_t>(t - first)] = limit_of(t);
    }
    count_read_floats(rows * (key_width_ + 2 * value_width_ + 1));  // queries, do, o, and what was kept
    count_written_floats(rows * key_width_);
    for (std::int64_t p = first_seen(mask_, first); p < last; p += key_block) {
      const std::int64_t n = std::min(key_block, last - p);
      const float *keys_at = at(k_, p, kv_head_), *values_at = at(v_, p, value_head_);
      const float *queries = at(q_, first, h), *d_outs = at(do_, first, h);
      if (const std::int64_t fresh = p + n - std::max(p, first); h == kv_head_ * group_ && fresh > 0) {
        const std::int64_t elements =
            fresh * (key_width_ + (first_of_value() ? value_width_ : 0) + (shifted() ? 1 : 0));
        count_read_floats(elements);
        count_written_floats(elements);
      }
      // Scores and the gradients of weights, keys × queries.
      multiply({n, rows, key_width_, keys_at, k_.stride[1], queries, DType::float32, q_.stride[1], 1, scores_, rows});
      multiply(
          {n, rows, value_width_, values_at, v_.stride[1], d_outs, DType::float32, do_.stride[1], 1, d_scores_, rows});
      if (is_plain())
        block_attention_weights(scores_, d_scores_, n, rows, p - first, kept, delta_.data(), scale_);
      else
        for (std::int64_t j = 0; j < n; ++j) soften(h, first, rows, p, j, kept);
      const bool first_head = at_once() && h == kv_head_ * group_;
      add_product({n, value_width_, rows, scores_, rows, d_outs, DType::float32, 1, do_.stride[1], nullptr, 0},
                  first_head && first_of_value(), dv_, p, value_head_);
      add_product({n, key_width_, rows, d_scores_, rows, queries, DType::float32, 1, q_.stride[1], nullptr, 0},
                  first_head, dk_, p, kv_head_);
      add_product({rows, key_width_, n, d_scores_, rows, keys_at, DType::float32, 1, k_.stride[1], nullptr, 0, true},
                  at_once(), dq_, first, h);
    }
  }

  // A product's rows go to those of `sums` from `token` on: the first of them where they belong, others are added.
  void add_product(Tile tile, bool first, const View& sums, std::int64_t token, std::int64_t head) const {
    tile.out = first ? at(sums, token, head) : results_;
    tile.out_stride = first ? sums.stride[1] : tile.n;
    multiply(tile);
    if (first) return;
    for (std::int64_t i = 0; i < tile.m; ++i) vector_add_part(at(sums, token + i, head), results_ + i * tile.n, tile.n);
  }

  // Key p + j: what the queries that see it give it, and the gradients of its scores; 0 for the others.
  void soften(std::int64_t h, std::int64_t first, std::int64_t rows, std::int64_t p, std::int64_t j,
              const float* kept) {
    float *s = scores_ + j * rows, *ds = d_scores_ + j * rows;
    const std::int64_t key = p + j;
    const std::int64_t from = std::clamp<std::int64_t>(key - first, 0, rows);
    const std::int64_t to = std::clamp<std::int64_t>(last_seeing(mask_, key, first + rows) + 1 - first, from, rows);
    std::fill(s, s + from, 0.0f);
    std::fill(ds, ds + from, 0.0f);
    std::fill(s + to, s + rows, 0.0f);
    std::fill(ds + to, ds + rows, 0.0f);
    const std::int64_t n = to - from;
    if (n == 0) return;
    if (cap_ != 0.0f) {
      vector_softcap(s + from, n, scale_, cap_);
    } else if (scale_ != 1.0f) {
      vector_scale(s + from, n, scale_);
    }
    if (alibi_ != 0.0f) {
      count_elementwise(2 * n);
      const float slope = alibi_ * alibi_slope(h, heads_);
      for (std::int64_t i = from; i < to; ++i) s[i] += slope * static_cast<float>(key - first - i);
    }
    if (shifted()) {
      count_elementwise(5 * n);
      const float by = *at(launch_.inputs[shifts], key, kv_head_);
      for (std::int64_t i = from; i < to; ++i) s[i] = by < limits_[static_cast<std::size_t>(i)] ? dismissed : s[i] + by;
    }
    vector_attention_weights(s + from, ds + from, kept + from, delta_.data() + from, n, scale_, cap_);
    if (!shifted()) return;
    float sum = 0;
    for (std::int64_t i = from; i < to; ++i) sum += ds[i];
    *at(launch_.outputs[d_shifts], key, kv_head_) += sum / scale_;  // which scores have, and shifts do not
  }

  const Launch& launch_;
  const View &q_, &k_, &v_, &o_, &do_, &dq_, &dk_, &dv_;
  std::int64_t tokens_, heads_, group_, value_head_, kv_head_, b_, key_width_, value_width_;
  AttentionMask mask_;
  float scale_ = 1.0f, cap_ = 0.0f, alibi_ = 0.0f;
  float *scores_ = nullptr, *d_scores_ = nullptr, *results_ = nullptr, *packed_ = nullptr;
  std::array<float, query_block> delta_{}, limits_{};
  std::vector<float> seen_;
};

// A sink takes the share e^(sink − lse) of each row and gives nothing: its gradient is −share · Σ do·o.
void run_sinks_backward(const Launch& launch) {
  const View &o = launch.inputs[out], &d_o = launch.inputs[d_out], &sum = launch.outputs[d_sinks];
  const std::span<const float> sink = launch.inputs[sinks].parameter->values;
  const std::int64_t batch = o.size[0], tokens = o.size[1], heads = o.size[2];
  launch.machine.run(heads, [&](std::int64_t h, int) {
    float total = launch.adds(sum) ? sum.floats()[h] : 0.0f;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t row = (b * tokens + t) * heads + h;
        const float kept = launch.inputs[log_sum_exp].floats()[(b * heads + h) * tokens + t];
        const float share = std::exp(sink[static_cast<std::size_t>(h)] - kept);
        total -= share * vector_dot(d_o.row(row), o.row(row), o.width());
        count_elementwise(4);
      }
    }
    sum.floats()[h] = total;
    count_read_floats(1);
    count_written_floats(1);
  });
}

constexpr std::int64_t widest =
    (static_cast<std::int64_t>(tile_scratch) - 2 * key_block * query_block - gemm_panel) / key_block;
static_assert(widest >= 512, "the scratch holds scores, their gradients, results and packed operands");

}  // namespace

void run_attend_backward(const Launch& launch) {
  const View &q = launch.inputs[query], &k = launch.inputs[keys], &v = launch.inputs[values];
  const View& o = launch.inputs[out];
  check(std::max(q.size[3], o.size[3]) <= widest, "attend_backward", "heads of " + std::to_string(q.size[3]),
        "at most " + std::to_string(widest));
  launch.machine.run(q.size[0] * v.size[2], [&](std::int64_t task, int worker) {
    for (std::int64_t nth = 0; nth < k.size[2] / v.size[2]; ++nth) HeadBackward(launch, task, nth, worker).run();
  });
  if (launch.outputs[d_sinks].there()) run_sinks_backward(launch);
}

}  // namespace reckon
