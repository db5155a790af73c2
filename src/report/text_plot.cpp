#include "report/text_plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/text.h"

namespace reckon {
namespace {

// The label at a row or column, if there is one; of several, the last.
template <class Place>
std::string label_at(int at, const std::vector<TextPlot::Tick>& ticks, const Place& place) {
  std::string label;
  for (const TextPlot::Tick& tick : ticks)
    if (place(tick.place) == at) label = tick.label;
  return label;
}

}  // namespace

TextPlot::TextPlot(std::vector<Tick> across, std::vector<Tick> up, int width, int height)
    : across_(std::move(across)), up_(std::move(up)) {
  for (const Tick& tick : up_) margin_ = std::max(margin_, display_width(tick.label));
  columns_ = std::max(20, width - margin_ - 3);
  cells_.assign(static_cast<std::size_t>(height), std::vector<std::string>(static_cast<std::size_t>(columns_), " "));
}

int TextPlot::column_of(double across) const { return static_cast<int>(std::lround(across * (columns_ - 1))); }

int TextPlot::row_of(double up) const {
  const int last = static_cast<int>(std::ssize(cells_)) - 1;
  return last - static_cast<int>(std::lround(up * last));
}

void TextPlot::mark(double across, double up, std::string_view glyph) {
  const int column = column_of(across), row = row_of(up);
  if (row >= 0 && row < std::ssize(cells_) && column >= 0 && column < columns_)
    cells_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = glyph;
}

std::string TextPlot::framed(const std::string& x_title) const {
  std::string out;
  for (int r = 0; r < std::ssize(cells_); ++r) {
    const std::string label = label_at(r, up_, [&](double up) { return row_of(up); });
    std::string line = justified(label, margin_, true) + (label.empty() ? " │" : " ┤");
    for (const std::string& cell : cells_[static_cast<std::size_t>(r)]) line += cell;
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  std::string rule, labels;
  for (int c = 0; c < columns_; ++c) {
    const std::string label = label_at(c, across_, [&](double across) { return column_of(across); });
    rule += label.empty() ? "─" : "┬";
    if (label.empty()) continue;
    const int start = std::max(0, std::min(c - display_width(label) / 2, columns_ - display_width(label) + 1));
    if (!labels.empty() && start <= display_width(labels)) continue;
    labels = justified(labels, start);
    labels += label;
  }
  const std::string indent(static_cast<std::size_t>(margin_) + 1, ' ');
  out += indent + "└" + rule + "\n" + indent + " " + labels + "\n";
  return out + indent + " " + justified(x_title, (columns_ + display_width(x_title)) / 2, true) + "\n";
}

std::string legend_lines(const std::string& first, const std::vector<std::string>& entries, int width) {
  std::string out, line = first;
  for (const std::string& entry : entries) {
    if (!line.empty() && display_width(line) + 3 + display_width(entry) > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + entry;
  }
  return out + line + "\n";
}

}  // namespace reckon
