#include "report/page_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/chart.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr int plot = 1000;  // both sides of the square that a page stretches
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

// At most `most` points as they are, evenly spaced.
Points every_nth(const Points& points, std::size_t most) {
  const std::size_t stride = (points.size() + most - 1) / most;
  if (stride <= 1) return points;
  Points out;
  for (std::size_t i = 0; i < points.size(); i += stride) out.push_back(points[i]);
  return out;
}

}  // namespace

Points downsampled(const Points& points, std::size_t most) {
  if (points.size() <= most) return points;
  Points out;
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

std::string layer_color(std::size_t index, std::size_t count) {
  const double share = count < 2 ? 0 : static_cast<double>(index) / static_cast<double>(count - 1);
  return fmt::format("hsl(205 70% {:.0f}%)", 38 + 34 * share);
}

std::string page_chart(const PageChart& chart) {
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
  const double x_end = *std::max_element(xs.begin(), xs.end());
  const auto across = [&](double value) { return value / std::max(x_end, 1e-300); };  // shares of the plot
  const auto down = [&](double value) { return 1 - y_axis.place(value); };

  // The plot is stretched to its place on the page; labels are text of the page, and stay as large as that.
  std::string labels, grid;
  for (double tick : y_axis.ticks) {
    grid += fmt::format("M0 {:.1f}H{}", down(tick) * plot, plot);
    labels += fmt::format("<span class=\"y\" style=\"top:{:.2f}%\">{}</span>", down(tick) * 100, label(tick));
  }
  for (std::size_t i = 0; i < x_axis.ticks.size(); ++i) {
    const double tick = x_axis.ticks[i];
    if (tick > x_end * 1.001) continue;
    labels += fmt::format("<span class=\"x{}\" style=\"left:{:.2f}%\">{}</span>", i % 2 == 0 ? "" : " odd",
                          across(tick) * 100, label(tick));
  }
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {0}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{1}\"><path "
      "class=\"grid\" d=\"{2}\"/><path class=\"axis\" d=\"M0 {0}H{0}\"/>",
      plot, escape_html(chart.title), grid);
  nlohmann::json hover = nlohmann::json::array();
  std::string legend;
  for (const PageSeries& series : chart.series) {
    const bool dots = series.style == PageSeries::Style::dots;
    const bool faint = series.style == PageSeries::Style::faint;
    const auto points = dots    ? series.points
                        : faint ? every_nth(series.points, 4 * most_points)
                                : downsampled(series.points, most_points);
    std::string line, marks;
    nlohmann::json shown = nlohmann::json::array();
    for (const auto& [x, y] : points) {
      if (!std::isfinite(y) || (chart.log_y && y <= 0)) continue;
      line += fmt::format("{:.1f},{:.1f} ", across(x) * plot, down(y) * plot);
      if (dots) marks += fmt::format("M{:.1f} {:.1f}h0", across(x) * plot, down(y) * plot);  // round ends make a dot
      shown.push_back({std::round(x), fmt::format("{:.4g}", y)});
    }
    svg += fmt::format("<g style=\"color:{}\"><polyline class=\"{}\" points=\"{}\"/>", series.color,
                       faint ? "faint" : "line", line);
    if (dots) svg += fmt::format("<path class=\"dots\" d=\"{}\"/>", marks);
    svg += "</g>";
    if (series.name.empty()) continue;
    legend += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", series.color, escape_html(series.name));
    hover.push_back({{"name", series.name}, {"color", series.color}, {"points", shown}});
  }
  svg += "<path class=\"pointer\"/></svg>";
  std::string data = hover.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3) data.replace(at, 2, "<\\/");
  return fmt::format(
      "<figure class=\"chart{}\" data-end=\"{}\"><figcaption><b>{}</b> {}</figcaption><div class=\"plot\">{}{}</div>"
      "<div class=\"below\">step</div><div class=\"legend\">{}</div><script "
      "type=\"application/json\">{}</script></figure>\n",
      chart.wide ? " wide" : "", x_end, escape_html(chart.title), escape_html(chart.note), svg, labels, legend, data);
}

}  // namespace reckon
