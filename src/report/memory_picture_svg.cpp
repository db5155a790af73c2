// Memory over the course of a run, as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/numbers.h"
#include "report/memory_picture.h"
#include "report/svg.h"

namespace reckon {
namespace {

constexpr double width = 860, height = 480, left = 76, right = 216, top = 56, bottom = 56;
constexpr double plot_width = width - left - right, plot_height = height - top - bottom;

// Okabe and Ito's colours, which people who do not see all colours can tell apart; what is alive op by op has the
// first.
constexpr std::array<std::string_view, 6> colors = {"#56b4e9", "#009e73", "#e69f00", "#cc79a7", "#999999", "#0072b2"};
constexpr std::string_view top_color = "#d55e00";

// The area from `base` up to a height in each column.
template <class Height>
std::string area(const std::vector<Extent>& columns, double base, std::string_view color, std::string_view opacity,
                 Height height_of) {
  const double step = plot_width / static_cast<double>(columns.size());
  std::string path = fmt::format("M{:.1f} {:.2f}", left, base);
  double before = -1;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double y = height_of(columns[c]);
    if (y != before) path += fmt::format("H{:.2f}V{:.2f}", left + step * static_cast<double>(c), y);
    before = y;
  }
  return fmt::format("<path d=\"{}H{:.1f}V{:.2f}Z\" fill=\"{}\" fill-opacity=\"{}\"/>\n", path, left + plot_width, base,
                     color, opacity);
}

}  // namespace

std::string memory_picture_svg(const MemoryPicture& picture) {
  const ByteAxis axis = byte_axis(picture, 8);
  const auto across = [&](double at) { return left + at / picture.ops * plot_width; };
  const auto down = [&](double bytes) { return top + (1 - bytes / axis.high) * plot_height; };
  std::string out =
      svg_opening(width, height, picture.title,
                  ".limit { stroke: #cf222e; stroke-width: 1.5; fill: none; }\n"
                  "  .over { fill: #cf222e; } .peak { fill: #24292f; }\n"
                  "  .halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }",
                  " .limit { stroke: #ff7b72; } .over { fill: #ff7b72; } .peak { fill: #e6edf3; }\n"
                  "    .halo { stroke: #0d1117; }");
  out += svg_text(left, 28, "start", picture.title, " font-size=\"16\" font-weight=\"600\"");
  const std::string above = picture.below > 0 ? ", " + below_text(picture) : "";
  out += svg_text(left, top - 10, "start", axis.unit + above, " class=\"soft\"");
  for (double tick : axis.ticks) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, down(tick), left + plot_width);
    out += svg_text(left - 8, down(tick) + 4, "end", axis.label(tick), " class=\"soft\"");
  }

  double base = 0;
  for (std::size_t b = 0; b < picture.bands.size(); ++b) {
    const double bytes = picture.bands[b].bytes;
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\"><title>{}: {}</title></rect>\n",
        left, down(base + bytes), plot_width, down(base) - down(base + bytes), colors[b % colors.size()],
        svg_escaped(picture.bands[b].name), binary_bytes(static_cast<std::int64_t>(bytes)));
    base += bytes;
  }
  // In each column the least that is alive, and paler what comes and goes.
  const std::vector<Extent> columns = columns_of(picture, static_cast<std::size_t>(plot_width) * 2);
  out += area(columns, down(base), top_color, "0.45", [&](const Extent& e) { return down(base + e.most); });
  out += area(columns, down(base), top_color, "0.85", [&](const Extent& e) { return down(base + e.least); });

  for (const MemoryPicture::Part& part : picture.parts) {
    if (part.begin > 0)
      out += fmt::format("<path class=\"frame\" stroke-dasharray=\"2 3\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                         across(part.begin), top, top + plot_height);
    if (across(part.end) - across(part.begin) > 7.0 * static_cast<double>(part.name.size()))
      out += svg_text((across(part.begin) + across(part.end)) / 2, top + plot_height + 20, "middle", part.name,
                      " class=\"soft\"");
  }
  out += fmt::format("<path class=\"frame\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left, top, top + plot_height,
                     left + plot_width);
  out += svg_text(left + plot_width / 2, height - 12, "middle", picture.x_title);

  // Labels lie over whatever is drawn, on the side that has room.
  const double peak_x = across(picture.peak.at), peak_y = down(base + picture.peak.bytes);
  const bool left_side = peak_x > left + plot_width / 2;
  out += fmt::format("<circle class=\"peak\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", peak_x, peak_y);
  out += svg_text(peak_x + (left_side ? -8 : 8), std::max(peak_y - 8, top + 12), left_side ? "end" : "start",
                  "peak: " + picture.peak_label, " class=\"halo\" font-weight=\"600\"");
  if (picture.limit && picture.limit->bytes <= axis.high) {
    const double y = down(picture.limit->bytes);
    out += fmt::format("<path class=\"limit\" stroke-dasharray=\"6 4\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y,
                       left + plot_width);
    out += svg_text(left + plot_width - 6, y - 6, "end", picture.limit->name, " class=\"over halo\"");
  }

  // The legend from top to bottom, as the bands lie.
  double line = top + 30;
  const auto entry = [&](std::string_view color, const std::string& name) {
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" fill=\"{}\"/>\n",
                       left + plot_width + 18, line - 11, color);
    out += svg_text(left + plot_width + 40, line, "start", name);
    line += 22;
  };
  entry(top_color, picture.top_name);
  for (std::size_t b = picture.bands.size(); b-- > 0;) entry(colors[b % colors.size()], picture.bands[b].name);
  return out + "</svg>\n";
}

}  // namespace reckon
