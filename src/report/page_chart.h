// A chart of a page: SVG that is stretched to its place, with labels in the text of the page, which stay readable on a
// phone, and the numbers beside it for a pointer that hovers.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reckon {

using Points = std::vector<std::pair<double, double>>;  // x ascending

struct PageSeries {
  enum class Style { line, faint, dots };
  std::string name;   // empty: not in the legend, and not under the pointer
  std::string color;  // CSS
  Style style = Style::line;
  Points points;
};

// Over the steps of a run.
struct PageChart {
  std::string title, note;  // the note says how to read it
  bool log_y = false;
  bool wide = false;  // as wide as the page, not half of it
  std::vector<PageSeries> series = {};
};

std::string page_chart(const PageChart& chart);

// At most `most` points, each the mean of its neighbours.
Points downsampled(const Points& points, std::size_t most);

// The colour of layer `index` of `count`: the first is dark, the last is light.
std::string layer_color(std::size_t index, std::size_t count);

}  // namespace reckon
