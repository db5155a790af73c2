// A plot drawn with characters, in a frame with labels along both axes, and the legend above or below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reckon {

class TextPlot {
 public:
  // Places along an axis go from 0 to 1: from left to right, and from the bottom up.
  struct Tick {
    double place = 0;
    std::string label;
  };
  // `width` columns with the labels, `height` rows without those below.
  TextPlot(std::vector<Tick> across, std::vector<Tick> up, int width, int height);

  int columns() const { return columns_; }  // within the frame
  int column_of(double across) const;       // that a place falls into
  double across(int column) const { return 1.0 * column / (columns_ - 1); }
  void mark(double across, double up, std::string_view glyph);  // nothing where it lies outside
  std::string framed(const std::string& x_title) const;

 private:
  int row_of(double up) const;
  std::vector<Tick> across_, up_;
  int columns_ = 0, margin_ = 0;                 // the margin has the labels of rows
  std::vector<std::vector<std::string>> cells_;  // rows from the top, each with its columns
};

// Entries side by side behind `first`, in lines of at most `width` columns.
std::string legend_lines(const std::string& first, const std::vector<std::string>& entries, int width);

}  // namespace reckon
