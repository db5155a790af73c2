// The roofline as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "report/roofline_picture.h"
#include "report/svg.h"

namespace reckon {
namespace {

constexpr double width = 1000, height = 560, left = 84, right = 290, top = 56, bottom = 60;
constexpr double plot_width = width - left - right, plot_height = height - top - bottom;
constexpr double largest_radius = 20, least_radius = 3;

// Okabe and Ito's colours, which people who do not see all colours can tell apart.
constexpr std::array<std::string_view, 7> colors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#e69f00", "#56b4e9", "#999999"};

}  // namespace

std::string roofline_svg(const RooflinePicture& picture) {
  const RooflineAxes axes = roofline_axes(picture);
  const auto across = [&](double intensity) { return left + axes.across(intensity) * plot_width; };
  const auto down = [&](double flops) { return top + (1 - axes.up(flops)) * plot_height; };
  std::string out =
      svg_opening(width, height, picture.title,
                  ".roof { stroke: #24292f; stroke-width: 2; fill: none; }\n"
                  "  .peak { stroke-dasharray: 5 4; stroke-width: 1.5; } .dot { stroke: #ffffff; fill-opacity: 0.65; }",
                  " .roof { stroke: #e6edf3; } .dot { stroke: #0d1117; }");
  out += fmt::format(
      "<clipPath id=\"plot\"><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\"/>"
      "</clipPath>\n",
      left, top, plot_width, plot_height);
  out += svg_text(left, 28, "start", picture.title, " font-size=\"16\" font-weight=\"600\"");
  out += svg_text(left, top - 10, "start", "FLOP/s", " class=\"soft\"");
  for (int power : axes.y_powers) {
    const double y = down(std::pow(10.0, power));
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y, left + plot_width);
    out += svg_text(left - 8, y + 4, "end", power_label(power), " class=\"soft\"");
  }
  for (int power : axes.x_powers) {
    const double x = across(std::pow(10.0, power));
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x, top, top + plot_height);
    out += svg_text(x, top + plot_height + 20, "middle", power_label(power), " class=\"soft\"");
  }
  out += fmt::format("<path class=\"frame\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left, top, top + plot_height,
                     left + plot_width);
  out += svg_text(left + plot_width / 2, height - 14, "middle", "FLOP per byte");

  const double low = std::pow(10.0, axes.first_x), high = std::pow(10.0, axes.last_x);
  for (std::size_t r = 0; r < picture.roofs.size(); ++r) {
    const RooflinePicture::Roof& roof = picture.roofs[r];
    const double ridge = roof.flops / roof.bandwidth;
    const bool solid = r + 1 == picture.roofs.size();
    out += fmt::format(
        "<path class=\"roof{}\" clip-path=\"url(#plot)\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n",
        solid ? "" : " peak", across(low), down(low * roof.bandwidth), across(ridge), down(roof.flops), across(high),
        down(roof.flops));
    out += fmt::format("<path class=\"roof{}\" d=\"M{:.1f} {:.1f}h26\"/>\n", solid ? "" : " peak",
                       left + plot_width + 16, top + 8 + 22 * static_cast<double>(r));
    out += svg_text(left + plot_width + 50, top + 12 + 22 * static_cast<double>(r), "start", roof.name);
  }

  // Large circles first, so that small ones lie on them.
  double most = 1e-12;
  for (const RooflinePicture::Point& point : picture.points) most = std::max(most, point.share);
  std::vector<std::size_t> order(picture.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return picture.points[a].share > picture.points[b].share; });
  double line = top + 12 + 22 * static_cast<double>(picture.roofs.size()) + 18;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const RooflinePicture::Point& point = picture.points[order[place]];
    const std::string_view color = colors[place % colors.size()];
    const double radius = std::max(least_radius, largest_radius * std::sqrt(point.share / most));
    const double x = across(point.intensity), y = down(point.flops);
    out += fmt::format(
        "<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"><title>{}: {:.1f}% of the time, {} "
        "at {:.3g} FLOP per byte</title></circle>\n",
        x, y, radius, color, svg_escaped(point.name), 100 * point.share, rate_label(point.flops), point.intensity);
    const std::string number = std::to_string(place + 1);
    if (radius >= 9) {
      out += svg_text(x, y + 4, "middle", number, " font-size=\"11\" font-weight=\"600\" style=\"fill:#ffffff\"");
    } else {
      out += svg_text(x + radius + 2, y + 4, "start", number, " font-size=\"10\" class=\"soft\"");
    }
    if (line > height - 20) continue;
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", left + plot_width + 22, line - 4,
                       color);
    out += svg_text(left + plot_width + 34, line, "start",
                    fmt::format("{} {}: {:.1f}%", number, point.name, 100 * point.share));
    line += 20;
  }
  return out + "</svg>\n";
}

}  // namespace reckon
