// Tables as CSV (RFC 4180): one rectangle of plain numbers, whatever the report holds.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "report/document.h"

namespace reckon {
namespace {

// "1,234,567" → "1234567", "−3.5" → "-3.5", "12.5%" → "0.125"; any other text stays.
std::string ungrouped(const std::string& text) {
  std::string number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.pop_back();
  if (number.starts_with("−")) number.replace(0, std::string("−").size(), "-");
  number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  const std::size_t sign = number.starts_with('-') || number.starts_with('+') ? 1 : 0;
  const bool plain = number.size() > sign && std::isdigit(static_cast<unsigned char>(number[sign])) &&
                     number.find_first_not_of("0123456789.e", sign) == std::string::npos;
  if (!plain) return text;
  if (percent) return fmt::format("{:.6g}", std::strtod(number.c_str(), nullptr) / 100);
  return number.substr(number.starts_with('+') ? 1 : 0);
}

const std::string& name_of(const Column& column) { return column.plain.empty() ? column.title : column.plain; }

// Spaces at the ends are in quotes too: some readers drop them otherwise.
std::string field(const std::string& text) {
  const bool spaces = text.starts_with(' ') || text.ends_with(' ');
  if (!spaces && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string field(const Cell& cell, const Column& column) {
  if (!cell.plain.empty()) return field(cell.plain);
  return field(column.right ? ungrouped(cell.text) : cell.text);
}

void append_line(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + fields[i];
  out += "\r\n";
}

}  // namespace

bool Table::has_header() const {
  return std::any_of(columns.begin(), columns.end(), [](const Column& column) { return !column.title.empty(); });
}

std::string render_csv(const Document& document) {
  std::vector<const Table*> tables;
  for (const Table& table : document.csv) tables.push_back(&table);
  for (const Element& part : document.parts) {
    const Table* table = std::get_if<Table>(&part);
    if (table != nullptr && table->has_header() && document.csv.empty()) tables.push_back(table);
  }
  const bool several = tables.size() > 1;
  std::vector<std::string> titles;  // of all tables, each once
  if (several) titles.emplace_back("table");
  const std::size_t first = titles.size();
  const auto place_of = [&](const Column& column) {
    return static_cast<std::size_t>(
        std::find(titles.begin() + static_cast<std::ptrdiff_t>(first), titles.end(), name_of(column)) - titles.begin());
  };
  for (const Table* table : tables) {
    for (const Column& column : table->columns) {
      if (column.kind != Column::Kind::bar && place_of(column) == titles.size()) titles.push_back(name_of(column));
    }
  }
  std::string out;
  std::vector<std::string> line;
  line.reserve(titles.size());
  for (const std::string& title : titles) line.push_back(field(title));
  append_line(out, line);
  for (const Table* table : tables) {
    for (const Cells& row : table->rows) {
      line.assign(titles.size(), "");
      if (several) line[0] = field(table->title);
      for (std::size_t c = 0; c < row.size() && c < table->columns.size(); ++c) {
        const Column& column = table->columns[c];
        if (column.kind != Column::Kind::bar) line[place_of(column)] = field(row[c], column);
      }
      append_line(out, line);
    }
  }
  return out;
}

}  // namespace reckon
