// Writing a safetensors file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "files/quote.h"
#include "files/safetensors.h"

namespace reckon {

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const TensorSource& data) {
  nlohmann::ordered_json header{{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t total = 0;
  for (const TensorToWrite& tensor : tensors) {
    if (safetensors_dtype(encoding_of(tensor.dtype).stored_name) != tensor.dtype)
      throw Error(fmt::format("tensor {} is in {}, which safetensors don't have", quote(tensor.name),
                              encoding_of(tensor.dtype).name));
    const std::uint64_t bytes = bytes_of(tensor);
    header[tensor.name] = {{"dtype", encoding_of(tensor.dtype).stored_name},
                           {"shape", tensor.shape},
                           {"data_offsets", {total, total + bytes}}};
    total += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins at a multiple of 8 bytes
  const auto length = static_cast<std::uint64_t>(text.size());

  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  write_tensors(file, path, tensors, 1, data);
  file.commit();
}

}  // namespace reckon
