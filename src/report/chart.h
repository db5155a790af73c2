// Lines over one axis, drawn with characters or as SVG.
#pragma once

#include <string>
#include <vector>

namespace reckon {

struct Series {
  std::string name;
  std::vector<double> values;  // one per x; zero and less is not drawn on a logarithmic axis
};

struct Chart {
  std::string title, x_title, y_title;
  bool log_x = false, log_y = true;
  std::vector<double> x;  // ascending
  std::vector<Series> series;
};

// `width` columns wide.
std::string chart_text(const Chart& chart, int width);

// Self-contained; follows the reader's light or dark scheme.
std::string chart_svg(const Chart& chart);

// What both need: an axis from the first tick to the last, and where a value lies on it, from 0 to 1.
struct Axis {
  bool log = false;
  double low = 0, high = 1;
  std::vector<double> ticks;
  double place(double value) const;
};
Axis axis_of(const std::vector<double>& values, bool log, double base, std::size_t most_ticks);
Axis x_axis(const Chart& chart, std::size_t most_ticks);
Axis y_axis(const Chart& chart, std::size_t most_ticks);

std::string size_label(double value);   // 16k, 1M, 768
std::string flops_label(double value);  // 1T, 100G, 1e30

}  // namespace reckon
