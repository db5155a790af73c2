#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "files/numbers.h"
#include "report/text_plot.h"

namespace reckon {
namespace {

constexpr std::array<std::string_view, 5> markers = {"●", "▲", "■", "◆", "○"};
constexpr int plot_height = 16;

// 1, 2 or 5 times a power of ten, so that at most `most` of them span the range.
double round_step(double span, std::size_t most) {
  const double raw = std::max(span, 1e-300) / static_cast<double>(most);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

}  // namespace

double Axis::place(double value) const {
  if (high == low) return 0.5;
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

Axis axis_of(const std::vector<double>& values, bool log, double base, std::size_t most_ticks) {
  Axis axis;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double value : values) {
    if (log && value <= 0) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = high = 1;  // nothing to draw
  axis.log = log;
  if (!log) {
    const double step = round_step(high == low ? 1 : high - low, most_ticks);
    axis.low = std::floor(low / step) * step;
    axis.high = std::max(std::ceil(high / step), axis.low / step + 1) * step;
    const auto steps = std::lround((axis.high - axis.low) / step);
    for (long i = 0; i <= steps; ++i) axis.ticks.push_back(axis.low + static_cast<double>(i) * step);
    return axis;
  }
  const double first = std::floor(std::log(low) / std::log(base) + 1e-9);
  const double last = std::max(std::ceil(std::log(high) / std::log(base) - 1e-9), first + 1);
  const double step = std::ceil((last - first + 1) / static_cast<double>(most_ticks));
  for (long i = 0; i <= std::lround(last - first); i += std::lround(step))
    axis.ticks.push_back(std::pow(base, first + static_cast<double>(i)));
  axis.low = std::pow(base, first);
  axis.high = std::pow(base, last);
  return axis;
}

Axis x_axis(const Chart& chart, std::size_t most_ticks) { return axis_of(chart.x, chart.log_x, 2, most_ticks); }

Axis y_axis(const Chart& chart, std::size_t most_ticks) {
  std::vector<double> all;
  for (const Series& series : chart.series) all.insert(all.end(), series.values.begin(), series.values.end());
  return axis_of(all, chart.log_y, 10, most_ticks);
}

std::string size_label(double value) {
  constexpr double k = 1024, m = k * k;
  if (value >= m && std::fmod(value, m) == 0) return grouped(value / m) + "M";
  if (value >= k && std::fmod(value, k) == 0) return grouped(value / k) + "k";
  return grouped(value);
}

std::string flops_label(double flops) {
  static constexpr std::array<std::string_view, 9> units = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  double value = flops;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return value >= 999.5 ? grouped(flops) : grouped(value) + std::string(units[unit]);
}

std::string chart_text(const Chart& chart, int width) {
  const Axis x = x_axis(chart, 9), y = y_axis(chart, 6);
  std::vector<TextPlot::Tick> across, up;
  for (double tick : x.ticks) across.push_back({x.place(tick), size_label(tick)});
  for (double tick : y.ticks) up.push_back({y.place(tick), flops_label(tick)});
  TextPlot plot(std::move(across), std::move(up), width, plot_height);
  for (std::size_t s = chart.series.size(); s-- > 0;) {  // the first series is drawn last, on top
    const std::vector<double>& values = chart.series[s].values;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {  // a dotted line between the points
      if (chart.log_y && (values[i] <= 0 || values[i + 1] <= 0)) continue;
      const int from = plot.column_of(x.place(chart.x[i])), to = plot.column_of(x.place(chart.x[i + 1]));
      for (int c = from + 1; c < to; ++c) {
        const double t = static_cast<double>(c - from) / (to - from);
        const double value = chart.log_y ? std::exp((1 - t) * std::log(values[i]) + t * std::log(values[i + 1]))
                                         : (1 - t) * values[i] + t * values[i + 1];
        plot.mark(plot.across(c), y.place(value), "∙");
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!chart.log_y || values[i] > 0)
        plot.mark(x.place(chart.x[i]), y.place(values[i]), markers[s % markers.size()]);
    }
  }
  std::vector<std::string> names;
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    names.push_back(fmt::format("{} {}", markers[s % markers.size()], chart.series[s].name));
  return legend_lines(chart.y_title, names, width) + plot.framed(chart.x_title);
}

}  // namespace reckon
