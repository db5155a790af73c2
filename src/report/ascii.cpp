#include "report/ascii.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "text/utf8.h"

namespace reckon {
namespace {

struct StandIn {
  char32_t symbol;
  std::string_view text;
};
constexpr StandIn stand_ins[] = {
    {U'±', "+/-"},    {U'½', "1/2*"},  {U'×', "x"},      {U'÷', "/"},     {U'−', "-"},     {U'–', "-"},
    {U'…', "..."},    {U'←', "<-"},    {U'→', "->"},     {U'Σ', "sum"},   {U'β', "beta"},  {U'γ', "gamma"},
    {U'ε', "eps"},    {U'σ', "sigma"}, {U'τ', "tau"},    {U'µ', "u"},     {U'⇥', "\\t"},   {U'⏎', "\\n"},
    {U'␣', "_"},      {U'▁', "_"},     {U'\uFFFD', "?"}, {U'Δ', "delta"}, {U'α', "alpha"}, {U'δ', "delta"},
    {U'λ', "lambda"}, {U'′', "'"},
};

// Symbols with stand-ins of one character, in the same order: those that draw, which keep their width so, and those
// that are raised and lowered, behind a mark.
struct Alphabet {
  std::string_view mark;
  std::u32string_view symbols;
  std::string_view stand_ins;
};
constexpr Alphabet alphabets[] = {
    {"", U"─━╌│└┤┬█▉▊▋▌▍▎▏∙●▲■◆○▓▒░▪", "-=-|+++#####....*^#+o%+:o"},
    {"^", U"⁰¹²³⁴⁵⁶⁷⁸⁹ᵀᵃᶻ", "0123456789Taz"},
    {"_", U"ₑₕᵢⱼₙᵣₛᵥ₁₂", "ehijnrsv12"},
};

// Braille draws curves: which halves of the character have dots.
std::string_view braille(char32_t point) {
  constexpr unsigned upper = 0x01 | 0x02 | 0x08 | 0x10;
  const unsigned dots = point - 0x2800;
  if (dots == 0) return " ";
  return (dots & upper) == 0 ? "." : (dots & ~upper) == 0 ? "'" : ":";
}

// How a symbol is written: a mark that stands before it, and its stand-in; empty where there is none.
std::pair<std::string_view, std::string_view> stand_in(char32_t point) {
  if (point < 0x80) return {};
  if (point >= 0x2800 && point < 0x2900) return {"", braille(point)};
  for (const Alphabet& alphabet : alphabets) {
    const std::size_t at = alphabet.symbols.find(point);
    if (at != std::u32string_view::npos) return {alphabet.mark, alphabet.stand_ins.substr(at, 1)};
  }
  const auto found =
      std::find_if(std::begin(stand_ins), std::end(stand_ins), [&](const StandIn& one) { return one.symbol == point; });
  return {"", found == std::end(stand_ins) ? "" : found->text};
}

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
  std::string_view before;  // the mark of the last character
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    const char* const next = at + c.length;
    const auto [mark, symbol] = stand_in(c.point);
    if (!c.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(*at));
    } else if (c.point < 0x80) {
      out += *at;
    } else if (c.point == U'·') {  // between words it separates, between factors it multiplies
      const bool apart = out.ends_with(' ') && next != end && *next == ' ';
      out += apart ? '-' : '*';
    } else if (c.point == U'√') {
      out += next != end && *next == '(' ? "sqrt" : "sqrt ";
    } else if (!symbol.empty()) {
      if (mark != before) out += mark;  // of several raised ones in a row the first has it
      out += symbol;
    } else {
      out += c.point < 0x10000 ? fmt::format("\\u{:04x}", static_cast<unsigned>(c.point))
                               : fmt::format("\\U{:08x}", static_cast<unsigned>(c.point));
    }
    before = mark;
    at = next;
  }
  return out;
}

}  // namespace reckon
