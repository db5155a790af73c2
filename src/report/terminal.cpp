// A document for the terminal: aligned by display width, never wider than asked.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "report/ascii.h"
#include "report/document.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr int usual_gap = 2, least_gap = 1;  // between two columns of a table
constexpr int longest_bar = 10, shortest_bar = 6;
constexpr int narrowest_text = 12, narrowest_formula = 15;  // where there is room
constexpr int narrowest = 8;                                // where there is not, and no word is longer

// A share of `columns` columns in steps of an eighth: "███▌".
std::string bar(const std::string& share, int columns) {
  static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double value = std::clamp(std::strtod(share.c_str(), nullptr), 0.0, 1.0);
  const auto steps = static_cast<int>(std::lround(value * 8 * columns));
  return repeated("█", steps / 8) + std::string(eighths[steps % 8]);
}

int longest_word(const std::string& text) {
  int longest = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    longest = std::max(longest, display_width(std::string_view(text).substr(from, to - from)));
    from = to + 1;
  }
  return longest;
}

// Which of a table's columns are shown, how wide, and how far apart.
struct TableLayout {
  std::vector<std::size_t> columns;
  std::vector<int> widths;
  int gap = usual_gap;
  int total() const {
    return std::accumulate(widths.begin(), widths.end(), 0) + gap * (static_cast<int>(widths.size()) - 1);
  }
};

class TableWriter {
 public:
  TableWriter(const Table& table, const Terminal& terminal)
      : table_(table), width_(terminal.width), paint_(terminal.color) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) measure(c);
  }

  std::string write() const {
    std::string out;
    if (!table_.title.empty()) {
      for (const std::string& line : wrap(printable(table_.title), width_, Breaks::words))
        out += paint_(Painter::bold, line) + "\n";
    }
    bool first = true;
    for (const TableLayout& layout : layouts()) {
      if (!first) out += "\n";
      first = false;
      write(out, layout);
    }
    return out;
  }

 private:
  // The width that a column needs, the least that reads well, and the least that breaks no word and no number.
  struct Widths {
    int natural, least, tight;
  };

  void measure(std::size_t c) {
    const Column& column = table_.columns[c];
    if (column.kind == Column::Kind::bar) {
      widths_.push_back({longest_bar, shortest_bar, shortest_bar});
      return;
    }
    const bool formula = column.kind == Column::Kind::formula;
    int cells = 0, pieces = 0;
    for (const Cells& row : table_.rows) {
      if (c >= row.size()) continue;
      cells = std::max(cells, display_width(row[c].text));
      pieces = std::max(pieces, least_width(row[c].text, formula ? Breaks::formula : Breaks::words));
    }
    const int title = column.right ? longest_word(column.title) : display_width(column.title);
    const int natural = std::max(cells, title);
    const bool whole = column.right || column.kind == Column::Kind::name;
    const int good = formula ? narrowest_formula : narrowest_text;
    const int words = std::max(whole ? cells : pieces, least_width(column.title, Breaks::words));
    widths_.push_back({natural, whole ? natural : std::min(natural, good),
                       whole ? words : std::min(natural, std::clamp(words, narrowest, 2 * narrowest))});
  }

  bool is_bar(std::size_t column) const { return table_.columns[column].kind == Column::Kind::bar; }

  // These columns, narrowed to fit: from the widest that can give, bars first, then formulas. Nothing: they cannot.
  std::optional<TableLayout> fitted(const std::vector<std::size_t>& columns, bool tight) const {
    TableLayout layout{columns, {}, usual_gap};
    for (std::size_t c : columns) layout.widths.push_back(widths_[c].natural);
    const auto least = [&](std::size_t c) { return tight ? widths_[c].tight : widths_[c].least; };
    while (layout.total() > width_) {
      std::size_t widest = columns.size();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (layout.widths[i] <= least(columns[i])) continue;
        const auto readiness = [&](std::size_t at) {
          return std::pair(static_cast<int>(table_.columns[columns[at]].kind), layout.widths[at]);
        };
        if (widest == columns.size() || readiness(i) > readiness(widest)) widest = i;
      }
      if (widest < columns.size()) {
        --layout.widths[widest];
      } else if (tight && layout.gap > least_gap) {
        --layout.gap;
      } else {
        return std::nullopt;
      }
    }
    return layout;
  }

  // One layout with everything; else without bars, and then without details; else the same in tight columns; else
  // several, each with the first column again.
  std::vector<TableLayout> layouts() const {
    if (table_.columns.empty()) return {};
    std::vector<std::size_t> columns(table_.columns.size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    if (const auto layout = fitted(columns, false)) return {*layout};
    std::erase_if(columns, [&](std::size_t c) { return is_bar(c); });
    std::vector<std::vector<std::size_t>> choices{columns};
    int detail = 0;
    for (const Column& column : table_.columns) detail = std::max(detail, column.detail);
    for (; detail > 0; --detail) {
      std::erase_if(columns, [&](std::size_t c) { return table_.columns[c].detail == detail; });
      choices.push_back(columns);
    }
    for (const bool tight : {false, true}) {
      for (const std::vector<std::size_t>& choice : choices) {
        if (const auto layout = fitted(choice, tight)) return {*layout};
      }
    }
    // Numbers come first then: they are what a table is for.
    std::stable_partition(columns.begin() + 1, columns.end(), [&](std::size_t c) { return table_.columns[c].right; });
    std::vector<TableLayout> out;
    std::size_t next = 1;
    do {
      out.push_back(part(columns, next));
    } while (next < columns.size());
    return out;
  }

  // As many columns from `next` on as fit beside the first, joined ones together where they have room; at least one.
  TableLayout part(const std::vector<std::size_t>& all, std::size_t& next) const {
    const auto up_to = [&, from = next](std::size_t end) {
      std::vector<std::size_t> columns(all.begin() + static_cast<std::ptrdiff_t>(from),
                                       all.begin() + static_cast<std::ptrdiff_t>(std::min(end, all.size())));
      columns.insert(columns.begin(), all[0]);
      return columns;
    };
    std::optional<TableLayout> best;
    std::size_t end = next;
    const auto take = [&](std::size_t to) {
      const auto wider = fitted(up_to(to), true);
      if (wider) {
        best = wider;
        end = to;
      }
      return wider.has_value();
    };
    for (std::size_t to = next; to < all.size();) {
      for (++to; to < all.size() && table_.columns[all[to]].joined;) ++to;
      if (!take(to)) break;
    }
    if (!best) {
      while (end < all.size() && take(end + 1)) {
      }
    }
    if (!best) {
      end = next + 1;
      best = clipped(up_to(end));
    }
    next = end;
    return *best;
  }

  // The last resort, for a single number that leaves little of the terminal: what is beside it is cut.
  TableLayout clipped(const std::vector<std::size_t>& columns) const {
    TableLayout layout{columns, {}, least_gap};
    for (std::size_t c : columns) layout.widths.push_back(widths_[c].tight);
    for (int& width : layout.widths) {
      const int over = layout.total() - width_;
      if (over > 0) width = std::max(4, width - over);
    }
    return layout;
  }

  // Whether of several columns only the first says something in this row.
  static bool is_empty(const TableLayout& layout, const Cells& row) {
    return layout.columns.size() > 1 &&
           std::all_of(layout.columns.begin() + 1, layout.columns.end(),
                       [&](std::size_t c) { return c >= row.size() || row[c].text.empty(); });
  }

  void write(std::string& out, const TableLayout& layout) const {
    if (table_.has_header()) {
      Cells titles;
      for (const Column& column : table_.columns) titles.emplace_back(column.title);
      write_row(out, layout, titles, Painter::faint, true);
      out += paint_(Painter::faint, repeated("─", layout.total())) + "\n";
    }
    std::size_t group = 0;
    bool ruled = false;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const bool total = r + table_.totals >= table_.rows.size();
      if (total && is_empty(layout, table_.rows[r])) continue;
      if (total && !ruled && r > 0) out += paint_(Painter::faint, repeated("─", layout.total())) + "\n";
      ruled = ruled || total;
      const bool heads = group < table_.groups.size() && table_.groups[group] == r;
      if (heads) ++group;
      write_row(out, layout, table_.rows[r], total || heads ? Painter::bold : "", false);
    }
  }

  void write_row(std::string& out, const TableLayout& layout, const Cells& row, std::string_view style,
                 bool header) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
      const std::size_t c = layout.columns[i];
      const std::string text = c < row.size() ? printable(row[c].text) : "";
      const bool formula = table_.columns[c].kind == Column::Kind::formula && !header;
      if (is_bar(c)) {
        cells.push_back({header ? text : bar(text, layout.widths[i])});
      } else {
        cells.push_back(wrap(text, layout.widths[i], formula ? Breaks::formula : Breaks::words));
      }
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text, spaces;  // spaces are written only when something follows
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const Column& column = table_.columns[layout.columns[i]];
        // A header of several lines is aligned to its last line, above the rule.
        const std::size_t skipped = header ? height - cells[i].size() : 0;
        const std::string cell =
            line >= skipped && line - skipped < cells[i].size() ? cells[i][line - skipped] : std::string();
        const std::string fill(static_cast<std::size_t>(std::max(0, layout.widths[i] - display_width(cell))), ' ');
        if (column.right) spaces += fill;
        if (!cell.empty()) {
          text += spaces + paint_(is_bar(layout.columns[i]) && !header ? Painter::blue : style, cell);
          spaces.clear();
        }
        if (!column.right) spaces += fill;
        spaces.append(static_cast<std::size_t>(layout.gap), ' ');
      }
      out += text + "\n";
    }
  }

  const Table& table_;
  int width_;
  Painter paint_;
  std::vector<Widths> widths_;  // by column
};

// What a locale without UTF-8 shows; replaced before the layout, since stand-ins may be wider.
std::string shown(const std::string& text, const Terminal& terminal) {
  return printable(terminal.ascii ? to_ascii(text) : text);
}

// The texts of a table as they are laid out.
Table shown(Table table, const Terminal& terminal) {
  const auto show = [&](std::string& text) {
    if (terminal.ascii) text = to_ascii(text);
  };
  show(table.title);
  for (Column& column : table.columns) show(column.title);
  for (Cells& row : table.rows) {
    for (Cell& cell : row) {
      show(cell.text);
      if (cell.indented) cell.text.insert(0, "  ");
    }
  }
  return table;
}

std::string text_of(const Table& table, const Terminal& terminal) {
  const Table laid_out = shown(table, terminal);
  return TableWriter(laid_out, terminal).write();
}

std::string text_of(const Heading& heading, const Terminal& terminal) {
  const Painter paint(terminal.color);
  std::string out;
  int width = 0;
  for (const std::string& line : wrap(shown(heading.text, terminal), terminal.width, Breaks::words)) {
    out += paint(Painter::bold, line) + "\n";
    width = std::max(width, display_width(line));
  }
  if (heading.level > 1) return out;
  return out + paint(Painter::blue, repeated("━", width)) + "\n";
}

std::string text_of(const Paragraph& paragraph, const Terminal& terminal) {
  std::string out;
  for (const std::string& line : wrap(shown(paragraph.text, terminal), terminal.width, Breaks::words))
    out += line + "\n";
  return out;
}

std::string text_of(const Chart& chart, const Terminal& terminal) { return chart_text(chart, terminal.width); }

std::string text_of(const MemoryPicture& picture, const Terminal& terminal) {
  return memory_picture_text(picture, terminal.width);
}

std::string text_of(const RooflinePicture& picture, const Terminal& terminal) {
  return roofline_text(picture, terminal.width);
}

std::string text_of(const Verbatim& block, const Terminal& terminal) {
  if (!block.terminal || block.text.empty()) return "";
  if (!block.formulas) return block.text.ends_with('\n') ? block.text : block.text + "\n";
  std::string out;
  for (std::size_t at = 0, end; at < block.text.size(); at = end + 1) {
    end = std::min(block.text.find('\n', at), block.text.size());
    const std::string line = block.text.substr(at, end - at);
    for (const std::string& part : wrap(shown(line, terminal), terminal.width, Breaks::formula)) out += part + "\n";
  }
  return out;
}

}  // namespace

std::string render_terminal(const Document& document, const Terminal& terminal) {
  std::string out;
  bool after_heading = false;
  for (const Element& part : document.parts) {
    const std::string text = std::visit([&](const auto& value) { return text_of(value, terminal); }, part);
    if (text.empty()) continue;
    if (!out.empty() && !after_heading) out += "\n";
    out += text;
    after_heading = std::holds_alternative<Heading>(part);
  }
  return terminal.ascii ? to_ascii(out) : out;
}

}  // namespace reckon
