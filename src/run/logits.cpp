// Passes over one row, in blocks that stay in the first cache.
#include "run/logits.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/host_vectors.h"

namespace reckon {
namespace {

// On the bits, so that the compiler turns the loop into vectors: an exponent of all ones is an infinity or a NaN.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t exponent = 0x7F800000u;
  std::uint32_t found = 0;
  for (const float value : values) found |= (__builtin_bit_cast(std::uint32_t, value) & exponent) == exponent ? 1u : 0u;
  return found == 0;
}

}  // namespace

float greatest(std::span<const float> logits) {
  if (logits.empty()) throw Error("a row of logits is empty");
  if (!all_finite(logits)) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); });
    throw Error(fmt::format("logit {} of {} is {}; expected finite numbers (are the weights damaged?)",
                            bad - logits.begin(), logits.size(), *bad));
  }
  return vector_max(logits.data(), static_cast<std::int64_t>(logits.size()));
}

double log_sum_exp(std::span<const float> logits) {
  const float most = greatest(logits);
  std::array<float, 1024> block;
  double sum = 0;
  for (std::size_t first = 0; first < logits.size(); first += block.size()) {
    const std::size_t count = std::min(block.size(), logits.size() - first);
    std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(first), count, block.begin());
    sum += static_cast<double>(vector_exp(block.data(), static_cast<std::int64_t>(count), most));
  }
  return static_cast<double>(most) + std::log(sum);
}

void best_tokens(std::span<const float> logits, std::int64_t count, std::vector<Ranked>& best) {
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), logits.size());
  best.clear();
  if (wanted == 0) return;
  // `best` takes up to twice as many as are wanted, then is cut back to the best of them; from then on only a score
  // above the last of those can matter (an equal one has a higher id).
  const std::size_t room = std::min(2 * wanted, logits.size());
  best.reserve(room);
  const auto cut = [&] {
    std::nth_element(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(wanted - 1), best.end(), ranks_before);
    best.resize(wanted);
    return best.back().score;
  };
  float bound = -INFINITY;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > bound)) continue;
    best.push_back({logits[i], static_cast<std::int32_t>(i)});
    if (best.size() == room && room > wanted) bound = cut();
  }
  cut();
  std::sort(best.begin(), best.end(), ranks_before);
}

}  // namespace reckon
