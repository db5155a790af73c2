// A curve in a few lines of a terminal, in Braille dots: two across and four down in each character.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reckon {

struct Curve {
  std::vector<std::pair<double, double>> points;  // x ascending; where many fall into a column, their mean is drawn
  std::vector<std::pair<double, double>> marks;   // drawn as ● over it
  double x_end = 1;                               // the axis goes from 0 to here
};

// `height` lines and an axis below, at most `width` columns wide.
std::vector<std::string> curve_lines(const Curve& curve, int width, int height, bool color);

}  // namespace reckon
