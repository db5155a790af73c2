// Memory over the course of a run: what is held throughout as bands, and on top of it what is alive op by op.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

struct MemoryPicture {
  struct Band {
    std::string name;
    double bytes = 0;
  };
  struct Point {
    double at = 0;  // of all ops that run, the how manieth
    double bytes = 0;
  };
  struct Part {  // of the run: forward, backward, optimizer
    std::string name;
    double begin = 0, end = 0;
  };
  struct Mark {  // a height that is worth a line: the device's memory
    std::string name;
    double bytes = 0;
  };
  std::string title;
  double below = 0;         // bytes that are held throughout and not drawn
  std::vector<Band> bands;  // from the bottom
  std::string top_name;     // of what is alive op by op
  std::vector<Point> points;
  double ops = 1;
  std::string x_title;
  std::vector<Part> parts;
  Point peak;              // its bytes are those of the points, without the bands
  std::string peak_label;  // "14.2 GiB at attend_backward, layer 31"
  std::optional<Mark> limit;
};

// `width` columns wide.
std::string memory_picture_text(const MemoryPicture& picture, int width);

// Self-contained; follows the reader's light or dark scheme.
std::string memory_picture_svg(const MemoryPicture& picture);

// "above 30.97 GiB held throughout", where something is not drawn.
std::string below_text(const MemoryPicture& picture);

// What both need: the height of the picture in bytes, and ticks of round numbers of one unit.
struct ByteAxis {
  double high = 1;                        // bytes
  std::string unit;                       // "GiB"
  std::vector<double> ticks;              // bytes
  std::string label(double bytes) const;  // of a tick, without its unit
  double unit_bytes = 1;
};
ByteAxis byte_axis(const MemoryPicture& picture, std::size_t most_ticks);

// The least and the most that is alive in each of so many columns of equal numbers of ops, bands not counted.
struct Extent {
  double least = 0, most = 0;
};
std::vector<Extent> columns_of(const MemoryPicture& picture, std::size_t columns);

}  // namespace reckon
