#include "report/roofline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart.h"
#include "report/text_plot.h"

namespace reckon {
namespace {

constexpr int plot_height = 18;

// Parts with a good share of the time have capitals.
constexpr double large_share = 0.05;
std::string mark_of(std::size_t i, double share) {
  return std::string(1, static_cast<char>((share >= large_share ? 'A' : 'a') + static_cast<int>(i % 26)));
}

}  // namespace

double RooflineAxes::across(double intensity) const { return (std::log10(intensity) - first_x) / (last_x - first_x); }
double RooflineAxes::up(double flops) const { return (std::log10(flops) - first_y) / (last_y - first_y); }

RooflineAxes roofline_axes(const RooflinePicture& picture) {
  double least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
  const auto see = [&](double x, double y) {
    least_x = std::min(least_x, x);
    most_x = std::max(most_x, x);
    least_y = std::min(least_y, y);
    most_y = std::max(most_y, y);
  };
  for (const RooflinePicture::Roof& roof : picture.roofs) {
    see(roof.flops / roof.bandwidth, roof.flops);
  }
  for (const RooflinePicture::Point& point : picture.points) see(point.intensity, point.flops);
  RooflineAxes axes;
  axes.first_x = std::log10(least_x) - 0.25;
  axes.last_x = std::log10(most_x) + 0.4;
  axes.first_y = std::log10(least_y) - 0.25;
  axes.last_y = std::log10(most_y) + 0.2;
  const auto powers = [](double first, double last) {
    std::vector<int> all;
    for (int power = static_cast<int>(std::ceil(first)); power <= last; ++power) all.push_back(power);
    return all;
  };
  axes.x_powers = powers(axes.first_x, axes.last_x);
  axes.y_powers = powers(axes.first_y, axes.last_y);
  return axes;
}

std::string power_label(int power) {
  return power < 0 ? fmt::format("{:g}", std::pow(10.0, power)) : flops_label(std::pow(10.0, power));
}

std::string rate_label(double flops) {
  static constexpr std::string_view units[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  while (flops >= 999.5 && unit + 1 < std::size(units)) {
    flops /= 1000;
    ++unit;
  }
  return fmt::format("{} {}FLOP/s",
                     fmt::format("{:.{}f}", flops,
                                 flops < 9.995   ? 2
                                 : flops < 99.95 ? 1
                                                 : 0),
                     units[unit]);
}

std::string roofline_text(const RooflinePicture& picture, int width) {
  const RooflineAxes axes = roofline_axes(picture);
  std::vector<TextPlot::Tick> across_ticks, up_ticks;
  for (int power : axes.x_powers) across_ticks.push_back({axes.across(std::pow(10.0, power)), power_label(power)});
  for (int power : axes.y_powers) up_ticks.push_back({axes.up(std::pow(10.0, power)), power_label(power)});
  TextPlot plot(std::move(across_ticks), std::move(up_ticks), width, plot_height);
  // The lowest roof is drawn last, with a solid line.
  for (std::size_t r = 0; r < picture.roofs.size(); ++r) {
    const RooflinePicture::Roof& roof = picture.roofs[r];
    for (int c = 0; c < plot.columns(); ++c) {
      const double across = plot.across(c);
      const double intensity = std::pow(10.0, axes.first_x + across * (axes.last_x - axes.first_x));
      const bool flat = intensity * roof.bandwidth >= roof.flops;
      plot.mark(across, axes.up(std::min(roof.flops, intensity * roof.bandwidth)),
                r + 1 < picture.roofs.size() ? "∙"
                : flat                       ? "━"
                                             : "/");
    }
  }
  // The longest are drawn last, on top.
  std::vector<std::size_t> order(picture.points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return picture.points[a].share < picture.points[b].share; });
  for (std::size_t i : order) {
    const RooflinePicture::Point& point = picture.points[i];
    plot.mark(axes.across(point.intensity), axes.up(point.flops), mark_of(i, point.share));
  }
  std::vector<std::string> roofs, points;
  for (std::size_t r = 0; r < picture.roofs.size(); ++r)
    roofs.push_back(fmt::format("{} {}", r + 1 < picture.roofs.size() ? "∙" : "━", picture.roofs[r].name));
  for (std::size_t i = 0; i < picture.points.size(); ++i) {
    const RooflinePicture::Point& point = picture.points[i];
    points.push_back(fmt::format("{} {} {:.1f}%", mark_of(i, point.share), point.name, 100 * point.share));
  }
  return legend_lines("FLOP/s", roofs, width) + plot.framed("FLOP per byte") + legend_lines("", points, width);
}

}  // namespace reckon
