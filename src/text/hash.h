// Hashing of short byte strings and of pairs, for tables that never leave memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace reckon {

// Both halves of the 128-bit product, folded: every bit of the result depends on every bit of a and b.
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Word>
Word load_word(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Up to 16 bytes as two words; together with the length they say which bytes it was. Long strings: the first and
// last 8.
struct TwoWords {
  std::uint64_t first, second;
  bool operator==(const TwoWords&) const = default;
};
inline TwoWords two_words(const char* at, std::size_t length) {
  if (length >= 8) return {load_word<std::uint64_t>(at), load_word<std::uint64_t>(at + length - 8)};
  if (length >= 4) return {load_word<std::uint32_t>(at), load_word<std::uint32_t>(at + length - 4)};
  if (length == 0) return {0, 0};
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
  return {byte(0) | byte(length / 2) << 8, byte(length - 1)};
}

inline constexpr std::uint64_t hash_a = 0x9E3779B97F4A7C15, hash_b = 0xD6E8FEB86659FD93;

inline std::uint64_t hash_words(TwoWords words, std::uint64_t seed) {
  return fold_multiply(words.first ^ hash_a ^ seed, words.second ^ hash_b);
}

inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * hash_b;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 16; at += 16, left -= 16) hash = hash_words(two_words(at, 16), hash);
  return hash_words(two_words(at, left), hash);
}

}  // namespace reckon
