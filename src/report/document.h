// A report before it has a form: headings, paragraphs, tables and diagrams, and the same facts as JSON.
// Commands build one; render() gives it the form that was asked for.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "report/chart.h"
#include "report/json.h"
#include "report/memory_picture.h"
#include "report/roofline_picture.h"

namespace reckon {

struct Column {
  enum class Kind {
    name,     // never wrapped, so that it can be copied
    text,     // wrapped at spaces where the table would be too wide
    formula,  // wrapped at + and ·
    bar,      // the cell is a share such as "0.317", drawn as a bar; in the terminal only
  };
  std::string title;   // no title in any column: the table has no header
  bool right = false;  // numbers are aligned right and never wrapped
  Kind kind = Kind::text;
  bool joined = false;  // stays beside the column before it where a table is too wide and is split
  int detail = 0;       // above 0: left out on a terminal that has no room for it, the highest first
  std::string plain{};  // its name in CSV, where that is different: "step seconds" for "step"
};

// A cell as people read it, and as CSV gives it where that is different ("31.7%" and "0.316525"). Grouped numbers lose
// their commas by themselves.
struct Cell {
  std::string text;
  std::string plain;
  bool indented = false;  // below the row of its group; CSV has no such rows and indents nothing
  Cell(std::string text_ = "", std::string plain_ = "") : text(std::move(text_)), plain(std::move(plain_)) {}
  Cell(const char* text_) : text(text_) {}
  Cell indent() && {
    indented = true;
    return std::move(*this);
  }
};

using Cells = std::vector<Cell>;

struct Table {
  std::string title = {};
  std::vector<Column> columns = {};
  std::vector<Cells> rows = {};          // UTF-8; a cell per column, or fewer
  std::size_t totals = 0;                // the last so many rows are sums, set apart by a line
  std::vector<std::size_t> groups = {};  // rows that sum up the indented ones below them
  bool has_header() const;
};

struct Heading {
  std::string text;
  int level = 1;  // 2: a part of what a heading of level 1 is over
};

struct Paragraph {
  std::string text;  // wrapped to the width of the terminal
};

// Preformatted text: a plot in the terminal, a fenced block in Markdown (`language` "mermaid", "text", …).
// Only formats whose flag is set show it.
struct Verbatim {
  std::string text;
  std::string language;
  bool terminal = true, markdown = true;
  bool formulas = false;  // lines that are too wide for a terminal break before + and ·
};

// A picture is drawn with characters, as wide as there is room.
using Element = std::variant<Heading, Paragraph, Table, Verbatim, Chart, MemoryPicture, RooflinePicture>;

struct Document {
  std::vector<Element> parts;
  OrderedJson json;
  std::vector<Table> csv;  // what CSV holds; empty: the tables among the parts
};

enum class Format { table, json, csv, markdown };

struct Terminal {
  int width = 100;
  bool color = false;
  bool ascii = false;  // its locale has no UTF-8
  int height = 0;      // lines; 0: not known, or no terminal
};

// `table` is for the terminal, at most terminal.width columns wide, down to 40; `csv` holds the tables alone, with
// plain numbers: several tables become one, with a first column that says which table a line is from, and those without
// a header are for reading only and left out.
std::string render(const Document& document, Format format, const Terminal& terminal);

// What render() chooses from; JSON is json_text().
std::string render_terminal(const Document& document, const Terminal& terminal);
std::string render_csv(const Document& document);
std::string render_markdown(const Document& document);

}  // namespace reckon
