#include "report/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "files/numbers.h"
#include "report/chart.h"
#include "report/text.h"
#include "text/utf8.h"

namespace reckon {
namespace {

// U+2800 with one bit for each dot.
std::string braille(unsigned dots) {
  std::string text;
  append_utf8(text, 0x2800 + dots);
  return text;
}

unsigned dot_bit(int column, int row) {
  static constexpr unsigned bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
  return bits[column][row];
}

// The mean of the points in each column of dots; NaN where there is none.
std::vector<double> column_means(const Curve& curve, int columns) {
  std::vector<double> sums(static_cast<std::size_t>(columns), 0), counts(sums.size(), 0);
  for (const auto& [x, y] : curve.points) {
    const auto column = static_cast<std::size_t>(std::clamp(x / curve.x_end * columns, 0.0, columns - 1.0));
    sums[column] += y;
    ++counts[column];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];  // 0 / 0 is NaN
  return sums;
}

}  // namespace

std::vector<std::string> curve_lines(const Curve& curve, int width, int height, bool color) {
  constexpr int margin = 8;  // labels of the axis and its line
  const int columns = std::max(8, width - margin), dots_across = 2 * columns, dots_down = 4 * height;
  const std::vector<double> means = column_means(curve, dots_across);
  std::vector<double> all;
  for (double mean : means) {
    if (std::isfinite(mean)) all.push_back(mean);
  }
  for (const auto& mark : curve.marks) all.push_back(mark.second);
  const Axis axis = axis_of(all, false, 10, static_cast<std::size_t>(std::max(2, height / 2)));
  const auto row_of = [&](double value, int rows) {
    return std::clamp(static_cast<int>(std::lround((1 - axis.place(value)) * (rows - 1))), 0, rows - 1);
  };

  std::vector<std::vector<unsigned>> cells(static_cast<std::size_t>(height),
                                           std::vector<unsigned>(static_cast<std::size_t>(columns), 0));
  const auto set = [&](int x, int y) {
    cells[static_cast<std::size_t>(y / 4)][static_cast<std::size_t>(x / 2)] |= dot_bit(x % 2, y % 4);
  };
  int last_x = -1, last_y = 0;
  for (int x = 0; x < dots_across; ++x) {
    const double mean = means[static_cast<std::size_t>(x)];
    if (!std::isfinite(mean)) continue;
    const int y = row_of(mean, dots_down);
    if (last_x < 0) set(x, y);
    for (int step = 1; last_x >= 0 && step <= x - last_x; ++step) {  // joined to the point before
      const int from = last_y + (y - last_y) * (step - 1) / (x - last_x),
                to = last_y + (y - last_y) * step / (x - last_x);
      for (int at = std::min(from, to); at <= std::max(from, to); ++at) set(last_x + step, at);
    }
    last_x = x;
    last_y = y;
  }
  std::vector<std::vector<bool>> marked(static_cast<std::size_t>(height),
                                        std::vector<bool>(static_cast<std::size_t>(columns)));
  for (const auto& [x, y] : curve.marks) {
    const auto column = static_cast<std::size_t>(std::clamp(x / curve.x_end * columns, 0.0, columns - 1.0));
    marked[static_cast<std::size_t>(row_of(y, height))][column] = true;
  }

  const Painter paint(color);
  // The tick that falls into a row; where several do, the value of the row itself.
  const auto label_of = [&](int row) -> std::string {
    std::vector<double> ticks;
    std::copy_if(axis.ticks.begin(), axis.ticks.end(), std::back_inserter(ticks),
                 [&](double tick) { return row_of(tick, height) == row; });
    if (ticks.empty()) return "";
    if (ticks.size() == 1) return grouped(ticks.front());
    const double value = axis.high - row * (axis.high - axis.low) / std::max(1, height - 1);
    return grouped(std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr));
  };
  std::vector<std::string> lines;
  for (int r = 0; r < height; ++r) {
    const std::string label = label_of(r);
    std::string line = paint(Painter::faint, justified(label, margin - 2, true) + (label.empty() ? " │" : " ┤"));
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
      const unsigned dots = cells[static_cast<std::size_t>(r)][c];
      if (marked[static_cast<std::size_t>(r)][c]) {
        line += paint(Painter::yellow, "●");
      } else {
        line += dots == 0 ? " " : paint(Painter::blue, braille(dots));
      }
    }
    lines.push_back(line);
  }
  lines.push_back(paint(Painter::faint, std::string(margin - 1, ' ') + "└" + repeated("─", columns)));
  const std::string end = grouped(curve.x_end);
  lines.push_back(paint(Painter::faint, std::string(margin, ' ') + justified("0", columns - display_width(end)) + end));
  return lines;
}

}  // namespace reckon
