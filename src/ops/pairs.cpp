#include "ops/pairs.h"

#include <reckon/error.h>

#include <algorithm>
#include <limits>

namespace reckon {

std::int64_t visible_pairs(std::int64_t tokens, std::int64_t keys, std::int64_t window) {
  __extension__ typedef __int128 Wide;
  const Wide before = keys - tokens;
  const Wide limit = window > 0 ? window : keys;
  // The first `growing` queries see one key more each; the rest see `limit`.
  const Wide growing = std::clamp<Wide>(limit - before, 0, tokens);
  const Wide pairs = growing * before + growing * (growing + 1) / 2 + (tokens - growing) * limit;
  if (pairs > std::numeric_limits<std::int64_t>::max()) throw Overflow("the pairs of query and key are past 2^63 - 1");
  return static_cast<std::int64_t>(pairs);
}

Formula times_pairs(Term product, const Program& program, const AttentionMask& mask, const Shape& scores) {
  const Dim tokens = scores[2], keys = scores[3];
  if (program.workload.causal == Causal::full || !mask.causal) {
    return Formula(product.times(tokens).times(keys));
  }
  const bool plain = tokens.size == keys.size && (mask.window == 0 || mask.window >= keys.size);
  return Formula(product.times(
      {visible_pairs(tokens.size, keys.size, mask.window), plain ? Symbol::causal_pairs : Symbol::window_pairs}));
}

}  // namespace reckon
