#include "count/parts.h"

namespace reckon {
namespace {

bool pairwise(std::string_view path) {
  return path.ends_with("attention/scores") || path.ends_with("attention/mixing");
}

void add(Count& part, const WorkEntry& entry) { part += entry.matmul_each * entry.place.count; }

}  // namespace

MatmulParts matmul_parts(const Ledger& ledger) {
  MatmulParts parts;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.matmul_each == 0) continue;
    const std::string_view path = entry.place.path;
    add(pairwise(path)                      ? parts.scores_and_mixing
        : path.starts_with("feed_forward/") ? parts.feed_forward
        : path.starts_with("head")          ? parts.head
                                            : parts.projections,
        entry);
  }
  return parts;
}

AttentionParts attention_parts(const Ledger& ledger) {
  AttentionParts parts;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.matmul_each == 0 || !entry.place.path.starts_with("attention/")) continue;
    add(pairwise(entry.place.path) ? parts.scores_and_mixing : parts.projections, entry);
  }
  return parts;
}

}  // namespace reckon
