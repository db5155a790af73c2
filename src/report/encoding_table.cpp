#include "report/encoding_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/numbers.h"
#include "report/chart.h"
#include "report/svg.h"

namespace reckon {
namespace {

Cell rate(double tokens) { return {fmt::format("{:.1f}", tokens), fmt::format("{}", tokens)}; }

std::string notes(const EncodingTable& table) {
  std::string text = fmt::format("Decoding one text, {} tokens of which are cached", grouped(table.context / 2));
  text += table.unpredicted.empty() ? ". " : "; nothing is predicted: " + table.unpredicted + ". ";
  if (table.scored > 0)
    text += fmt::format(
        "Perplexity of {} tokens; divergence from the model as it is, in nats per token, and where both have the same "
        "likeliest token. ",
        grouped(table.scored));
  else
    text += "No text was given, so no loss was measured. ";
  text += fmt::format("Memory is what running takes with a context of {} tokens; {} are free here.",
                      grouped(table.context), binary_bytes(table.memory));
  if (table.calibrated) text += " Encodings are calibrated.";
  for (const EncodingRow& row : table.rows) {
    std::vector<std::string_view> others;
    for (const DType dtype : row.matrices)
      if (encoding_of(dtype).name != row.encoding) others.push_back(encoding_of(dtype).name);
    if (!row.original && !others.empty())
      text += fmt::format(" {} becomes {} where its blocks do not divide the rows.", row.encoding,
                          fmt::join(others, " or "));
  }
  return text;
}

// Where names stand beside their dots, so that none covers another or a dot.
class Labels {
 public:
  struct Place {
    double x, y;
    bool before;  // it ends there
  };
  void add_dot(double x, double y) { taken_.push_back({x - 5, y - 5, x + 5, y + 5}); }
  Place place(double x, double y, std::size_t letters) {
    const double width = 7.2 * static_cast<double>(letters);
    // Behind the dot or before it, on its height, and then farther and farther above and below.
    constexpr int tries = 16;
    for (int i = 0; i < tries; ++i) {
      const int steps = (i + 1) / 2;
      const double away = 9.0 * (i % 2 == 0 ? steps : -steps);
      for (const bool before : {false, true}) {
        const double from = before ? x - 8 - width : x + 8, middle = y + away;
        const Box box{from, middle - 7, from + width, middle + 7};
        if (std::any_of(taken_.begin(), taken_.end(), [&](const Box& other) { return box.meets(other); })) continue;
        taken_.push_back(box);
        return {before ? x - 8 : x + 8, middle + 4, before};
      }
    }
    return {x + 8, y + 4, false};
  }

 private:
  struct Box {
    double left, top, right, bottom;
    bool meets(const Box& other) const {
      return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
  };
  std::vector<Box> taken_;
};

}  // namespace

Document encoding_table_document(const std::string& model, const EncodingTable& table) {
  Document document;
  const bool loss = table.scored > 0, predicted = table.unpredicted.empty();
  Table rows{fmt::format("{} in other encodings", model),
             {{"encoding"}, {"bytes", true, Column::Kind::text, false, 1}, {"size", true}, {"bits per weight", true}}};
  if (predicted) rows.columns.push_back({"predicted tokens/s", true});
  rows.columns.push_back({"measured tokens/s", true});
  if (loss) {
    rows.columns.push_back({"perplexity", true});
    rows.columns.push_back({"divergence", true});
    rows.columns.push_back({"same best", true});
  }
  rows.columns.push_back({"memory", true});
  rows.columns.push_back({"fits"});
  document.json = {{"schema", "reckon.quantize-table/1"},
                   {"model", model},
                   {"memory", table.memory},
                   {"context", table.context},
                   {"scored_tokens", table.scored},
                   {"calibrated", table.calibrated},
                   {"unpredicted", nullptr},
                   {"encodings", OrderedJson::array()}};
  if (!predicted) document.json["unpredicted"] = table.unpredicted;
  for (const EncodingRow& row : table.rows) {
    Cells cells{row.original ? row.encoding + " (as it is)" : row.encoding, grouped(row.bytes), binary_bytes(row.bytes),
                fmt::format("{:.3f}", row.bits())};
    if (predicted) cells.push_back(rate(*row.predicted));
    cells.push_back(rate(row.measured));
    if (row.loss) {
      cells.emplace_back(fmt::format("{:.4f}", row.loss->perplexity), fmt::format("{}", row.loss->perplexity));
      cells.emplace_back(fmt::format("{:.6f}", row.loss->divergence), fmt::format("{}", row.loss->divergence));
      cells.emplace_back(percent(row.loss->same_best, 2), fmt::format("{}", row.loss->same_best));
    }
    cells.emplace_back(binary_bytes(row.needed), to_string(Count(row.needed)));
    cells.emplace_back(row.fits ? "yes" : "no");
    rows.rows.push_back(std::move(cells));
    OrderedJson entry{{"encoding", row.encoding},
                      {"original", row.original},
                      {"matrices", OrderedJson::array()},
                      {"bytes", row.bytes},
                      {"elements", row.elements},
                      {"bits_per_weight", row.bits()},
                      {"predicted_tokens_per_second", nullptr},
                      {"measured_tokens_per_second", row.measured},
                      {"perplexity", nullptr},
                      {"divergence", nullptr},
                      {"same_best", nullptr},
                      {"memory", row.needed},
                      {"fits", row.fits}};
    for (const DType dtype : row.matrices) entry["matrices"].push_back(encoding_of(dtype).name);
    if (row.predicted) entry["predicted_tokens_per_second"] = *row.predicted;
    if (row.loss) {
      entry["perplexity"] = row.loss->perplexity;
      entry["divergence"] = row.loss->divergence;
      entry["same_best"] = row.loss->same_best;
    }
    document.json["encodings"].push_back(std::move(entry));
  }
  document.parts.emplace_back(std::move(rows));
  document.parts.emplace_back(Paragraph{notes(table)});
  return document;
}

std::string encoding_table_svg(const std::string& model, const EncodingTable& table) {
  constexpr double width = 860, height = 500, left = 76, right = 90, top = 56, bottom = 60;
  constexpr double plot_width = width - left - right, plot_height = height - top - bottom;
  // A logarithm has no zero: the model as it is, and what loses nothing that can be seen, is not drawn.
  struct Point {
    const EncodingRow* row;
    double x, y;
  };
  std::vector<Point> points;
  std::vector<double> sizes, losses;
  for (const EncodingRow& row : table.rows) {
    if (row.loss->divergence <= 0) continue;
    points.push_back({&row, static_cast<double>(row.bytes), row.loss->divergence});
    sizes.push_back(points.back().x);
    losses.push_back(points.back().y);
  }
  const std::string title = model + ": size against loss";
  std::string out = svg_opening(
      width, height, title,
      ".dot { fill: #0072b2; } .large { fill: #d55e00; } .best { stroke: #0072b2; stroke-width: 2; fill: none; }");
  out += svg_text(left, 28, "start", title, " font-size=\"16\" font-weight=\"600\"");
  if (points.empty()) return out + svg_text(left, top + 20, "start", "no encoding lost anything") + "</svg>\n";
  const Axis x = axis_of(sizes, true, 2, 8), y = axis_of(losses, true, 10, 8);
  const auto across = [&](double value) { return left + x.place(value) * plot_width; };
  const auto down = [&](double value) { return top + (1 - y.place(value)) * plot_height; };
  for (const double tick : y.ticks) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, down(tick), left + plot_width);
    out += svg_text(left - 8, down(tick) + 4, "end", fmt::format("{:g}", tick), " class=\"soft\"");
  }
  for (const double tick : x.ticks) {
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", across(tick), top, top + plot_height);
    out += svg_text(across(tick), top + plot_height + 20, "middle", binary_bytes(Count(std::llround(tick))),
                    " class=\"soft\"");
  }
  out += fmt::format("<path class=\"frame\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", left, top, top + plot_height,
                     left + plot_width);
  out += svg_text(left + plot_width / 2, height - 14, "middle", "size of the weights");
  out += svg_text(left, top - 10, "start", "divergence, nats per token", " class=\"soft\"");
  // The line joins those that no other is both smaller and better than.
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::string line;
  double least = INFINITY;
  for (const Point& point : points) {
    if (point.y >= least) continue;
    least = point.y;
    line += fmt::format("{:.1f},{:.1f} ", across(point.x), down(point.y));
  }
  if (!line.empty()) line.pop_back();
  out += fmt::format("<polyline class=\"best\" points=\"{}\"/>\n", line);
  Labels labels;
  for (const Point& point : points) labels.add_dot(across(point.x), down(point.y));
  for (const Point& point : points) {
    out += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}: {}, divergence "
        "{:.6f}{}</title></circle>\n",
        point.row->fits ? "dot" : "large", across(point.x), down(point.y), svg_escaped(point.row->encoding),
        binary_bytes(point.row->bytes), point.y, point.row->fits ? "" : ", does not fit this machine");
    const Labels::Place label = labels.place(across(point.x), down(point.y), point.row->encoding.size());
    out += svg_text(label.x, label.y, label.before ? "end" : "start", point.row->encoding);
  }
  return out + "</svg>\n";
}

}  // namespace reckon
