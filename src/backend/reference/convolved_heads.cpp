// What tokens before add to queries, keys and values. A cache holds the inputs before the first new token, the oldest
// first, and then those before the next.
#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

// What came before and what is new, of one sequence; the cache then keeps its end.
Values text_of(const Call& c, std::size_t input, std::size_t b, std::size_t before, std::size_t row) {
  const std::size_t tokens = c.in_size(0, 1);
  Values text((before + tokens) * row);
  std::copy_n(&c.in(0)[b * tokens * row], tokens * row, &text[before * row]);
  if (!c.has(input)) return text;
  const Out cache = c.held(c.op.inputs[input]).subspan(b * before * row, before * row);
  if (c.program.workload.past > 0) std::copy(cache.begin(), cache.end(), text.begin());
  std::copy_n(&text[tokens * row], cache.size(), cache.begin());
  return text;
}

}  // namespace

// Inputs: x, weight, shift, bias, cache.
void head_convolution(const Call& c) {
  const In weight = c.in(1), shift = c.in(2), bias = c.in(3);
  const Out y = c.out(0);
  const std::size_t tokens = c.in_size(0, 1), heads = c.in_size(0, 2), width = c.in_size(0, 3);
  const std::size_t taps = c.in_size(1, 2), row = heads * width;
  c.count_products(y.size() * width * taps);
  c.count(2 * y.size());
  for (std::size_t b = 0; b < c.in_size(0, 0); ++b) {
    const Values text = text_of(c, 4, b, taps - 1, row);
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t o = 0; o < row; ++o) {
        const std::size_t head = o / width * width;
        double sum = bias[o];
        for (std::size_t i = 0; i < width; ++i)
          for (std::size_t j = 0; j < taps; ++j)
            sum += weight[(o * width + i) * taps + j] * (text[(t + j) * row + head + i] + shift[head + i]);
        y[(b * tokens + t) * row + o] = sum;
      }
    }
  }
}

// Inputs: x, cache.
void delay(const Call& c) {
  const Out y = c.out(0);
  const std::size_t tokens = c.in_size(0, 1), row = c.in_size(0, 2);
  for (std::size_t b = 0; b < c.in_size(0, 0); ++b)
    std::copy_n(text_of(c, 1, b, 1, row).begin(), tokens * row, &y[b * tokens * row]);
}

void average_heads(const Call& c) {
  const Out of_query = c.out(0), of_key = c.out(1);
  const std::size_t heads = c.in_size(0, 2), kv_heads = c.in_size(1, 2), width = c.in_size(0, 3);
  const std::size_t group = heads / kv_heads;
  for (std::size_t at = 0; at < of_query.size(); ++at) {
    const std::size_t key = (at / width / heads * kv_heads + at / width % heads / group) * width + at % width;
    of_query[at] = (c.in(0)[at] + c.in(1)[key]) / 2;
    of_key[key] += of_query[at] / static_cast<double>(group);
  }
  c.count(3 * of_query.size());
}

void scale_heads(const Call& c) {
  const Out y = c.out(0);
  const std::size_t heads = c.in_size(0, 2), width = c.in_size(0, 3);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = c.in(0)[i] * c.in(1)[i / width % heads];
  c.count(y.size());
}

}  // namespace reckon::reference
