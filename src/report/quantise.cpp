#include "report/quantise.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "files/encoding.h"
#include "files/numbers.h"
#include "report/figures.h"

namespace reckon {
namespace {

struct Share {
  std::int64_t tensors = 0, elements = 0, bytes = 0;
  double worst = 0;  // error of a tensor
};

std::int64_t elements_of(const WrittenTensor& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= extent;
  return elements;
}

double bits(std::int64_t bytes, std::int64_t elements) {
  return elements > 0 ? 8.0 * static_cast<double>(bytes) / static_cast<double>(elements) : 0;
}

std::string error_text(double error) { return error > 0 ? fmt::format("{:.4f}", error) : "0"; }

}  // namespace

Document quantise_document(const std::string& model, const std::string& file, std::int64_t bytes,
                           const std::vector<WrittenTensor>& tensors) {
  std::map<DType, Share> shares;
  Share all;
  for (const WrittenTensor& tensor : tensors)
    for (Share* share : {&shares[tensor.to], &all}) {
      ++share->tensors;
      share->elements += elements_of(tensor);
      share->bytes += tensor.bytes;
      share->worst = std::max(share->worst, tensor.error);
    }
  Document document;
  Table table{fmt::format("{} in {}", model, file),
              {{"encoding"},
               {"tensors", true},
               {"elements", true},
               {"bytes", true},
               {"size", true},
               {"bits per weight", true},
               {"worst error", true}},
              {},
              1};
  const auto row = [](std::string name, const Share& share) {
    return Cells{std::move(name),           grouped(share.tensors),
                 grouped(share.elements),   grouped(share.bytes),
                 binary_bytes(share.bytes), fmt::format("{:.3f}", bits(share.bytes, share.elements)),
                 error_text(share.worst)};
  };
  for (const auto& [dtype, share] : shares) table.rows.push_back(row(std::string(encoding_of(dtype).name), share));
  table.rows.push_back(row("all", all));
  document.parts.emplace_back(std::move(table));
  document.parts.emplace_back(Paragraph{fmt::format(
      "The file has {} bytes ({}). An error is the root of the squares of what a tensor lost, relative to its values.",
      grouped(bytes), binary_bytes(bytes))});

  document.json = {{"schema", "reckon.quantize/1"},
                   {"model", model},
                   {"file", file},
                   {"bytes", bytes},
                   {"tensor_bytes", all.bytes},
                   {"elements", all.elements},
                   {"bits_per_weight", bits(all.bytes, all.elements)},
                   {"tensors", OrderedJson::array()}};
  for (const WrittenTensor& tensor : tensors)
    document.json["tensors"].push_back({{"name", tensor.name},
                                        {"shape", tensor.shape},
                                        {"from", encoding_of(tensor.from).name},
                                        {"to", encoding_of(tensor.to).name},
                                        {"bytes", tensor.bytes},
                                        {"bits_per_weight", bits(tensor.bytes, elements_of(tensor))},
                                        {"error", tensor.error}});
  return document;
}

}  // namespace reckon
