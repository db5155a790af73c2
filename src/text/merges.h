// The merges of a byte-pair encoding, and how a piece is merged by them: the pair of lowest rank first, of equal ones
// the leftmost, until none is left.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "text/spec.h"

namespace reckon {

inline constexpr std::uint32_t no_rank = ~0u;

// A pair's rank and what it becomes.
struct PairMerge {
  std::uint32_t rank = no_rank;  // no_rank: the pair stays apart
  TokenId product = no_token;
};

class Merges {
 public:
  // The rank is the place in the list; a pair that is listed twice has its first.
  Merges(std::span<const TokenMerge> merges, std::size_t tokens);

  PairMerge find(TokenId left, TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t slot = first_slot(key);; slot = (slot + 1) & mask_) {
      const Slot& here = slots_[slot];
      if (here.key == key) return here.merge;
      if (here.key == no_key) return {};
    }
  }

  // How a token is made, where only one pair makes it.
  struct Made {
    TokenId left = no_token, right = no_token;  // no_token: by no pair
    std::uint32_t rank = no_rank;
  };
  const Made& made(TokenId token) const { return made_[static_cast<std::size_t>(token)]; }

  // Each token is made by one pair at most, and from tokens of lower rank: what all trained vocabularies are. Then long
  // pieces can be merged in windows.
  bool ordered() const { return ordered_; }

 private:
  static constexpr std::uint64_t no_key = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = no_key;
    PairMerge merge;
  };
  static std::uint64_t key_of(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t first_slot(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::vector<Made> made_;
  bool ordered_ = true;
};

// Merges pieces exactly as the definition says, but in a time that grows with the length of the piece and no faster.
// Keeps its memory from one piece to the next. One per thread.
class Merger {
 public:
  // Appends the tokens that `symbols` become. Returns the last merge, of a piece that needed no windows.
  Merges::Made merge(const Merges& merges, std::span<const TokenId> symbols, std::vector<TokenId>& out);

 private:
  struct Part {
    TokenId token;
    PairMerge with_next;
  };
  struct Node {
    TokenId token;
    PairMerge with_next;
    std::uint32_t previous, next;
  };
  struct Placed {
    TokenId token;
    std::size_t begin;  // in symbols
  };

  Merges::Made merge_few(const Merges& merges, std::span<const TokenId> symbols, std::vector<TokenId>& out);
  Merges::Made merge_many(const Merges& merges, std::span<const TokenId> symbols, std::vector<Placed>& out);
  bool merge_in_windows(const Merges& merges, std::span<const TokenId> symbols, std::vector<TokenId>& out);
  bool would_join(const Merges& merges, TokenId left, TokenId right);

  std::vector<Part> parts_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> heap_;
  std::vector<Placed> window_, next_window_;
  std::vector<PairMerge> left_history_, right_history_;
};

// Where several pairs make the same token, only one ever does: the last merge when the token's own symbols are merged
// alone. No other two halves of it can come to stand side by side, whatever the text around them, since nothing has
// reached into the token's bytes until then. The list without the others encodes every text as before.
// `symbols` appends a token's symbols.
std::vector<TokenMerge> essential_merges(std::span<const TokenMerge> merges, std::size_t tokens,
                                         const std::function<void(TokenId, std::vector<TokenId>&)>& symbols);

}  // namespace reckon
