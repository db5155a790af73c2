// The tokens of pieces seen before: most of a text is words that come again and again. A table without chains: a piece
// that falls on another's place takes it over, so results never depend on what is in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/hash.h"
#include "text/spec.h"

namespace reckon {

class PieceCache {
 public:
  static constexpr std::size_t longest = 32;  // bytes of a piece
  static constexpr std::size_t most = 7;      // tokens of a piece

  // One line of the processor's cache.
  struct alignas(64) Entry {
    TwoWords start{}, end{};   // the first 16 bytes and, of a longer piece, the last 16
    std::uint16_t length = 0;  // 0: nothing here
    std::uint16_t count = 0;
    TokenId tokens[most] = {};

    std::span<const TokenId> found() const { return {tokens, count}; }
  };

  // A piece of 1 to `longest` bytes, and the place for it.
  struct Key {
    Entry& place;
    TwoWords start, end;
    std::uint16_t length;

    bool found() const { return place.length == length && place.start == start && place.end == end; }
    void keep(std::span<const TokenId> tokens) const {
      if (tokens.size() > most) return;
      place = {start, end, length, static_cast<std::uint16_t>(tokens.size()), {}};
      std::copy(tokens.begin(), tokens.end(), place.tokens);
    }
  };
  Key at(std::string_view piece) {
    const bool two = piece.size() > 16;
    const TwoWords start = two_words(piece.data(), two ? 16 : piece.size());
    const TwoWords end = two ? two_words(piece.data() + piece.size() - 16, 16) : TwoWords{};
    std::uint64_t hash = hash_words(start, piece.size());
    if (two) hash = hash_words(end, hash);
    return {entries_[hash >> (64 - bits)], start, end, static_cast<std::uint16_t>(piece.size())};
  }

 private:
  static constexpr int bits = 15;  // 2 MiB of entries
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << bits);
};

}  // namespace reckon
