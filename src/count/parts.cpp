#include "count/parts.h"

#include "files/checked.h"

namespace reckon {

MatmulParts matmul_parts(const Ledger& ledger) {
  MatmulParts parts;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.matmul_each == 0) continue;
    const std::string_view path = entry.place.path;
    const bool pairwise = path.ends_with("attention/scores") || path.ends_with("attention/mixing");
    std::int64_t& part = pairwise                            ? parts.scores_and_mixing
                         : path.starts_with("feed_forward/") ? parts.feed_forward
                         : path.starts_with("head")          ? parts.head
                                                             : parts.projections;
    part = checked_add(part, checked_multiply(entry.matmul_each, entry.place.count, "the count"), "the count");
  }
  return parts;
}

}  // namespace reckon
