// A document as Markdown, tables in GitHub's form.
#include <algorithm>

#include "report/document.h"
#include "report/text.h"

namespace reckon {
namespace {

// What Markdown would take for markup. Single underscores within words are none.
std::string escaped(const std::string& text) {
  std::string out;
  for (char c : printable(text)) {
    if (c == '|' || c == '*' || c == '`' || c == '\\' || c == '<' || c == '[') out += '\\';
    out += c;
  }
  return out;
}

std::string cell_text(const Cell& cell, bool strong) {
  std::string text = escaped(cell.text);
  if (strong && !text.empty()) text = "**" + text + "**";
  return (cell.indented ? "&emsp;" : "") + text;
}

void append(std::string& out, const Table& table) {
  if (!table.title.empty()) out += "### " + escaped(table.title) + "\n\n";
  std::string head = "|", rule = "|";
  for (const Column& column : table.columns) {
    if (column.kind == Column::Kind::bar) continue;
    head += " " + escaped(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  out += head + "\n" + rule + "\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const bool strong = r + table.totals >= table.rows.size() ||
                        std::find(table.groups.begin(), table.groups.end(), r) != table.groups.end();
    out += "|";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].kind == Column::Kind::bar) continue;
      out += " " + (c < table.rows[r].size() ? cell_text(table.rows[r][c], strong) : "") + " |";
    }
    out += "\n";
  }
  out += "\n";
}

void append(std::string& out, const Heading& heading) {
  out += (heading.level == 1 ? "## " : "### ") + escaped(heading.text) + "\n\n";
}
void append(std::string& out, const Paragraph& paragraph) { out += escaped(paragraph.text) + "\n\n"; }

void append(std::string& out, const Verbatim& block) {
  if (!block.markdown) return;
  out += "```" + block.language + "\n" + block.text + (block.text.ends_with('\n') ? "" : "\n") + "```\n\n";
}

void append(std::string& out, const Chart& chart) {
  append(out, Verbatim{chart_text(chart, Terminal().width), "text"});
}

void append(std::string& out, const MemoryPicture& picture) {
  append(out, Verbatim{memory_picture_text(picture, Terminal().width), "text"});
}

void append(std::string& out, const RooflinePicture& picture) {
  append(out, Verbatim{roofline_text(picture, Terminal().width), "text"});
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out;
  for (const Element& part : document.parts) {
    std::visit([&](const auto& value) { append(out, value); }, part);
  }
  if (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace reckon
