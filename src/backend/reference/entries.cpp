// Entries of several tokens. The state holds what tokens before the first new one gave, the oldest first: of each, kv
// and then its gate.
#include "ops/entries.h"

#include "backend/reference/call.h"

namespace reckon::reference {
namespace {

namespace place = entries_input;

// The tokens of one sequence from `before` ahead of the first new one on, those before the text 0.
Values text_of(const Call& c, std::size_t b, std::size_t before, std::size_t each) {
  const std::size_t tokens = c.in_size(place::kv, 1);
  Values text((before + tokens) * 2 * each);
  for (std::size_t t = 0; t < tokens; ++t)
    for (const std::size_t which : {std::size_t{place::kv}, std::size_t{place::gate}})
      std::copy_n(&c.in(which)[(b * tokens + t) * each], each, &text[((before + t) * 2 + which) * each]);
  if (!c.has(place::state)) return text;
  const Out held = c.held(c.op.inputs[place::state]).subspan(b * before * 2 * each, before * 2 * each);
  if (c.program.workload.past > 0) std::copy(held.begin(), held.end(), text.begin());
  std::copy_n(&text[tokens * 2 * each], held.size(), held.begin());
  return text;
}

}  // namespace

void entries(const Call& c) {
  const auto& a = c.op.attributes<EntriesAttributes>();
  const auto rate = static_cast<std::size_t>(a.rate), before = static_cast<std::size_t>(a.before());
  const std::size_t each = c.in_size(place::kv, 2), width = c.in_size(place::norm, 0), tokens = c.in_size(place::kv, 1);
  const std::size_t past = c.has(place::state) ? static_cast<std::size_t>(c.program.workload.past) : 0;
  const std::size_t half = c.in_size(place::table, 1) / 2, batch = c.in_size(place::kv, 0), shown = c.out_size(0, 1);
  const Out y = c.out(0), kept = c.has(place::cache) ? c.held(c.op.inputs[place::cache]) : y;
  const std::size_t room = kept.size() / (batch * width);  // of a cache may be for more
  for (std::size_t b = 0; b < batch; ++b) {
    const Values text = text_of(c, b, before, each);
    for (std::size_t e = past / rate; e < (past + tokens) / rate; ++e) {
      double* to = &kept[(b * room + e) * width];
      const std::size_t first = a.overlaps && e > 0 ? e * rate - rate : e * rate, end = e * rate + rate;
      double squares = 0;
      for (std::size_t i = 0; i < width; ++i) {
        double sum = 0, total = 0, most = -double{INFINITY};
        const auto element = [&](std::size_t p) { return a.overlaps && p >= e * rate ? width + i : i; };
        const auto score = [&](std::size_t p) {
          const std::size_t at = element(p);
          return text[((p + before - past) * 2 + place::gate) * each + at] + c.in(place::bias)[p % rate * each + at];
        };
        for (std::size_t p = first; p < end; ++p) most = std::max(most, score(p));
        for (std::size_t p = first; p < end; ++p) {
          const double weight = std::exp(score(p) - most);
          total += weight;
          sum += weight * text[(p + before - past) * 2 * each + element(p)];
        }
        to[i] = sum / total;
        squares += to[i] * to[i];
      }
      const double root = std::sqrt(squares / static_cast<double>(width) + a.epsilon);
      for (std::size_t i = 0; i < width; ++i) to[i] *= c.in(place::norm)[i] / root;
      const double* angles = &c.in(place::table)[e * rate * 2 * half];
      for (std::size_t i = 0; i < half; ++i) {
        double &x = to[width - 2 * half + 2 * i], &z = to[width - 2 * half + 2 * i + 1];
        const double one = x, two = z;
        x = one * angles[i] - two * angles[half + i];
        z = one * angles[half + i] + two * angles[i];
      }
      c.count((8 * (end - first) + 1) * width + 2 + 6 * half);
    }
  }
  for (std::size_t b = 0; c.has(place::cache) && b < batch; ++b)
    std::copy_n(&kept[b * room * width], shown * width, &y[b * shown * width]);
}

}  // namespace reckon::reference
