// Roofs of a device over the arithmetic intensity, and what the parts of a network reach below them (Williams, Waterman
// and Patterson 2009), drawn with characters or as SVG.
#pragma once

#include <string>
#include <vector>

namespace reckon {

struct RooflinePicture {
  // FLOP/s ≤ min(flops, bandwidth · intensity)
  struct Roof {
    std::string name;  // "peak", "reached"
    double flops = 0, bandwidth = 0;
  };
  struct Point {
    std::string name;
    double intensity = 0;  // FLOP per byte
    double flops = 0;      // FLOP/s
    double share = 0;      // of the time
  };
  std::string title;
  std::vector<Roof> roofs;
  std::vector<Point> points;
};

// `width` columns wide, with a legend below.
std::string roofline_text(const RooflinePicture& picture, int width);

// Self-contained; follows the reader's light or dark scheme. Areas of circles are shares of the time.
std::string roofline_svg(const RooflinePicture& picture);

// What both need: logarithms of what is drawn, all points and the ridges of the roofs, and the powers of ten in it.
struct RooflineAxes {
  double first_x = 0, last_x = 1, first_y = 0, last_y = 1;
  std::vector<int> x_powers, y_powers;
  double across(double intensity) const;  // from 0 to 1
  double up(double flops) const;
};
RooflineAxes roofline_axes(const RooflinePicture& picture);
std::string power_label(int power);    // 0.01, 1, 100, 10k
std::string rate_label(double flops);  // 545 TFLOP/s

}  // namespace reckon
