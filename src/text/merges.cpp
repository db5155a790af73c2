#include "text/merges.h"

#include <bit>

#include "text/merger.h"

namespace reckon {

Merges::Merges(std::span<const TokenMerge> merges, std::size_t tokens)
    : slots_(std::bit_ceil(2 * merges.size() + 2)), mask_(slots_.size() - 1), made_(tokens) {
  shift_ = 64 - std::countr_zero(slots_.size());
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) {
    const TokenMerge& merge = merges[rank];
    const std::uint64_t key = key_of(merge.left, merge.right);
    std::size_t slot = first_slot(key);
    while (slots_[slot].key != no_key && slots_[slot].key != key) slot = (slot + 1) & mask_;
    if (slots_[slot].key == key) continue;
    slots_[slot] = {key, rank, merge.product};
    Made& made = made_[static_cast<std::size_t>(merge.product)];
    if (made.rank != no_rank) ordered_ = false;
    made = {merge.left, merge.right, rank};
  }
  for (const TokenMerge& merge : merges) {
    const std::uint32_t rank = made(merge.product).rank;
    for (const TokenId part : {merge.left, merge.right}) {
      const std::uint32_t before = made(part).rank;
      if (before != no_rank && before >= rank) ordered_ = false;
    }
  }
}

std::vector<TokenMerge> essential_merges(std::span<const TokenMerge> merges, std::size_t tokens,
                                    const std::function<void(TokenId, std::vector<TokenId>&)>& symbols) {
  std::vector<std::uint8_t> makers(tokens);  // 0, 1, or 2 for several
  for (const TokenMerge& merge : merges) {
    std::uint8_t& count = makers[static_cast<std::size_t>(merge.product)];
    if (count < 2) ++count;
  }
  const Merges all(merges, tokens);
  std::vector<Merges::Made> makes(tokens);
  Merger merger;
  std::vector<TokenId> parts, merged;
  for (std::size_t token = 0; token < tokens; ++token) {
    if (makers[token] < 2) continue;
    parts.clear();
    merged.clear();
    symbols(static_cast<TokenId>(token), parts);
    makes[token] = merger.merge(all, parts, merged);
    if (merged.size() != 1) makes[token] = {};
  }
  std::vector<TokenMerge> essential;
  for (const TokenMerge& merge : merges) {
    const auto product = static_cast<std::size_t>(merge.product);
    const bool only = makers[product] == 1;
    if (only || (makes[product].left == merge.left && makes[product].right == merge.right)) essential.push_back(merge);
  }
  return essential;
}

}  // namespace reckon
