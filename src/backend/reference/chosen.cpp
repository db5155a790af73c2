// Attention to chosen keys: the choice, the softmax of what was chosen, and back.
#include "ops/chosen.h"

#include "backend/reference/call.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace reckon::reference {
namespace {

// The position of a query: the last one is as far along as the last key.
std::size_t position_of(std::size_t query, std::size_t queries, std::size_t keys) { return keys - queries + query; }

}  // namespace

// Inputs: query, keys, weights. A query sees the keys up to its own; blocks are scored by their best.
void choose_keys(const Call& c) {
  const Out choice = c.out(0);
  const auto& a = c.op.attributes<ChooseAttributes>();
  const std::size_t batch = c.in_size(0, 0), tokens = c.in_size(0, 1), heads = c.in_size(0, 2), width = c.in_size(0, 3);
  const std::size_t keys = c.in_size(1, 1), groups = c.out_size(0, 2), top = c.out_size(0, 3);
  const auto block = static_cast<std::size_t>(a.block), local = static_cast<std::size_t>(a.local);
  for (std::size_t row = 0; row < batch * tokens; ++row) {
    const auto past = static_cast<std::size_t>(std::max<std::int64_t>(0, c.program.workload.past));
    const std::size_t seen = (past + row % tokens + 1) / static_cast<std::size_t>(a.every);
    const std::size_t blocks = (seen + block - 1) / block;
    for (std::size_t g = 0; g < groups; ++g) {
      Values scores(blocks, -std::numeric_limits<double>::infinity());
      for (std::size_t k = 0; k < seen; ++k) {
        const double* key = &c.in(1)[(row / tokens * keys + k) * width];
        double score = 0;
        for (std::size_t h = c.has(2) ? 0 : g; h < (c.has(2) ? heads : g + 1); ++h) {
          double product = 0;
          for (std::size_t i = 0; i < width; ++i) product += c.in(0)[(row * heads + h) * width + i] * key[i];
          score += c.has(2) ? c.in(2)[row * heads + h] * std::max(product, 0.0) : product;
          c.count_products(width);
          c.count(c.has(2) ? 3 : 1);
        }
        scores[k / block] = std::max(scores[k / block], score);
      }
      for (std::size_t i = 0; i < std::min(local, blocks); ++i)
        scores[blocks - 1 - i] = std::numeric_limits<double>::infinity();
      std::vector<std::size_t> order(blocks);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return scores[x] > scores[y]; });
      for (std::size_t i = 0; i < top; ++i)
        choice[(row * groups + g) * top + i] = i < blocks ? static_cast<double>(order[i]) : -1.0;
    }
  }
}

// Inputs: query, keys, entries, choice, sinks.
void attend_entries(const Call& c) {
  const Out y = c.out(0);
  const auto& a = c.op.attributes<AttendEntriesAttributes>();
  const std::size_t tokens = c.in_size(0, 1), heads = c.in_size(0, 2), width = c.in_size(0, 3);
  const std::size_t keys = c.in_size(1, 1), all = c.has(2) ? c.in_size(2, 1) : 0;
  const auto window = static_cast<std::size_t>(a.window);
  const auto past = static_cast<std::size_t>(std::max<std::int64_t>(0, c.program.workload.past));
  for (std::size_t row = 0; row < c.in_size(0, 0) * tokens; ++row) {
    const std::size_t position = past + row % tokens, batch = row / tokens;
    std::vector<const double*> kept;
    for (std::size_t p = position + 1 > window ? position + 1 - window : 0; p <= position; ++p)
      kept.push_back(&c.in(1)[(batch * keys + p + keys - past - tokens) * width]);
    const std::size_t seen = c.has(2) ? (position + 1) / static_cast<std::size_t>(a.every) : 0;
    const std::size_t top = c.has(3) ? c.in_size(3, 3) : seen;
    for (std::size_t i = 0; i < top; ++i) {
      const double one = c.has(3) ? c.in(3)[row * top + i] : static_cast<double>(i);
      if (one >= 0) kept.push_back(&c.in(2)[(batch * all + static_cast<std::size_t>(one)) * width]);
    }
    for (std::size_t h = 0; h < heads; ++h) {
      const double* query = &c.in(0)[(row * heads + h) * width];
      double* out = &y[(row * heads + h) * width];
      Values p;
      double most = c.in(4)[h];
      for (const double* key : kept) {
        p.push_back(a.scale * std::inner_product(query, query + width, key, 0.0));
        most = std::max(most, p.back());
      }
      double total = std::exp(c.in(4)[h] - most);
      for (double& one : p) total += one = std::exp(one - most);
      for (std::size_t j = 0; j < kept.size(); ++j)
        for (std::size_t i = 0; i < width; ++i) out[i] += p[j] / total * kept[j][i];
      c.count_products(2 * width * kept.size());
      c.count((a.scale != 1.0 ? 5 : 4) * kept.size() + width + 4);
    }
  }
}

namespace {

// Calls body(row, head, kept), with the keys that a query's head attends to, for each of them.
template <class Body>
void over_queries(const Call& c, const Body& body) {
  const auto block = static_cast<std::size_t>(c.op.attributes<AttendChosenAttributes>().block);
  const std::size_t tokens = c.in_size(0, 1), heads = c.in_size(0, 2), keys = c.in_size(1, 1);
  const std::size_t groups = c.in_size(3, 2), top = c.in_size(3, 3);
  for (std::size_t row = 0; row < c.in_size(0, 0) * tokens; ++row) {
    const std::size_t seen = position_of(row % tokens, tokens, keys) + 1;
    for (std::size_t head = 0; head < heads; ++head) {
      std::vector<std::size_t> kept;
      for (std::size_t i = 0; i < top; ++i) {
        const double one = c.in(3)[(row * groups + head * groups / heads) * top + i];
        if (one < 0) continue;
        const std::size_t first = static_cast<std::size_t>(one) * block;
        for (std::size_t k = first; k < std::min(first + block, seen); ++k) kept.push_back(k);
      }
      body(row, head, kept);
    }
  }
}

// Where a key or value of a query's head begins.
std::size_t place(const Call& c, std::size_t input, std::size_t row, std::size_t head, std::size_t key) {
  const std::size_t kv_heads = c.in_size(input, 2), width = c.in_size(input, 3);
  return ((row / c.in_size(0, 1) * c.in_size(input, 1) + key) * kv_heads + head * kv_heads / c.in_size(0, 2)) * width;
}

double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The weights of the kept keys.
Values weights_of(const Call& c, std::size_t row, std::size_t head, const std::vector<std::size_t>& kept) {
  const std::size_t width = c.in_size(0, 3);
  const double* query = &c.in(0)[(row * c.in_size(0, 2) + head) * width];
  Values p;
  for (const std::size_t k : kept)
    p.push_back(c.op.attributes<AttendChosenAttributes>().scale *
                dot(query, &c.in(1)[place(c, 1, row, head, k)], width));
  const double most = *std::max_element(p.begin(), p.end());
  double total = 0;
  for (double& one : p) total += one = std::exp(one - most);
  for (double& one : p) one /= total;
  c.count_products(width * kept.size());
  return p;
}

}  // namespace

void attend_chosen(const Call& c) {
  const Out y = c.out(0);
  const std::size_t width = c.out_size(0, 3), heads = c.in_size(0, 2);
  const bool scaled = c.op.attributes<AttendChosenAttributes>().scale != 1.0;
  over_queries(c, [&](std::size_t row, std::size_t head, const std::vector<std::size_t>& kept) {
    const Values p = weights_of(c, row, head, kept);
    for (std::size_t j = 0; j < kept.size(); ++j) {
      const double* value = &c.in(2)[place(c, 2, row, head, kept[j])];
      for (std::size_t i = 0; i < width; ++i) y[(row * heads + head) * width + i] += p[j] * value[i];
    }
    c.count_products(width * kept.size());
    c.count((scaled ? 5 : 4) * kept.size() + width);
  });
}

// Inputs: query, keys, values, choice, out, d_out.  ds = p·(do·v − Σ do·o)·scale
void attend_chosen_backward(const Call& c) {
  const Out dq = c.out(0), dk = c.out(1), dv = c.out(2);
  const std::size_t heads = c.in_size(0, 2), width = c.in_size(0, 3), value_width = c.in_size(2, 3);
  const double scale = c.op.attributes<AttendChosenAttributes>().scale;
  over_queries(c, [&](std::size_t row, std::size_t head, const std::vector<std::size_t>& kept) {
    const Values p = weights_of(c, row, head, kept);
    const std::size_t at = (row * heads + head) * width, to = (row * heads + head) * value_width;
    const double mean = dot(&c.in(4)[to], &c.in(5)[to], value_width);
    for (std::size_t j = 0; j < kept.size(); ++j) {
      const std::size_t key = place(c, 1, row, head, kept[j]), value = place(c, 2, row, head, kept[j]);
      const double ds = p[j] * (dot(&c.in(5)[to], &c.in(2)[value], value_width) - mean) * scale;
      for (std::size_t i = 0; i < value_width; ++i) dv[value + i] += p[j] * c.in(5)[to + i];
      for (std::size_t i = 0; i < width; ++i) {
        dq[at + i] += ds * c.in(1)[key + i];
        dk[key + i] += ds * c.in(0)[at + i];
      }
    }
    c.count_products((2 * width + 2 * value_width) * kept.size());
    c.count((scale != 1.0 ? 9 : 7) * kept.size() + 2 * value_width - 1);
  });
}

}  // namespace reckon::reference
