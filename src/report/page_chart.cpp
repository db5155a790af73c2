#include "report/page_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/chart.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr double left = 56, right = 14, top = 10, bottom = 40;
constexpr std::size_t most_points = 400;

// Short and without noise: 0.0012, 3e-5, 1,500.
std::string label(double value) {
  if (value != 0 && (std::fabs(value) < 1e-3 || std::fabs(value) >= 1e6)) return fmt::format("{:.0e}", value);
  return fmt::format("{:g}", std::round(value * 1e6) / 1e6);
}

// A logarithmic axis that begins and ends at 1, 2 or 5 times a power of ten, so that little of it is empty.
Axis tight_log_axis(const std::vector<double>& values) {
  const auto range = std::minmax_element(values.begin(), values.end());
  const double low = *range.first, high = *range.second;
  std::vector<double> steps;
  const auto lowest = std::lround(std::floor(std::log10(low))), highest = std::lround(std::ceil(std::log10(high))) + 1;
  for (long power = lowest; power <= highest; ++power) {
    for (double factor : {1.0, 2.0, 5.0}) steps.push_back(factor * std::pow(10.0, static_cast<double>(power)));
  }
  const auto last = std::find_if(steps.begin(), steps.end(), [&](double step) { return step >= high * (1 - 1e-9); });
  auto first = std::find_if(steps.begin(), steps.end(), [&](double step) { return step > low * (1 + 1e-9); });
  if (first != steps.begin()) --first;
  Axis axis;
  axis.log = true;
  axis.low = *first;
  axis.high = first == last ? *(last + 1) : *last;
  const bool long_range = std::log10(axis.high / axis.low) > 2.5;
  for (double step : steps) {
    const double decade = std::log10(step);
    const bool power = std::fabs(decade - std::round(decade)) < 1e-6;
    if (step >= axis.low && step <= axis.high && (power || !long_range)) axis.ticks.push_back(step);
  }
  return axis;
}

// Every so many-th point, as it is.
std::vector<std::pair<double, double>> picked(const std::vector<std::pair<double, double>>& points, std::size_t most) {
  const std::size_t stride = (points.size() + most - 1) / most;
  if (stride <= 1) return points;
  std::vector<std::pair<double, double>> out;
  for (std::size_t i = 0; i < points.size(); i += stride) out.push_back(points[i]);
  return out;
}

}  // namespace

std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points, std::size_t most) {
  if (points.size() <= most) return points;
  std::vector<std::pair<double, double>> out;
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t from = i * points.size() / most, to = (i + 1) * points.size() / most;
    double x = 0, y = 0;
    for (std::size_t k = from; k < to; ++k) {
      x += points[k].first;
      y += points[k].second;
    }
    out.emplace_back(x / static_cast<double>(to - from), y / static_cast<double>(to - from));
  }
  return out;
}

std::string ramp_color(std::size_t index, std::size_t count) {
  const double share = count < 2 ? 0 : static_cast<double>(index) / static_cast<double>(count - 1);
  return fmt::format("hsl({:.0f} 62% 52%)", 265 - 255 * share);
}

std::string page_chart(const PageChart& chart) {
  const double width = chart.wide ? 1040 : 512, height = chart.wide ? 320 : 250;
  std::vector<double> xs, ys;
  for (const PageSeries& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      if (!std::isfinite(y) || (chart.log_y && y <= 0)) continue;
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  if (xs.empty()) return "";
  xs.push_back(0);
  const Axis x_axis = axis_of(xs, false, 10, chart.wide ? 12 : 6),
             y_axis = chart.log_y ? tight_log_axis(ys) : axis_of(ys, false, 10, 6);
  const double plot_width = width - left - right, plot_height = height - top - bottom;
  const double x_end = *std::max_element(xs.begin(), xs.end());
  const auto across = [&](double value) { return left + value / std::max(x_end, 1e-300) * plot_width; };
  const auto down = [&](double value) { return top + (1 - y_axis.place(value)) * plot_height; };

  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\" data-left=\"{}\" data-right=\"{}\">", width,
      height, escape_html(chart.title), left, width - right);
  for (double tick : y_axis.ticks) {
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        left, down(tick), width - right, left - 7, down(tick) + 4, label(tick));
  }
  for (double tick : x_axis.ticks) {
    if (tick > x_end * 1.001) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", across(tick),
                       height - bottom + 17, label(tick));
  }
  svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", left, height - bottom, width - right);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", left + plot_width / 2,
                     height - 5, escape_html(chart.x_title));
  nlohmann::json hover = nlohmann::json::array();
  std::string legend;
  for (const PageSeries& series : chart.series) {
    const bool dots = series.style == PageSeries::Style::dots;
    const bool faint = series.style == PageSeries::Style::faint;
    const auto points = dots    ? series.points
                        : faint ? picked(series.points, 4 * most_points)
                                : thinned(series.points, most_points);
    std::string line, circles;
    nlohmann::json shown = nlohmann::json::array();
    for (const auto& [x, y] : points) {
      if (!std::isfinite(y) || (chart.log_y && y <= 0)) continue;
      line += fmt::format("{:.1f},{:.1f} ", across(x), down(y));
      if (dots) circles += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"/>", across(x), down(y));
      shown.push_back({std::round(x), fmt::format("{:.4g}", y)});
    }
    svg += fmt::format("<g style=\"color:{}\"><polyline class=\"{}\" points=\"{}\"/>{}</g>", series.color,
                       faint ? "faint" : "line", line, circles);
    if (series.name.empty()) continue;
    legend += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", series.color, escape_html(series.name));
    hover.push_back({{"name", series.name}, {"color", series.color}, {"points", shown}});
  }
  svg += "<path class=\"pointer\"/></svg>";
  std::string data = hover.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3) data.replace(at, 2, "<\\/");
  return fmt::format(
      "<figure class=\"chart{}\" data-end=\"{}\"><figcaption><b>{}</b> {}</figcaption>{}<div class=\"legend\">{}</div>"
      "<script type=\"application/json\">{}</script></figure>\n",
      chart.wide ? " wide" : "", x_end, escape_html(chart.title), escape_html(chart.note), svg, legend, data);
}

}  // namespace reckon
