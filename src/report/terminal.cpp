// A document for the terminal: aligned by display width, never wider than asked.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "report/forms.h"
#include "report/text.h"

namespace reckon {
namespace {

constexpr int gap = 2;  // columns between two columns of a table
constexpr int longest_bar = 10, shortest_bar = 6;
constexpr int narrowest_text = 12, narrowest_formula = 15;

constexpr std::string_view bold = "1", faint = "2", blue = "34";

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(std::string_view style, std::string_view text) const {
    if (!color_ || text.empty()) return std::string(text);
    return "\033[" + std::string(style) + "m" + std::string(text) + "\033[0m";
  }

 private:
  bool color_;
};

std::string line_of(int columns) {
  std::string out;
  for (int i = 0; i < columns; ++i) out += "─";
  return out;
}

// A share of `columns` columns in steps of an eighth: "███▌".
std::string bar(const std::string& share, int columns) {
  static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double value = std::clamp(std::strtod(share.c_str(), nullptr), 0.0, 1.0);
  const auto steps = static_cast<int>(std::lround(value * 8 * columns));
  std::string out;
  for (int i = 0; i < steps / 8; ++i) out += "█";
  return out + std::string(eighths[steps % 8]);
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

// Which of a table's columns are shown, and how wide.
struct Layout {
  std::vector<std::size_t> columns;
  std::vector<int> widths;
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
        out += paint_(bold, line) + "\n";
    }
    bool first = true;
    for (const Layout& layout : layouts()) {
      if (!first) out += "\n";
      first = false;
      write(out, layout);
    }
    return out;
  }

 private:
  // What a column would like, and the least that it can do with.
  void measure(std::size_t c) {
    const Column& column = table_.columns[c];
    if (column.kind == Column::Kind::bar) {
      natural_.push_back(longest_bar);
      least_.push_back(shortest_bar);
      return;
    }
    int cells = 0;
    for (const std::vector<Cell>& row : table_.rows) {
      if (c < row.size()) cells = std::max(cells, display_width(row[c].text));
    }
    const int title = column.right ? longest_word(column.title) : display_width(column.title);
    natural_.push_back(std::max(cells, title));
    const int narrowest = column.kind == Column::Kind::formula ? narrowest_formula : narrowest_text;
    const bool whole = column.right || column.kind == Column::Kind::name;
    least_.push_back(whole ? natural_.back() : std::min(natural_.back(), narrowest));
  }

  Layout layout_of(std::vector<std::size_t> columns) const {
    Layout layout{std::move(columns), {}};
    for (std::size_t c : layout.columns) layout.widths.push_back(natural_[c]);
    return layout;
  }

  bool is_bar(std::size_t column) const { return table_.columns[column].kind == Column::Kind::bar; }

  // Takes from the widest column that can give, bars first, then formulas, until the table fits. False: it cannot.
  bool shrink(Layout& layout) const {
    for (int over = layout.total() - width_; over > 0; --over) {
      std::size_t widest = layout.columns.size();
      for (std::size_t i = 0; i < layout.columns.size(); ++i) {
        if (layout.widths[i] <= least_[layout.columns[i]]) continue;
        const auto readiness = [&](std::size_t at) {
          return std::pair(static_cast<int>(table_.columns[layout.columns[at]].kind), layout.widths[at]);
        };
        if (widest == layout.columns.size() || readiness(i) > readiness(widest)) widest = i;
      }
      if (widest == layout.columns.size()) return false;
      --layout.widths[widest];
    }
    return true;
  }

  // One layout with everything; else without bars; else several, each with the first column again.
  std::vector<Layout> layouts() const {
    if (table_.columns.empty()) return {};
    std::vector<std::size_t> all(table_.columns.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    Layout layout = layout_of(all);
    if (shrink(layout)) return {layout};
    std::erase_if(all, [&](std::size_t c) { return is_bar(c); });
    layout = layout_of(all);
    if (shrink(layout)) return {layout};
    std::vector<Layout> out;
    std::size_t next = 1;
    do {
      out.push_back(part(all, next));
    } while (next < all.size());
    return out;
  }

  // As many columns from `next` on as fit beside the first; at least one.
  Layout part(const std::vector<std::size_t>& all, std::size_t& next) const {
    std::vector<std::size_t> some{all[0]};
    Layout best = layout_of(some);
    while (next < all.size()) {
      std::size_t end = next;  // the next column and those joined to it
      do {
        some.push_back(all[end++]);
      } while (end < all.size() && table_.columns[all[end]].joined);
      Layout wider = layout_of(some);
      const bool fits = shrink(wider);
      if (!fits && best.columns.size() > 1) break;
      best = std::move(wider);
      next = end;
      if (!fits) break;
    }
    clip(best);
    return best;
  }

  // The last resort, for a single number wider than the terminal.
  void clip(Layout& layout) const {
    for (std::size_t i = layout.widths.size(); i-- > 0;) {
      const int over = layout.total() - width_;
      if (over > 0) layout.widths[i] = std::max(4, layout.widths[i] - over);
    }
  }

  bool has_head() const {
    return std::any_of(table_.columns.begin(), table_.columns.end(), [](const Column& c) { return !c.title.empty(); });
  }

  void write(std::string& out, const Layout& layout) const {
    if (has_head()) {
      std::vector<Cell> titles;
      for (const Column& column : table_.columns) titles.emplace_back(column.title);
      write_row(out, layout, titles, faint, true);
      out += paint_(faint, line_of(layout.total())) + "\n";
    }
    std::size_t group = 0;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const bool total = r + table_.totals >= table_.rows.size();
      if (total && r + table_.totals == table_.rows.size() && r > 0) {
        out += paint_(faint, line_of(layout.total())) + "\n";
      }
      const bool heads = group < table_.groups.size() && table_.groups[group] == r;
      if (heads) ++group;
      write_row(out, layout, table_.rows[r], total || heads ? bold : "", false);
    }
  }

  void write_row(std::string& out, const Layout& layout, const std::vector<Cell>& row, std::string_view style,
                 bool head) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
      const std::size_t c = layout.columns[i];
      const std::string text = c < row.size() ? printable(row[c].text) : "";
      const bool formula = table_.columns[c].kind == Column::Kind::formula && !head;
      if (is_bar(c)) {
        cells.push_back({head ? text : bar(text, layout.widths[i])});
      } else {
        cells.push_back(wrap(text, layout.widths[i], formula ? Breaks::formula : Breaks::words));
      }
      height = std::max(height, cells.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text, spaces;  // spaces are written only when something follows
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const Column& column = table_.columns[layout.columns[i]];
        // A head of several lines stands on the rule: its last line is the last.
        const std::size_t skipped = head ? height - cells[i].size() : 0;
        const std::string cell =
            line >= skipped && line - skipped < cells[i].size() ? cells[i][line - skipped] : std::string();
        const std::string fill(static_cast<std::size_t>(std::max(0, layout.widths[i] - display_width(cell))), ' ');
        if (column.right) spaces += fill;
        if (!cell.empty()) {
          text += spaces + paint_(is_bar(layout.columns[i]) && !head ? blue : style, cell);
          spaces.clear();
        }
        if (!column.right) spaces += fill;
        spaces.append(gap, ' ');
      }
      out += text + "\n";
    }
  }

  const Table& table_;
  int width_;
  Painter paint_;
  std::vector<int> natural_, least_;
};

std::string text_of(const Table& table, const Terminal& terminal) { return TableWriter(table, terminal).write(); }

std::string text_of(const Heading& heading, const Terminal& terminal) {
  const Painter paint(terminal.color);
  std::string out;
  int width = 0;
  for (const std::string& line : wrap(printable(heading.text), terminal.width, Breaks::words)) {
    out += paint(bold, line) + "\n";
    width = std::max(width, display_width(line));
  }
  if (heading.level > 1) return out;
  std::string rule;
  for (int i = 0; i < width; ++i) rule += "━";
  return out + paint(blue, rule) + "\n";
}

std::string text_of(const Paragraph& paragraph, const Terminal& terminal) {
  std::string out;
  for (const std::string& line : wrap(printable(paragraph.text), terminal.width, Breaks::words)) out += line + "\n";
  return out;
}

std::string text_of(const Verbatim& block, const Terminal&) {
  if (!block.terminal || block.text.empty()) return "";
  return block.text.ends_with('\n') ? block.text : block.text + "\n";
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
  return out;
}

}  // namespace reckon
