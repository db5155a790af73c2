// A report before it has a form: headings, paragraphs, tables and diagrams, and the same facts as JSON.
// Commands build one; render() gives it the form that was asked for.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <variant>
#include <vector>

namespace reckon {

struct Column {
  std::string title;
  bool right = false;  // numbers stand right
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // UTF-8; a cell per column
  std::size_t totals = 0;                      // the last so many rows are sums, set apart by a line
};

struct Heading {
  std::string text;
};

struct Paragraph {
  std::string text;  // wrapped to the width of the terminal
};

// Text as it stands: a plot in the terminal, a fenced block in Markdown (`language` "mermaid", "text", …).
// Only formats whose flag is set show it.
struct Block {
  std::string text;
  std::string language;
  bool terminal = true, markdown = true;
};

using Part = std::variant<Heading, Paragraph, Table, Block>;

struct Document {
  std::vector<Part> parts;
  nlohmann::ordered_json json;
};

enum class Format { table, json, csv, markdown };

struct Terminal {
  int width = 100;
  bool color = false;
};

// `table` is for the terminal, at most terminal.width columns wide; `csv` holds the tables alone, with plain numbers.
std::string render(const Document& document, Format format, const Terminal& terminal);

}  // namespace reckon
