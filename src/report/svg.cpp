#include "report/svg.h"

#include <fmt/format.h>

#include "report/text.h"

namespace reckon {

std::string svg_escaped(const std::string& text) { return escape_html(printable(text)); }

std::string svg_text(double x, double y, std::string_view anchor, const std::string& text, std::string_view extra) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, extra,
                     svg_escaped(text));
}

std::string svg_opening(double width, double height, const std::string& title, std::string_view style,
                        std::string_view dark_style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\" aria-label=\"{2}\">\n"
      "<style>\n"
      "  svg {{ background: #ffffff; font: 13px system-ui, sans-serif; }}\n"
      "  text {{ fill: #24292f; }} .soft {{ fill: #57606a; }} .grid {{ stroke: #d8dee4; }} .frame {{ stroke: #57606a; "
      "}}\n"
      "  .grid, .frame {{ stroke-width: 1; fill: none; }} {3}\n"
      "  @media (prefers-color-scheme: dark) {{\n"
      "    svg {{ background: #0d1117; }} text {{ fill: #e6edf3; }} .soft {{ fill: #9198a1; }} "
      ".grid {{ stroke: #2a313c; }}\n"
      "    .frame {{ stroke: #9198a1; }}{4}\n"
      "  }}\n"
      "</style>\n",
      width, height, svg_escaped(title), style, dark_style);
}

}  // namespace reckon
