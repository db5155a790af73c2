#include "report/memory_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "files/numbers.h"
#include "report/chart.h"
#include "report/text.h"
#include "report/text_plot.h"

namespace reckon {
namespace {

constexpr int plot_height = 16;
// From the bottom band on; what is alive op by op has the last.
constexpr std::array<std::string_view, 4> shades = {"█", "▓", "▒", "░"};
constexpr std::string_view top_shade = "▪";

std::string_view shade_of(std::size_t band) { return shades[band % shades.size()]; }

double held_throughout(const MemoryPicture& picture) {
  double sum = 0;
  for (const MemoryPicture::Band& band : picture.bands) sum += band.bytes;
  return sum;
}

}  // namespace

std::string below_text(const MemoryPicture& picture) {
  return fmt::format("above {} held throughout", binary_bytes(static_cast<std::int64_t>(picture.below)));
}

namespace {

// "█ weights   ▓ optimizer", in lines of at most `width` columns.
std::string legend(const MemoryPicture& picture, const std::string& first, int width) {
  std::vector<std::string> entries;
  for (std::size_t b = 0; b < picture.bands.size(); ++b)
    entries.push_back(fmt::format("{} {}", shade_of(b), picture.bands[b].name));
  entries.push_back(fmt::format("{} {}", top_shade, picture.top_name));
  if (picture.below > 0) entries.push_back(below_text(picture));
  return legend_lines(first, entries, width);
}

// A part's name in the middle of its columns, as far as there is room.
std::string part_rule(const MemoryPicture& picture, int columns) {
  std::string out;
  int at = 0;
  for (const MemoryPicture::Part& part : picture.parts) {
    const int end = static_cast<int>(std::lround(part.end / picture.ops * columns));
    const int room = end - at;
    if (room <= 0) continue;
    const std::string name = display_width(part.name) + 2 <= room ? " " + part.name + " " : "";
    const int before = (room - 1 - display_width(name)) / 2;
    out += repeated("─", std::max(before, 0)) + name;
    out += repeated("─", std::max(room - 1 - std::max(before, 0) - display_width(name), 0));
    out += end < columns ? "┬" : "─";
    at = end;
  }
  return out;
}

}  // namespace

std::string ByteAxis::label(double bytes) const { return grouped(bytes / unit_bytes); }

ByteAxis byte_axis(const MemoryPicture& picture, std::size_t most_ticks) {
  ByteAxis axis;
  double most = held_throughout(picture) + picture.peak.bytes;
  // A limit that is far away would press all the rest to the ground.
  if (picture.limit && picture.limit->bytes <= 2 * most) most = std::max(most, picture.limit->bytes);
  static constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && most / axis.unit_bytes >= 1024) axis.unit_bytes *= 1024, ++unit;
  axis.unit = units[unit];
  const Axis round = axis_of({0, most / axis.unit_bytes}, false, 10, most_ticks);
  axis.high = round.high * axis.unit_bytes;
  for (double tick : round.ticks) axis.ticks.push_back(tick * axis.unit_bytes);
  return axis;
}

std::vector<Extent> columns_of(const MemoryPicture& picture, std::size_t columns) {
  std::vector<Extent> found(columns, {-1, -1});
  const auto last = static_cast<double>(columns - 1);
  for (const MemoryPicture::Point& point : picture.points) {
    const auto c = static_cast<std::size_t>(
        std::clamp(std::floor(point.at / picture.ops * static_cast<double>(columns)), 0.0, last));
    Extent& extent = found[c];
    extent = extent.most < 0 ? Extent{point.bytes, point.bytes}
                             : Extent{std::min(extent.least, point.bytes), std::max(extent.most, point.bytes)};
  }
  // An op that is wider than a column goes on; between iterations that are left out, as the one before them.
  for (std::size_t c = 0; c < columns; ++c) {
    if (found[c].most < 0) found[c] = c == 0 ? Extent{} : found[c - 1];
  }
  return found;
}

std::string memory_picture_text(const MemoryPicture& picture, int width) {
  const ByteAxis axis = byte_axis(picture, 6);
  int margin = display_width(axis.unit);
  for (double tick : axis.ticks) margin = std::max(margin, display_width(axis.label(tick)));
  const int columns = std::max(20, width - margin - 3);
  const std::vector<Extent> top = columns_of(picture, static_cast<std::size_t>(columns));
  const double row_bytes = axis.high / plot_height;
  const double below = held_throughout(picture);
  const bool limited = picture.limit && picture.limit->bytes <= axis.high;
  const auto limit_row = limited ? static_cast<int>(std::floor(picture.limit->bytes / row_bytes - 0.5)) : -1;

  std::string out = legend(picture, axis.unit, width);
  for (int r = plot_height - 1; r >= 0; --r) {
    std::string label;
    for (double tick : axis.ticks) {
      if (tick > 0 && static_cast<int>(std::lround(tick / row_bytes)) - 1 == r) label = axis.label(tick);
    }
    std::string line = justified(label, margin, true) + (label.empty() ? " │" : " ┤");
    const double height = (r + 0.5) * row_bytes;  // the middle of the row decides
    for (int c = 0; c < columns; ++c) {
      double band_top = 0;
      std::string_view glyph = " ";
      if (height < below + top[static_cast<std::size_t>(c)].most) glyph = top_shade;
      for (std::size_t b = picture.bands.size(); b-- > 0;) {
        band_top = 0;
        for (std::size_t i = 0; i <= b; ++i) band_top += picture.bands[i].bytes;
        if (height < band_top) glyph = shade_of(b);
      }
      line += r == limit_row ? "╌" : glyph;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  const std::string indent(static_cast<std::size_t>(margin) + 1, ' ');
  out += indent + "└" + part_rule(picture, columns) + "\n";
  // An arrow at the column of the peak, with its words on the side that has room.
  const int at = std::min(columns - 1, static_cast<int>(std::floor(picture.peak.at / picture.ops * columns)));
  const std::string words = "peak: " + picture.peak_label;
  const std::string before(static_cast<std::size_t>(at), ' ');
  const auto add_centred = [&](const std::string& text) {
    for (const std::string& line : wrap(text, columns, Breaks::words))
      out += indent + " " + justified(line, (columns + display_width(line)) / 2, true) + "\n";
  };
  if (at + 2 + display_width(words) <= columns) {
    out += indent + " " + before + "▲ " + words + "\n";
  } else if (display_width(words) + 1 <= at) {
    out += indent + " " + justified(words + " ▲", at + 1, true) + "\n";
  } else {
    out += indent + " " + before + "▲\n";
    add_centred(words);
  }
  add_centred(picture.x_title);
  if (limited) out += indent + " ╌ " + picture.limit->name + "\n";
  return out;
}

}  // namespace reckon
