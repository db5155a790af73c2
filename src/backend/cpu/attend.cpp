// Attention in one pass over the keys: each block of queries keeps a running maximum and sum of its softmax, and
// rescales what it has mixed so far when the maximum rises. The scores of many queries are transposed, a row being a
// key and a column a query: keys are then read where they are, and the softmax of several queries is taken at once.
#include "ops/attend.h"

#include "ops/alibi.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vectors.h"
#include "lowering/target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace reckon {
namespace {

constexpr std::int64_t query_block = cpu_target.query_block, key_block = 512, value_block = 512;
constexpr int few = few_queries;  // so many rows only wait for keys and values
// Floats of the scratch that keys and values are decoded to.
constexpr std::int64_t decoded_room =
    static_cast<std::int64_t>(tile_scratch) - query_block * (key_block + value_block) - gemm_panel;
constexpr float unseen = -std::numeric_limits<float>::infinity();
constexpr float dismissed = -1e30f;  // of a key whose shift is too small: a block may have no other

struct Geometry {
  std::int64_t batch, tokens, heads, kv_heads, group, key_width, value_width;
  std::int64_t heads_per_task, head_tasks, blocks, tasks;
};

Geometry geometry(const View& query, const View& keys, const View& out) {
  Geometry g{};
  g.batch = query.size[0];
  g.tokens = query.size[1];
  g.heads = query.size[2];
  g.kv_heads = keys.size[2];
  g.group = g.heads / g.kv_heads;
  g.key_width = query.size[3];
  g.value_width = out.size[3];
  // Few tokens: the query heads that share a key head go together, so that its keys are read once.
  g.heads_per_task = g.tokens >= few ? 1 : std::min<std::int64_t>(g.group, few / g.tokens);
  g.head_tasks = (g.group + g.heads_per_task - 1) / g.heads_per_task;
  g.blocks = (g.tokens + query_block - 1) / query_block;
  g.tasks = g.batch * g.kv_heads * g.head_tasks * g.blocks;
  return g;
}

class QueryBlock {
 public:
  QueryBlock(const Launch& launch, const Geometry& g, std::int64_t task, int worker)
      : launch_(launch),
        g_(g),
        query_(launch.inputs[0]),
        keys_(launch.inputs[1]),
        values_(launch.inputs[2]),
        out_(launch.outputs[0]) {
    block_ = task % g.blocks;
    task /= g.blocks;
    const std::int64_t head_task = task % g.head_tasks;
    task /= g.head_tasks;
    kv_head_ = task % g.kv_heads;
    b_ = task / g.kv_heads;
    first_of_keys_ = head_task == 0;
    start_ = launch.inputs[4].there() ? launch.inputs[4].integers()[b_] : 0;
    first_head_ = kv_head_ * g.group + head_task * g.heads_per_task;
    heads_ = std::min(g.heads_per_task, g.group - head_task * g.heads_per_task);
    first_ = block_ * query_block;
    last_ = std::min(first_ + query_block, g.tokens);
    rows_ = static_cast<int>(heads_ * (last_ - first_));
    scores_ = launch.machine.scratch.of(worker).data();
    mixed_ = scores_ + query_block * key_block;
    packed_ = mixed_ + query_block * value_block;
    decoded_ = packed_ + gemm_panel;
  }

  void run() {
    const auto& rule = launch_.op.attributes<AttendAttributes>().rule;
    mask_ = rule.mask;
    factor_ = static_cast<float>(rule.scale);
    cap_ = static_cast<float>(rule.softcap);
    alibi_ = static_cast<float>(rule.alibi);
    start();
    if (launch_.inputs.size() > 5 && mask_.keep > 0) {
      find_limits();
    } else if (launch_.inputs.size() > 5) {
      relative_ = &launch_.inputs[5];
      count_read_floats(rows_ * relative_->size[3]);
    }
    count_read_floats(rows_ * g_.key_width);
    const std::int64_t begin = first_seen(mask_, start_ + first_);
    const std::int64_t end = start_ + last_;
    const std::int64_t run = keys_.pages != nullptr ? keys_.page_tokens : keys_.capacity;  // of keys that lie together
    const std::int64_t most =
        keys_.blocks == nullptr ? key_block : std::min(key_block, decoded_room / (g_.key_width + g_.value_width));
    for (std::int64_t p = begin, n; p < end; p += n) {
      n = std::min({most, end - p, run - p % run});
      visit(p, n, p == begin);
    }
    count_written_floats(rows_ * g_.value_width);
    for (int r = 0; r < rows_; ++r) {
      const auto i = static_cast<std::size_t>(r);
      vector_scale(out_row(r), g_.value_width, 1.0f / sum_[i]);
      if (launch_.outputs.size() == 1) continue;
      float* kept = launch_.outputs[1].floats();  // batch × heads × tokens
      kept[(b_ * g_.heads + head(r)) * g_.tokens + token(r)] = most_[i] + std::log(sum_[i]);
      count_elementwise(2);
      count_written_floats(1);
    }
  }

 private:
  std::int64_t head(int r) const { return first_head_ + r / (last_ - first_); }
  std::int64_t token(int r) const { return first_ + r % (last_ - first_); }
  float* query_row(int r) const {
    return query_.floats() + b_ * query_.stride[0] + token(r) * query_.stride[1] + head(r) * query_.stride[2];
  }
  float* out_row(int r) const {
    return out_.floats() + b_ * out_.stride[0] + token(r) * out_.stride[1] + head(r) * out_.stride[2];
  }

  const float* relative_row(int r) const {
    return relative_->floats() + b_ * relative_->stride[0] + token(r) * relative_->stride[1] +
           head(r) * relative_->stride[2];
  }

  // A sink is a score without a value: it takes its share of the sum and mixes nothing.
  void start() {
    const BoundParameter* sinks = launch_.inputs[3].parameter;
    if (sinks != nullptr && b_ == 0 && block_ == 0) count_read_floats(heads_);
    for (int r = 0; r < rows_; ++r) {
      const auto i = static_cast<std::size_t>(r);
      most_[i] = unseen;
      sum_[i] = 0.0f;
      if (sinks != nullptr) {
        most_[i] = sinks->values[static_cast<std::size_t>(head(r))];
        sum_[i] = 1.0f;
      }
      if (rows_ <= few) std::fill_n(out_row(r), g_.value_width, 0.0f);
    }
  }

  float shift(std::int64_t p) const {
    const View& view = launch_.inputs[5];
    const std::int64_t at =
        view.pages != nullptr ? view.place(b_, p) : b_ * view.stride[0] + p % view.capacity * view.stride[1];
    return view.floats()[at + kv_head_ * view.stride[2]];
  }

  // The least shift that each token's queries see.
  void find_limits() {
    limits_.assign(static_cast<std::size_t>(last_ - first_), unseen);
    std::vector<float> seen;
    for (std::int64_t t = first_; t < last_; ++t) {
      seen.clear();
      for (std::int64_t p = first_seen(mask_, start_ + t); p <= start_ + t; ++p) seen.push_back(shift(p));
      if (std::ssize(seen) <= mask_.keep) continue;
      std::nth_element(seen.begin(), seen.begin() + (mask_.keep - 1), seen.end(), std::greater<>());
      limits_[static_cast<std::size_t>(t - first_)] = seen[static_cast<std::size_t>(mask_.keep - 1)];
    }
  }

  // A score with the shift of its key, for the queries of row r.
  float shifted(float score, float by, int r) const {
    return by < limits_[static_cast<std::size_t>(token(r) - first_)] ? dismissed : score + by;
  }

  // Positions p … p + n of this sequence and head, one after the other; blocks are decoded to `room`. What is made of a
  // ring lies as it does.
  const float* held(const View& view, std::int64_t p, std::int64_t n, float* room) const {
    // Several key heads may share a value.
    const std::int64_t head = kv_head_ * view.size[2] / g_.kv_heads;
    const std::int64_t first =
        head * view.stride[2] +
        (view.pages != nullptr ? view.place(b_, p) : b_ * view.stride[0] + p % view.capacity * view.stride[1]);
    if (view.blocks == nullptr) return view.floats() + first;
    const std::int64_t count = n * view.stride[1];
    if (view.blocks == &encoding_of(DType::q8_0))  // by vectors
      convert_weights(DType::q8_0, view.block(first), count, room);
    else
      view.blocks->decode(view.block(first), count / view.blocks->elements, room);
    return room;
  }

  void visit(std::int64_t p, std::int64_t n, bool first) {
    const float* keys = held(keys_, p, n, decoded_);
    const float* values = held(values_, p, n, decoded_ + n * g_.key_width);
    rows_ > few ? visit_many(p, keys, values, n, first) : visit_few(p, keys, values, n);
    // Keys that no block of queries has visited before this one, nor another head that shares them.
    const std::int64_t fresh = p + n - std::max(p, block_ == 0 ? 0 : start_ + first_);
    if (!first_of_keys_ || fresh <= 0) return;
    const std::int64_t elements = fresh * (g_.key_width + g_.value_width);
    keys_.blocks == nullptr ? count_read_floats(elements) : count_read(row_bytes(*keys_.blocks, elements));
    if (!limits_.empty()) count_read_floats(fresh);
  }

  // One token of all heads of the task, or a few tokens of one head after the other.
  void visit_few(std::int64_t p, const float* keys, const float* values, std::int64_t n) {
    const bool one = last_ - first_ == 1;
    const std::int64_t step = one ? rows_ : last_ - first_, x_stride = query_.stride[one ? 2 : 1];
    for (std::int64_t r = 0; r < rows_; r += step) {
      few_rows_tile({step, n, g_.key_width, query_row(static_cast<int>(r)), x_stride, keys, DType::float32,
                     keys_.stride[1], 1, scores_ + r * key_block, key_block});
    }
    for (int r = 0; r < rows_; ++r) soften(r, p, n);
    for (std::int64_t first = 0; first < g_.value_width; first += value_block) {
      const std::int64_t width = std::min(value_block, g_.value_width - first);
      few_rows_tile(
          {rows_, width, n, scores_, key_block, values + first, DType::float32, 1, values_.stride[1], mixed_, width});
      add_mixed(first, width);
    }
  }

  // One head's queries. What the first keys give is made where it belongs, what others give is added.
  void visit_many(std::int64_t p, const float* keys, const float* values, std::int64_t n, bool first_keys) {
    multiply({n, rows_, g_.key_width, keys, keys_.stride[1], query_row(0), DType::float32, query_.stride[1], 1, scores_,
              rows_});
    soften_columns(p, n);
    for (std::int64_t first = 0; first < g_.value_width; first += value_block) {
      const std::int64_t width = std::min(value_block, g_.value_width - first);
      multiply({rows_, width, n, scores_, rows_, values + first, DType::float32, 1, values_.stride[1],
                first_keys ? out_row(0) + first : mixed_, first_keys ? out_.stride[1] : width, true});
      if (!first_keys) add_mixed(first, width);
    }
  }

  void add_mixed(std::int64_t first, std::int64_t width) const {
    for (int r = 0; r < rows_; ++r) vector_add_part(out_row(r) + first, mixed_ + r * width, width);
  }

  void multiply(const Tile& tile) const { blas_wanted(tile.m) ? blas_tile(tile, packed_) : gemm_tile(tile, packed_); }

  // The scores, keys p … p + n by queries, become weights e^(s − maximum of the column).
  void soften_columns(std::int64_t p, std::int64_t n) {
    float factor = factor_;  // that is still to come
    if (cap_ != 0.0f) vector_softcap(scores_, n * rows_, std::exchange(factor, 1.0f), cap_);
    if (alibi_ != 0.0f) {
      if (factor != 1.0f) vector_scale(scores_, n * rows_, std::exchange(factor, 1.0f));
      count_elementwise(2 * n * rows_);
      const float slope = alibi_ * alibi_slope(first_head_, g_.heads);
      for (std::int64_t j = 0; j < n; ++j)
        for (int r = 0; r < rows_; ++r) scores_[j * rows_ + r] += slope * static_cast<float>(p + j - start_ - token(r));
    }
    if (!limits_.empty()) {
      if (factor != 1.0f) vector_scale(scores_, n * rows_, std::exchange(factor, 1.0f));
      count_elementwise(4 * n * rows_);
      for (std::int64_t j = 0; j < n; ++j) {
        const float by = shift(p + j);
        for (int r = 0; r < rows_; ++r) scores_[j * rows_ + r] = shifted(scores_[j * rows_ + r], by, r);
      }
    }
    if (relative_ != nullptr) {
      if (factor != 1.0f) vector_scale(scores_, n * rows_, std::exchange(factor, 1.0f));
      count_elementwise(n * rows_);
      for (int r = 0; r < rows_; ++r) {
        const float* added = relative_row(r);
        const std::int64_t position = start_ + token(r), extent = relative_->size[3];
        for (std::int64_t j = 0; j < n; ++j)
          if (const std::int64_t distance = position - p - j; distance >= 0 && distance < extent)
            scores_[j * rows_ + r] += added[distance];
      }
    }
    for (std::int64_t j = 0; j < n; ++j) {  // what a query may not see
      const std::int64_t first = p + j - start_ - first_;
      float* s = scores_ + j * rows_;
      std::fill(s, s + std::clamp<std::int64_t>(first, 0, rows_), unseen);
      if (mask_.window == 0) continue;
      const std::int64_t behind = last_seeing(mask_, p + j, 0) + 1 - start_ - first_;
      std::fill(s + std::clamp<std::int64_t>(behind, 0, rows_), s + rows_, unseen);
    }
    const std::array<float, query_block> before = most_;
    columns_max(scores_, n, rows_, factor, most_.data());
    for (int r = 0; r < rows_; ++r) {
      const auto i = static_cast<std::size_t>(r);
      if (before[i] != most_[i] && sum_[i] != 0.0f) shrink(r, std::exp(before[i] - most_[i]));
    }
    columns_exp(scores_, n, rows_, most_.data(), sum_.data());
  }

  void shrink(int r, float factor) {
    vector_rescale(out_row(r), g_.value_width, factor);
    sum_[static_cast<std::size_t>(r)] *= factor;
  }

  // Row r's scores of keys p … p + n become weights e^(s − maximum); what was mixed before shrinks to match.
  void soften(int r, std::int64_t p, std::int64_t n) {
    float* s = scores_ + r * key_block;
    const std::int64_t position = start_ + token(r);
    const std::int64_t from = std::clamp<std::int64_t>(first_seen(mask_, position) - p, 0, n);
    const std::int64_t to = std::clamp<std::int64_t>(position + 1 - p, 0, n);
    std::fill(s, s + std::min(from, n), 0.0f);
    std::fill(s + std::max<std::int64_t>(to, 0), s + n, 0.0f);
    if (from >= to) {
      std::fill(s, s + n, 0.0f);
      return;
    }
    float* seen = s + from;
    const std::int64_t count = to - from;
    if (cap_ != 0.0f) {
      vector_softcap(seen, count, factor_, cap_);
    } else if (factor_ != 1.0f) {
      vector_scale(seen, count, factor_);
    }
    if (alibi_ != 0.0f) {
      count_elementwise(2 * count);
      const float slope = alibi_ * alibi_slope(head(r), g_.heads);
      for (std::int64_t j = 0; j < count; ++j) seen[j] += slope * static_cast<float>(p + from + j - position);
    }
    if (!limits_.empty()) {
      count_elementwise(4 * count);
      for (std::int64_t j = 0; j < count; ++j) seen[j] = shifted(seen[j], shift(p + from + j), r);
    }
    if (relative_ != nullptr) {
      count_elementwise(count);
      const float* added = relative_row(r);
      for (std::int64_t j = 0; j < count; ++j)
        if (const std::int64_t distance = position - p - from - j; distance < relative_->size[3])
          seen[j] += added[distance];
    }
    const auto i = static_cast<std::size_t>(r);
    const float most = std::max(most_[i], vector_max(seen, count));
    if (most != most_[i] && sum_[i] != 0.0f) shrink(r, std::exp(most_[i] - most));
    sum_[i] += vector_exp(seen, count, most);
    count_elementwise(2);  // maximum and sum of this block and those before
    most_[i] = most;
  }

  const Launch& launch_;
  const Geometry& g_;
  const View &query_, &keys_, &values_, &out_;
  const View* relative_ = nullptr;  // what is added by distance
  std::int64_t block_ = 0, kv_head_ = 0, b_ = 0, start_ = 0, first_head_ = 0, heads_ = 0, first_ = 0, last_ = 0;
  int rows_ = 0;
  bool first_of_keys_ = false;
  AttentionMask mask_;
  float factor_ = 1.0f, cap_ = 0.0f, alibi_ = 0.0f;
  float *scores_ = nullptr, *mixed_ = nullptr, *packed_ = nullptr, *decoded_ = nullptr;
  std::array<float, query_block> most_{}, sum_{};
  std::vector<float> limits_;  // by token, where keys have shifts
};

static_assert(decoded_room >= key_block, "the scratch holds scores, mixed values, packed operands and decoded keys");

}  // namespace

void run_attend(const Launch& launch) {
  const Geometry g = geometry(launch.inputs[0], launch.inputs[1], launch.outputs[0]);
  launch.machine.run(g.tasks, [&](std::int64_t task, int worker) { QueryBlock(launch, g, task, worker).run(); });
}

}  // namespace reckon
