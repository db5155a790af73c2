#include "text/scored_merges.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "text/utf8.h"

namespace reckon {
namespace {

// Hashes that are taken apart: that of the right half of a text follows from those of the whole and of the left half.
// Σ (byte + 1)·base^place modulo 2⁶¹ − 1, the last byte at place 0 (Karp and Rabin 1987).
constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1, base = 0x1C8A5F2D37E94B65;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  const std::uint64_t sum = (static_cast<std::uint64_t>(product) & prime) + static_cast<std::uint64_t>(product >> 61);
  return sum >= prime ? sum - prime : sum;
}

std::uint64_t appended(std::uint64_t hash, char byte) {
  const std::uint64_t sum = multiply(hash, base) + static_cast<unsigned char>(byte) + 1;
  return sum >= prime ? sum - prime : sum;
}

// The tokens by their text and its hash.
class HashedTokens {
 public:
  explicit HashedTokens(const std::vector<ScoredToken>& tokens) : slots_(std::bit_ceil(2 * tokens.size() + 2)) {
    for (const ScoredToken& token : tokens) {
      std::uint64_t hash = 0;
      for (const char byte : token.text) hash = appended(hash, byte);
      Slot& slot = slots_[place_of(hash, token.text)];
      if (slot.id == no_token) slot = {hash, token.text, token.id};
    }
  }

  TokenId find(std::uint64_t hash, std::string_view text) const { return slots_[place_of(hash, text)].id; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::string_view text;
    TokenId id = no_token;
  };

  // Where the token is, or where it would go.
  std::size_t place_of(std::uint64_t hash, std::string_view text) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = hash & mask;
    while (slots_[place].id != no_token && (slots_[place].hash != hash || slots_[place].text != text))
      place = (place + 1) & mask;
    return place;
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half full
};

}  // namespace

std::optional<std::vector<TokenMerge>> scored_merges(std::vector<ScoredToken> tokens, std::size_t most) {
  const HashedTokens known(tokens);
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const ScoredToken& a, const ScoredToken& b) { return a.score > b.score; });
  std::vector<TokenMerge> merges;
  std::vector<std::uint64_t> begun;         // of each beginning of a text, its hash
  std::vector<std::uint64_t> powers = {1};  // of the base
  for (const ScoredToken& token : tokens) {
    const std::string_view text = token.text;
    begun.assign(1, 0);
    for (const char byte : text) begun.push_back(appended(begun.back(), byte));
    while (powers.size() <= text.size()) powers.push_back(multiply(powers.back(), base));
    const auto character = [&](std::size_t at) {
      return utf8_char(text.data() + at, text.data() + text.size()).length;
    };
    for (std::size_t cut = text.empty() ? 0 : character(0); cut < text.size(); cut += character(cut)) {
      const TokenId left = known.find(begun[cut], text.substr(0, cut));
      if (left == no_token) continue;
      const std::uint64_t shifted = multiply(begun[cut], powers[text.size() - cut]);
      const std::uint64_t rest = begun.back() >= shifted ? begun.back() - shifted : begun.back() + prime - shifted;
      const TokenId right = known.find(rest, text.substr(cut));
      if (right == no_token) continue;
      if (merges.size() == most) return std::nullopt;
      merges.push_back({left, right, token.id});
    }
  }
  return merges;
}

}  // namespace reckon
