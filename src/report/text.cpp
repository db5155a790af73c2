#include "report/text.h"

#include <algorithm>
#include <cstdint>

#include "text/utf8.h"

namespace reckon {
namespace {

int width_of(std::uint32_t c) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range none[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  static constexpr Range two[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                  {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                  {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  const auto in = [c](const Range& range) { return c >= range.first && c <= range.last; };
  if (c < 0x300) return 1;
  if (std::any_of(std::begin(none), std::end(none), in)) return 0;
  return std::any_of(std::begin(two), std::end(two), in) ? 2 : 1;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }
bool is_direction(char32_t c) { return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069); }

// With the characters that are `unwanted`, and bytes that are no character, replaced.
template <class Unwanted>
std::string without(std::string_view text, Unwanted unwanted) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_char(text.data() + i, text.data() + text.size());
    if (unwanted(c.point) || !c.valid) {
      out += "\uFFFD";
    } else {
      out += text.substr(i, c.length);
    }
    i += c.length;
  }
  return out;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// How good a place `at` is to begin a new line: 0 none, 1 fair, 2 good.
int break_rank(std::string_view text, std::size_t at, Breaks breaks) {
  const std::string_view rest = text.substr(at);
  if (breaks == Breaks::words) {
    if (rest.starts_with(' ')) return 2;
    const bool inside =
        rest.size() > 1 && (rest[0] == '.' || rest[0] == '/') && (rest[1] < '0' || rest[1] > '9') && rest[1] != ' ';
    const bool hyphen = at > 1 && text[at - 1] == '-' && is_letter(text[at - 2]) && is_letter(rest[0]);
    return inside || hyphen ? 1 : 0;  // names of tensors, paths, models
  }
  if (rest.starts_with(" + ") || rest.starts_with(" − ") || rest.starts_with(" - ")) return 2;
  return rest.starts_with("·") || rest.starts_with("*") ? 1 : 0;
}

// Where the first line of `text` ends, in bytes.
std::size_t line_end(std::string_view text, int width, Breaks breaks) {
  std::size_t best = 0;
  int best_rank = 0, columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_char(text.data() + i, text.data() + text.size());
    const int rank = i == 0 ? 0 : break_rank(text, i, breaks);
    if (rank > 0 && columns <= width && (rank >= best_rank || columns > 3 * display_width(text.substr(0, best)))) {
      best = i;
      best_rank = rank;
    }
    columns += width_of(c.point);
    if (columns > width) return best > 0 ? best : std::max(i, c.length);
    i += c.length;
  }
  return text.size();
}

}  // namespace

int display_width(std::string_view text) {
  int columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("\033[")) {
      i = std::min(text.find('m', i), text.size() - 1) + 1;
      continue;
    }
    const Utf8Char c = utf8_char(text.data() + i, text.data() + text.size());
    columns += width_of(c.point);
    i += c.length;
  }
  return columns;
}

std::string_view first_columns(std::string_view text, int columns) {
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_char(text.data() + i, text.data() + text.size());
    columns -= width_of(c.point);
    if (columns < 0) return text.substr(0, i);
    i += c.length;
  }
  return text;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return out;
}

std::string as_utf8(std::string_view bytes) {
  return without(bytes, [](char32_t) { return false; });
}

std::string printable(std::string_view text) {
  return without(text, [](char32_t c) { return is_control(c) || is_direction(c); });
}

std::string printable_text(std::string_view text) {
  return without(text, [](char32_t c) { return is_control(c) && c != '\n' && c != '\t'; });
}

std::vector<std::string> wrap(std::string_view text, int width, Breaks breaks) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  const std::string margin(std::min<std::size_t>(indent, static_cast<std::size_t>(std::max(0, width - 1))), ' ');
  width = std::max(1, width - static_cast<int>(margin.size()));
  text.remove_prefix(indent);
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = line_end(text, width, breaks);
    std::string_view line = text.substr(0, end);
    while (line.ends_with(' ')) line.remove_suffix(1);
    lines.push_back(margin + std::string(line));
    text.remove_prefix(end);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

int least_width(std::string_view text, Breaks breaks) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  int widest = 0;
  for (std::size_t from = indent; from < text.size();) {
    std::size_t to = from + 1;
    while (to < text.size() && break_rank(text, to, breaks) == 0) ++to;
    std::string_view piece = text.substr(from, to - from);
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    widest = std::max(widest, display_width(piece));
    from = to;
  }
  return static_cast<int>(indent) + widest;
}

std::string justified(std::string_view text, int width, bool right) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return right ? fill + std::string(text) : std::string(text) + fill;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string Painter::operator()(std::string_view style, std::string_view text) const {
  if (!color_ || text.empty()) return std::string(text);
  return "\033[" + std::string(style) + "m" + std::string(text) + "\033[0m";
}

}  // namespace reckon
