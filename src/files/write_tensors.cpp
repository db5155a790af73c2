#include "files/write_tensors.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/quote.h"
#include "files/tensor_file.h"

namespace reckon {

std::uint64_t bytes_of(const TensorToWrite& tensor) {
  TensorInfo info{tensor.name, tensor.dtype, tensor.shape, 0, 0, 0, 0};
  return measure(info);
}

void write_tensors(AtomicFile& file, const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                   std::uint64_t alignment, const TensorSource& data) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::uint64_t written = 0;
    data(i, [&](std::span<const std::byte> bytes) {
      file.write(bytes);
      written += bytes.size();
    });
    if (written != bytes_of(tensors[i]))
      throw Error(fmt::format("{}: tensor {} was given {} bytes, expected {}", path.string(), quote(tensors[i].name),
                              written, bytes_of(tensors[i])));
    const std::uint64_t beyond = written % alignment;
    const std::vector<std::byte> zeros(static_cast<std::size_t>(beyond == 0 ? 0 : alignment - beyond));
    file.write(zeros);
  }
}

}  // namespace reckon
