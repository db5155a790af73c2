// A chart as SVG.
#include <fmt/format.h>

#include <array>

#include "report/chart.h"
#include "report/svg.h"

namespace reckon {
namespace {

constexpr double width = 860, height = 500, left = 76, right = 200, top = 56, bottom = 60;

// Okabe and Ito's colours, which people who do not see all colours can tell apart; readable on light and dark.
constexpr std::array<std::string_view, 5> colors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"};

}  // namespace

std::string chart_svg(const Chart& chart) {
  const Axis x = x_axis(chart, 11), y = y_axis(chart, 8);
  const double plot_width = width - left - right, plot_height = height - top - bottom;
  const auto across = [&](double value) { return left + x.place(value) * plot_width; };
  const auto down = [&](double value) { return top + (1 - y.place(value)) * plot_height; };

  std::string out =
      svg_opening(width, height, chart.title, ".line { fill: none; stroke-width: 2; stroke-linejoin: round; }");
  out += svg_text(left, 28, "start", chart.title, " font-size=\"16\" font-weight=\"600\"");
  for (double tick : y.ticks) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, down(tick), left + plot_width);
    out += svg_text(left - 8, down(tick) + 4, "end", flops_label(tick), " class=\"soft\"");
  }
  for (double tick : x.ticks) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", across(tick), top, top + plot_height);
    out += svg_text(across(tick), top + plot_height + 20, "middle", size_label(tick), " class=\"soft\"");
  }
  out += fmt::format("<path class=\"frame\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left, top, top + plot_height,
                     left + plot_width);
  out += svg_text(left + plot_width / 2, height - 14, "middle", chart.x_title);
  out += svg_text(left, top - 10, "start", chart.y_title, " class=\"soft\"");
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    const std::string_view color = colors[s % colors.size()];
    std::string points, dots;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (chart.log_y && series.values[i] <= 0) continue;
      const double px = across(chart.x[i]), py = down(series.values[i]);
      points += fmt::format("{:.1f},{:.1f} ", px, py);
      if (chart.x.size() > 64) continue;
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {} at {}</title></circle>\n",
                      px, py, color, svg_escaped(series.name), flops_label(series.values[i]), size_label(chart.x[i]));
    }
    if (!points.empty()) points.pop_back();
    out += fmt::format("<polyline class=\"line\" stroke=\"{}\" points=\"{}\"/>\n{}", color, points, dots);
    const double line = top + 14 + 22 * static_cast<double>(s);
    out += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"M{:.1f} {:.1f}h22\"/>\n", color, left + plot_width + 18,
                       line - 4);
    out += svg_text(left + plot_width + 46, line, "start", series.name);
  }
  return out + "</svg>\n";
}

}  // namespace reckon
