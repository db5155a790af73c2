// What a weight file holds, beside what the model says it should.
#include <fmt/format.h>

#include <algorithm>

#include "files/numbers.h"
#include "report/count.h"
#include "report/describe.h"

namespace reckon {
namespace {

constexpr std::size_t most_names = 12;  // in the terminal; JSON has them all

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t size : shape) text += (text.empty() ? "" : "×") + grouped(size);
  return text.empty() ? "a number" : text;
}

// A table of the first names, and a last row that says how many more there are.
template <class Items, class CellsOf>
void add_names(Document& document, const std::string& title, std::vector<Column> columns, const Items& items,
               CellsOf cells_of) {
  if (items.empty()) return;
  Table table{fmt::format("{}: {}", title, grouped(items.size())), std::move(columns)};
  for (std::size_t i = 0; i < std::min(items.size(), most_names); ++i) table.rows.push_back(cells_of(items[i]));
  if (items.size() > most_names) {
    table.rows.push_back({fmt::format("… and {} more", items.size() - most_names)});
  }
  document.parts.emplace_back(std::move(table));
}

}  // namespace

void add_file_parts(Document& document, const Model& model, const FileReport& file) {
  Table table{"In the file", {{"type"}, {"tensors", true}, {"elements", true}, {"bytes", true}, {"size", true}}, {}, 1};
  std::int64_t tensors = 0;
  for (const auto& [type, share] : file.types) {
    table.rows.push_back({std::string(encoding_of(type).stored_name), count_cell(share.tensors),
                          count_cell(share.elements), count_cell(share.bytes), binary_bytes(share.bytes)});
    tensors += share.tensors;
  }
  table.rows.push_back(
      {"all", count_cell(tensors), count_cell(file.elements), count_cell(file.bytes), binary_bytes(file.bytes)});
  document.parts.emplace_back(std::move(table));

  std::string verdict = fmt::format("{} has {} parameters", model.name, grouped(file.expected_elements));
  if (file.buffer_elements > 0) verdict += fmt::format(" and {} elements of buffers", grouped(file.buffer_elements));
  verdict += file.complete ? "; the file holds every one of them"
                           : "; the file does not hold all of them as the model has them";
  const std::int64_t more = file.elements - file.expected_elements - file.buffer_elements;
  if (file.complete && more > 0) verdict += fmt::format(", and {} elements besides", grouped(more));
  document.parts.emplace_back(Paragraph{verdict + "."});

  add_names(document, "In the file, not in the model", {{"name"}, {"shape"}, {"why"}}, file.unexpected,
            [](const FileReport::Unexpected& t) {
              return Cells{t.name, shape_text(t.shape), t.why};
            });
  add_names(document, "In the model, not in the file", {{"name"}, {"shape"}}, file.missing,
            [](const FileReport::Missing& t) {
              return Cells{t.name, shape_text(t.shape)};
            });
  add_names(document, "Of another shape", {{"name"}, {"in the file"}, {"in the model"}}, file.misshapen,
            [](const FileReport::Misshapen& t) {
              return Cells{t.name, shape_text(t.found), shape_text(t.expected)};
            });
  add_names(document, "Quantized in the file", {{"name"}, {"format"}}, file.quantized,
            [](const FileReport::Quantized& t) {
              return Cells{t.name, t.format};
            });
}

std::string in_file_text(const FileReport& file) {
  return fmt::format("{} as in the file, {:.2f} bits per weight", binary_bytes(file.weight_bytes),
                     file.bits_per_weight());
}

OrderedJson in_file_json(const FileReport& file) {
  return {{"bytes", file.weight_bytes}, {"bits_per_weight", file.bits_per_weight()}};
}

OrderedJson file_json(const FileReport& file, bool tensors) {
  OrderedJson json = {{"elements", file.elements},
                      {"bytes", file.bytes},
                      {"expected_elements", file.expected_elements},
                      {"buffer_elements", file.buffer_elements},
                      {"complete", file.complete},
                      {"types", OrderedJson::object()},
                      {"unexpected", OrderedJson::array()},
                      {"missing", OrderedJson::array()},
                      {"misshapen", OrderedJson::array()},
                      {"quantized", OrderedJson::array()}};
  for (const auto& [type, share] : file.types) {
    json["types"][std::string(encoding_of(type).stored_name)] = {
        {"tensors", share.tensors}, {"elements", share.elements}, {"bytes", share.bytes}};
  }
  for (const auto& t : file.unexpected) {
    json["unexpected"].push_back({{"name", t.name}, {"shape", t.shape}, {"elements", t.elements}, {"why", t.why}});
  }
  for (const auto& t : file.missing) json["missing"].push_back({{"name", t.name}, {"shape", t.shape}});
  for (const auto& t : file.misshapen)
    json["misshapen"].push_back({{"name", t.name}, {"found", t.found}, {"expected", t.expected}});
  for (const auto& t : file.quantized) json["quantized"].push_back({{"name", t.name}, {"format", t.format}});
  if (!tensors) return json;
  json["tensors"] = OrderedJson::array();
  for (const auto& t : file.tensors)
    json["tensors"].push_back(
        {{"name", t.name}, {"type", encoding_of(t.dtype).stored_name}, {"shape", t.shape}, {"bytes", t.bytes}});
  return json;
}

}  // namespace reckon
