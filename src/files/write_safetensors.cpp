// Writing a safetensors file.
#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "files/descriptor.h"
#include "files/piece_writer.h"
#include "files/quote.h"
#include "files/safetensors.h"

namespace reckon {

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors) {
  nlohmann::ordered_json header{{"__metadata__", {{"format", "pt"}}}};
  std::size_t total = 0;
  for (const TensorToWrite& tensor : tensors) {
    if (safetensors_dtype(encoding_of(tensor.dtype).stored_name) != tensor.dtype)
      throw Error(fmt::format("tensor {} is in {}, which safetensors don't have", quote(tensor.name),
                              encoding_of(tensor.dtype).name));
    header[tensor.name] = {{"dtype", encoding_of(tensor.dtype).stored_name},
                           {"shape", tensor.shape},
                           {"data_offsets", {total, total + tensor.data.size()}}};
    total += tensor.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data begins at a multiple of 8 bytes
  const auto length = static_cast<std::uint64_t>(text.size());

  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw file_error(path, "cannot be written");
  PieceWriter pieces;
  bool written = pieces.write(file.number(), std::as_bytes(std::span(&length, 1))) &&
                 pieces.write(file.number(), std::as_bytes(std::span(text)));
  for (const TensorToWrite& tensor : tensors) written = written && pieces.write(file.number(), tensor.data);
  written = written && pieces.flush(file.number());
  if (!written || ::fsync(file.number()) != 0) {
    const Error error = file_error(path, "cannot be written");
    ::unlink(path.c_str());
    throw error;
  }
}

}  // namespace reckon
