#include "text/token_index.h"

#include <bit>

#include "text/hash.h"

namespace reckon {

TokenIndex::TokenIndex(std::size_t tokens) : slots_(std::bit_ceil(2 * tokens + 2), no_token) {}

// Where these bytes are, or where they would go.
std::size_t TokenIndex::slot_of(std::string_view wanted) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_bytes(wanted) & mask;
  while (slots_[slot] != no_token && bytes_[slots_[slot]] != wanted) slot = (slot + 1) & mask;
  return slot;
}

void TokenIndex::add(std::string_view added, bool may_be_found) {
  const auto id = static_cast<TokenId>(bytes_.size());
  bytes_.add(added);
  if (!may_be_found) return;
  TokenId& slot = slots_[slot_of(added)];
  if (slot == no_token) slot = id;
}

}  // namespace reckon
