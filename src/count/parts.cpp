#include "count/parts.h"

namespace reckon {

bool pairs_tokens(Role role) { return role.part == Part::scores || role.part == Part::mixing; }

namespace {

void add(Count& part, const WorkEntry& entry) { part += entry.each.matmul * entry.place.count; }

}  // namespace

MatmulParts matmul_parts(const Ledger& ledger) {
  MatmulParts parts;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.each.matmul == 0) continue;
    const Role role = entry.place.role;
    add(pairs_tokens(role)                  ? parts.scores_and_mixing
        : role.block == Block::feed_forward ? parts.feed_forward
        : role.block == Block::head         ? parts.head
                                            : parts.projections,
        entry);
  }
  return parts;
}

AttentionParts attention_parts(const Ledger& ledger) {
  AttentionParts parts;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.each.matmul == 0 || entry.place.role.block != Block::attention) continue;
    add(pairs_tokens(entry.place.role) ? parts.scores_and_mixing : parts.projections, entry);
  }
  return parts;
}

}  // namespace reckon
