// Merging a piece: exactly as by hand, the lowest rank first and the leftmost of equal ones, but in a time that grows
// with the length of the piece and no faster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/merges.h"

namespace reckon {

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
  std::vector<Merges::Made> left_history_, right_history_;
};

}  // namespace reckon
