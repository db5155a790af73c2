#include "files/tensor_file.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "files/checked.h"
#include "files/gguf.h"
#include "files/quote.h"
#include "files/safetensors.h"

namespace reckon {

std::vector<MappedFile> TensorFile::map() const {
  std::vector<MappedFile> mapped;
  for (const File& file : files) {
    mapped.emplace_back(file.path);
    if (mapped.back().bytes().size() != file.size)
      throw Error(fmt::format("{}: its length changed while it was being opened", file.path.string()));
  }
  return mapped;
}

std::span<const std::byte> TensorFile::bytes_of(const TensorInfo& tensor, std::span<const MappedFile> mapped) const {
  // The file is mapped and the tensor lies in it, so neither size is truncated.
  return mapped[tensor.file].bytes().subspan(static_cast<std::size_t>(files[tensor.file].data_begin + tensor.begin),
                                             static_cast<std::size_t>(tensor.end - tensor.begin));
}

TensorFile read_tensor_file(const std::filesystem::path& path) {
  return is_gguf(path) ? read_gguf(path) : read_safetensors(path);
}

bool is_tensor_file_name(std::string_view name) { return is_safetensors_name(name) || name.ends_with(".gguf"); }

bool begins_like_tensor_file(std::string_view start) {
  return begins_like_safetensors(start) || start.starts_with("GGUF");
}

std::string bracketed(const std::vector<std::int64_t>& shape) {
  constexpr std::ptrdiff_t most = 16;  // a hostile shape may have millions of axes
  return fmt::format("[{}{}]", fmt::join(shape.begin(), shape.begin() + std::min(std::ssize(shape), most), ", "),
                     std::ssize(shape) > most ? ", …" : "");
}

std::uint64_t measure(TensorInfo& tensor) {
  try {
    tensor.elements = 1;
    for (const std::int64_t extent : tensor.shape)
      tensor.elements = checked_multiply(tensor.elements, extent, "the number of elements");
    return static_cast<std::uint64_t>(row_bytes(tensor.dtype, tensor.elements));
  } catch (const Overflow&) {
    throw Error(fmt::format("shape {} has more elements than can be counted", bracketed(tensor.shape)));
  }
}

void sort_and_check(TensorFile& all) {
  const TensorFile::File& file = all.files.back();
  const std::string where = file.path.string();
  const auto before = [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  };
  // Most writers list the tensors as they lie.
  if (!std::is_sorted(all.tensors.begin(), all.tensors.end(), before))
    std::sort(all.tensors.begin(), all.tensors.end(), before);

  std::unordered_set<std::string_view> names;
  names.reserve(all.tensors.size());
  for (const TensorInfo& tensor : all.tensors)
    if (!names.insert(tensor.name).second)
      throw Error(fmt::format("{}: tensor {} appears twice", where, quote(tensor.name)));

  const std::uint64_t data = file.size - file.data_begin;
  const TensorInfo* previous = nullptr;
  for (const TensorInfo& tensor : all.tensors) {
    if (tensor.end > data)
      throw Error(fmt::format("{}: tensor {} ends at byte {} of the data, but the file holds only {}", where,
                              quote(tensor.name), tensor.end, data));
    if (previous != nullptr && tensor.begin < previous->end)
      throw Error(fmt::format("{}: tensor {} begins at byte {} of the data, inside tensor {}, which ends at {}", where,
                              quote(tensor.name), tensor.begin, quote(previous->name), previous->end));
    previous = &tensor;
  }
}

}  // namespace reckon
