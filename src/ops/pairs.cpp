#include "ops/pairs.h"

#include <algorithm>

namespace reckon {

Count visible_pairs(std::int64_t tokens, std::int64_t keys, std::int64_t window) {
  const std::int64_t before = keys - tokens;
  const std::int64_t limit = window > 0 ? window : keys;
  // The first `growing` queries see one key more each; the rest see `limit`.
  const Count growing = std::clamp<std::int64_t>(limit - before, 0, tokens);
  return growing * before + growing * (growing + 1) / 2 + (tokens - growing) * limit;
}

Formula times_pairs(Term product, const Program& program, const AttentionMask& mask, const Shape& scores) {
  const Dim tokens = scores[2], keys = scores[3];
  if (program.workload.causal == Causal::full || !mask.causal) {
    return Formula(product.times(tokens).times(keys));
  }
  const Count pairs = visible_pairs(tokens.size, keys.size, mask.window);
  if (!pairs.is_short()) {  // more than a dimension holds: a plain number in the formula
    product.coefficient *= pairs;
    return Formula(product);
  }
  const bool plain = tokens.size == keys.size && (mask.window == 0 || mask.window >= keys.size);
  return Formula(
      product.times({static_cast<std::int64_t>(pairs), plain ? Symbol::causal_pairs : Symbol::window_pairs}));
}

}  // namespace reckon
