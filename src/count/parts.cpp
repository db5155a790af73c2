#include "count/parts.h"

namespace reckon {

bool pairs_tokens(Role role) { return role.part == Part::scores || role.part == Part::mixing; }

MatmulParts matmul_parts(const Ledger& ledger) {
  MatmulParts parts;
  for (const WorkEntry& entry : ledger.work) {
    const Role role = entry.place.role;
    if (entry.each.matmul == 0) continue;
    Count& part = pairs_tokens(role)                  ? parts.scores_and_mixing
                  : role.block == Block::feed_forward ? parts.feed_forward
                  : role.block == Block::head         ? parts.head
                                                      : parts.projections;
    part += entry.each.matmul * entry.place.count;
  }
  return parts;
}

}  // namespace reckon
