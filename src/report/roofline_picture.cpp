#include "report/roofline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart.h"
#include "report/text.h"

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
  int margin = 0;
  for (int power : axes.y_powers) margin = std::max(margin, display_width(power_label(power)));
  const int columns = std::max(20, width - margin - 3);
  std::vector<std::vector<std::string>> cells(plot_height,
                                              std::vector<std::string>(static_cast<std::size_t>(columns), " "));
  const auto mark = [&](double across, double up, const std::string& glyph) {
    const auto column = std::lround(across * (columns - 1)),
               row = plot_height - 1 - std::lround(up * (plot_height - 1));
    if (row >= 0 && row < plot_height && column >= 0 && column < columns)
      cells[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = glyph;
  };
  // The lowest roof is drawn last, with a solid line.
  for (std::size_t r = 0; r < picture.roofs.size(); ++r) {
    const RooflinePicture::Roof& roof = picture.roofs[r];
    for (int c = 0; c < columns; ++c) {
      const double across = static_cast<double>(c) / (columns - 1);
      const double intensity = std::pow(10.0, axes.first_x + across * (axes.last_x - axes.first_x));
      const bool flat = intensity * roof.bandwidth >= roof.flops;
      mark(across, axes.up(std::min(roof.flops, intensity * roof.bandwidth)),
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
    mark(axes.across(point.intensity), axes.up(point.flops), mark_of(i, point.share));
  }
  std::string out = "FLOP/s";
  for (std::size_t r = 0; r < picture.roofs.size(); ++r)
    out += fmt::format("   {} {}", r + 1 < picture.roofs.size() ? "∙" : "━", picture.roofs[r].name);
  out += "\n";
  for (int r = 0; r < plot_height; ++r) {
    std::string label;
    for (int power : axes.y_powers) {
      if (plot_height - 1 - std::lround(axes.up(std::pow(10.0, power)) * (plot_height - 1)) == r)
        label = power_label(power);
    }
    std::string line = justified(label, margin, true) + (label.empty() ? " │" : " ┤");
    for (const std::string& cell : cells[static_cast<std::size_t>(r)]) line += cell;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  std::string rule, labels;
  for (int c = 0; c < columns; ++c) {
    std::string label;
    for (int power : axes.x_powers)
      if (std::lround(axes.across(std::pow(10.0, power)) * (columns - 1)) == c) label = power_label(power);
    rule += label.empty() ? "─" : "┬";
    if (label.empty()) continue;
    const int start = std::max(0, std::min(c - display_width(label) / 2, columns - display_width(label) + 1));
    if (!labels.empty() && start <= display_width(labels)) continue;
    labels = justified(labels, start) + label;
  }
  const std::string indent(static_cast<std::size_t>(margin) + 1, ' '), x_title = "FLOP per byte";
  out += indent + "└" + rule + "\n" + indent + " " + labels + "\n";
  out += indent + " " + justified(x_title, (columns + display_width(x_title)) / 2, true) + "\n";
  std::string line;
  for (std::size_t i = 0; i < picture.points.size(); ++i) {
    const RooflinePicture::Point& point = picture.points[i];
    const std::string entry = fmt::format("{} {} {:.1f}%", mark_of(i, point.share), point.name, 100 * point.share);
    if (!line.empty() && display_width(line) + 3 + display_width(entry) > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + entry;
  }
  return out + line + "\n";
}

}  // namespace reckon
