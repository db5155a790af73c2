#include "report/ascii.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>

#include <array>
#include <cstdlib>

#include "text/utf8.h"

namespace reckon {
namespace {

struct StandIn {
  char32_t symbol;
  std::string_view text;
};

// ^ and _ mark what is raised and lowered. A symbol that draws, as opposed to one that is read, has one character.
constexpr StandIn stand_ins[] = {
    {U'±', "+/-"},
    {U'½', "1/2*"},
    {U'×', "x"},
    {U'÷', "/"},
    {U'−', "-"},
    {U'–', "-"},
    {U'…', "..."},
    {U'←', "<-"},
    {U'→', "->"},
    {U'Σ', "sum"},
    {U'β', "beta"},
    {U'γ', "gamma"},
    {U'ε', "eps"},
    {U'σ', "sigma"},
    {U'⁰', "^0"},
    {U'¹', "^1"},
    {U'²', "^2"},
    {U'³', "^3"},
    {U'⁴', "^4"},
    {U'⁵', "^5"},
    {U'⁶', "^6"},
    {U'⁷', "^7"},
    {U'⁸', "^8"},
    {U'⁹', "^9"},
    {U'ᵀ', "^T"},
    {U'ᶻ', "^z"},
    {U'ₑ', "_e"},
    {U'ₕ', "_h"},
    {U'ₙ', "_n"},
    {U'ᵣ', "_r"},
    {U'ₛ', "_s"},
    {U'ᵥ', "_v"},
    {U'⇥', "\\t"},
    {U'⏎', "\\n"},
    {U'␣', "_"},
    {U'▁', "_"},
    {U'\uFFFD', "?"},
    // drawing
    {U'─', "-"},
    {U'━', "="},
    {U'╌', "-"},
    {U'│', "|"},
    {U'└', "+"},
    {U'┤', "+"},
    {U'┬', "+"},
    {U'█', "#"},
    {U'▉', "#"},
    {U'▊', "#"},
    {U'▋', "#"},
    {U'▌', "#"},
    {U'▍', "."},
    {U'▎', "."},
    {U'▏', "."},
    {U'∙', "."},
    {U'●', "*"},
    {U'▲', "^"},
    {U'■', "#"},
    {U'◆', "+"},
    {U'○', "o"},
};

// Braille draws curves: which halves of the character have dots.
std::string_view braille(char32_t point) {
  constexpr unsigned upper = 0x01 | 0x02 | 0x08 | 0x10;
  const unsigned dots = point - 0x2800;
  if (dots == 0) return " ";
  return (dots & upper) == 0 ? "." : (dots & ~upper) == 0 ? "'" : ":";
}

std::string_view stand_in(char32_t point) {
  if (point >= 0x2800 && point < 0x2900) return braille(point);
  for (const StandIn& one : stand_ins) {
    if (one.symbol == point) return one.text;
  }
  return "";
}

bool is_mark(std::string_view text) { return text.size() == 2 && (text[0] == '^' || text[0] == '_'); }

}  // namespace

bool utf8_locale() {
  if (const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", locale_t{})) {
    const std::string_view codes = ::nl_langinfo_l(CODESET, locale);
    const bool utf8 = codes == "UTF-8";
    ::freelocale(locale);
    return utf8;
  }
  // A locale that is not installed here says by its name what the terminal writes.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text(value);
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

std::string to_ascii(std::string_view text) {
  std::string out;
  std::string_view before;  // the stand-in of the last character
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    const char* const next = at + c.length;
    std::string_view symbol;
    if (!c.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(*at));
    } else if (c.point < 0x80) {
      out += *at;
    } else if (c.point == U'·') {  // between words it separates, between factors it multiplies
      const bool apart = out.ends_with(' ') && next != end && *next == ' ';
      out += apart ? '-' : '*';
    } else if (c.point == U'√') {
      out += next != end && *next == '(' ? "sqrt" : "sqrt ";
    } else if (symbol = stand_in(c.point); !symbol.empty()) {
      out += is_mark(symbol) && is_mark(before) && symbol[0] == before[0] ? symbol.substr(1) : symbol;
    } else {
      out += c.point < 0x10000 ? fmt::format("\\u{:04x}", static_cast<unsigned>(c.point))
                               : fmt::format("\\U{:08x}", static_cast<unsigned>(c.point));
    }
    before = symbol;
    at = next;
  }
  return out;
}

}  // namespace reckon
