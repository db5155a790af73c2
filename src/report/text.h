// UTF-8 text by the columns that it takes in a terminal: how wide it is, how it wraps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// Combining marks and styles (ESC [ … m) take no column, East Asian wide characters two, all others one.
int display_width(std::string_view text);

// The longest prefix that fits that many columns.
std::string_view first_columns(std::string_view text, int columns);

// Bytes that are no characters become replacement characters; JSON has no other way to write them.
std::string as_utf8(std::string_view bytes);

// The text with control characters and broken UTF-8 replaced, so that no name can upset a terminal.
std::string printable(std::string_view text);

// The same for a text of its own, in which line breaks, tabs and marks of direction have their place.
std::string printable_text(std::string_view text);

// With the characters that mean something in HTML and SVG as entities.
std::string escape_html(std::string_view text);

// Lines of at most `width` columns. Words break at spaces, else before a dot or slash or after a hyphen inside;
// formulas before + and − where that leaves a good line, else before · (or - and *, as ASCII writes them); what has no
// such place is cut.
// Leading spaces are kept on every line.
enum class Breaks { words, formula };
std::vector<std::string> wrap(std::string_view text, int width, Breaks breaks);
// The least width at which nothing is cut.
int least_width(std::string_view text, Breaks breaks);

// Filled with spaces to `width` columns: at its end, or for `right` before it.
std::string justified(std::string_view text, int width, bool right = false);

std::string repeated(std::string_view text, int times);

// Text in a style of the terminal, where that has colours. Styles are parameters of "select graphic rendition".
class Painter {
 public:
  static constexpr std::string_view bold = "1", faint = "2", yellow = "33", blue = "34";
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(std::string_view style, std::string_view text) const;

 private:
  bool color_;
};

}  // namespace reckon
