#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "files/numbers.h"
#include "report/text.h"

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
  int margin = 0;
  for (double tick : y.ticks) margin = std::max(margin, display_width(flops_label(tick)));
  const int columns = std::max(20, width - margin - 3);
  std::vector<std::vector<std::string>> cells(plot_height,
                                              std::vector<std::string>(static_cast<std::size_t>(columns), " "));
  const auto row_of = [&](double value) {
    return plot_height - 1 - static_cast<int>(std::lround(y.place(value) * (plot_height - 1)));
  };
  const auto column_of = [&](double value) { return static_cast<int>(std::lround(x.place(value) * (columns - 1))); };
  for (std::size_t s = chart.series.size(); s-- > 0;) {  // the first series is drawn last, on top
    const std::vector<double>& values = chart.series[s].values;
    const auto mark = [&](int column, int row, std::string_view glyph) {
      if (row >= 0 && row < plot_height) cells[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = glyph;
    };
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {  // a dotted line between the points
      if (chart.log_y && (values[i] <= 0 || values[i + 1] <= 0)) continue;
      const int from = column_of(chart.x[i]), to = column_of(chart.x[i + 1]);
      for (int c = from + 1; c < to; ++c) {
        const double t = static_cast<double>(c - from) / (to - from);
        const double value = chart.log_y ? std::exp((1 - t) * std::log(values[i]) + t * std::log(values[i + 1]))
                                         : (1 - t) * values[i] + t * values[i + 1];
        mark(c, row_of(value), "∙");
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!chart.log_y || values[i] > 0) mark(column_of(chart.x[i]), row_of(values[i]), markers[s % markers.size()]);
    }
  }
  std::string out, line = chart.y_title;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::string entry = fmt::format("{} {}", markers[s % markers.size()], chart.series[s].name);
    if (display_width(line) + 3 + display_width(entry) > width) {
      out += line + "\n";
      line = entry;
    } else {
      line += "   " + entry;
    }
  }
  out += line + "\n";
  for (int r = 0; r < plot_height; ++r) {
    std::string label;
    for (double tick : y.ticks) {
      if (row_of(tick) == r) label = flops_label(tick);
    }
    line = justified(label, margin, true) + (label.empty() ? " │" : " ┤");
    for (const std::string& cell : cells[static_cast<std::size_t>(r)]) line += cell;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  std::string rule, labels;
  for (int c = 0; c < columns; ++c) {
    std::string label;
    for (double tick : x.ticks) {
      if (column_of(tick) == c) label = size_label(tick);
    }
    rule += label.empty() ? "─" : "┬";
    if (label.empty()) continue;
    const int start = std::min(c - display_width(label) / 2, columns - display_width(label) + 1);
    if (!labels.empty() && start <= display_width(labels)) continue;
    labels = justified(labels, std::max(start, 0));
    labels += label;
  }
  const std::string indent(static_cast<std::size_t>(margin) + 1, ' ');
  out += indent + "└" + rule + "\n" + indent + " " + labels + "\n";
  return out + indent + " " + justified(chart.x_title, (columns + display_width(chart.x_title)) / 2, true) + "\n";
}

}  // namespace reckon
