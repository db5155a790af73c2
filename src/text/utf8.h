// UTF-8, one character at a time. Text from anywhere may be broken: a byte that begins no valid character (RFC 3629:
// no surrogates, nothing overlong, nothing past U+10FFFF) is a character of its own, of the class of U+FFFD, which
// tokenizers that replace it put there; the byte itself is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/unicode.h"

namespace reckon {

inline constexpr char32_t invalid_char = 0xFFFD;

struct Utf8Char {
  char32_t point;      // invalid_char for a broken byte
  std::size_t length;  // bytes; 1 for a broken byte
  bool valid;
};

// The character at `at`, which is before `end`.
inline Utf8Char utf8_char(const char* at, const char* end) {
  const auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
  const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  const Utf8Char broken{invalid_char, 1, false};
  if (first < 0x80) return {first, 1, true};
  if (first < 0xC2 || first > 0xF4) return broken;
  if (first < 0xE0) {
    if (end - at < 2 || !follows(1)) return broken;
    return {(first & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2, true};
  }
  if (first < 0xF0) {
    if (end - at < 3 || !follows(1) || !follows(2)) return broken;
    const char32_t point = (first & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    if (point < 0x800 || (point >= 0xD800 && point < 0xE000)) return broken;
    return {point, 3, true};
  }
  if (end - at < 4 || !follows(1) || !follows(2) || !follows(3)) return broken;
  const char32_t point = (first & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
  if (point < 0x10000 || point > 0x10FFFF) return broken;
  return {point, 4, true};
}

inline bool is_utf8(std::string_view text) {
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    if (!c.valid) return false;
    at += c.length;
  }
  return true;
}

inline void append_utf8(std::string& text, char32_t point) {
  constexpr char32_t marks[] = {0, 0xC0, 0xE0, 0xF0};  // of the first byte, by how many follow it
  const int following = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  text += static_cast<char>(marks[following] | point >> (6 * following));
  for (int i = following - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
}

// How many bytes at the end of `text` begin a character that more bytes could complete: 0 to 3.
inline std::size_t unfinished_utf8(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    // E0, ED, F0 and F4 allow only some second bytes: try with the lowest and the highest of what may follow.
    for (const char filler : {'\x80', '\xBF'}) {
      const std::string filled = std::string(text.substr(text.size() - back)).append(4 - back, filler);
      if (utf8_char(filled.data(), filled.data() + filled.size()).length > back) return back;
    }
  }
  return 0;
}

// A character of the text that is being split: its class and where the next one begins.
struct SplitChar {
  CharClass kind;
  const char* next;
};

inline SplitChar split_char(const char* at, const char* end) {
  const unsigned char first = static_cast<unsigned char>(*at);  // NOLINT(clang-analyzer-core.NullDereference)
  if (first < 0x80) return {class_of(first), at + 1};
  const Utf8Char c = utf8_char(at, end);
  return {class_of(c.point), at + c.length};
}

}  // namespace reckon
