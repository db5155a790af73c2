#include "text/byte_level.h"

#include <array>

#include "text/utf8.h"

namespace reckon {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int, 0x144> byte{};
};

constexpr Alphabet alphabet = [] {
  Alphabet made;
  for (int& byte : made.byte) byte = -1;
  char32_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    made.character[b] = itself ? b : next++;
    made.byte[made.character[b]] = static_cast<int>(b);
  }
  return made;
}();

}  // namespace

std::string byte_level_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, alphabet.character[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> byte_level_bytes(std::string_view text) {
  std::string bytes;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    if (c.point >= alphabet.byte.size() || alphabet.byte[c.point] < 0) return std::nullopt;
    bytes += static_cast<char>(alphabet.byte[c.point]);
    at += c.length;
  }
  return bytes;
}

}  // namespace reckon
