// Any bytes at all as a GGUF file: it must be read or refused with reckon::Error, and what is read must be sound.
#include <reckon/error.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "files/gguf.h"
#include "model/read_gguf.h"
#include "text/gguf_tokenizer.h"

namespace {

// The model and the tokenizer, as far as there are some.
void read_inside(const reckon::TensorFile& header) {
  try {
    reckon::read_gguf_tokenizer(header.files.front().pairs, "fuzz");
  } catch (const reckon::Error&) {
  }
  reckon::read_gguf_model(header, "fuzz");
}

void must_be_read_or_refused(std::span<const std::byte> file) {
  try {
    const reckon::TensorFile header = reckon::parse_gguf("fuzz", file, file.size());
    const std::uint64_t data_begin = header.files.front().data_begin;
    if (data_begin > file.size()) std::abort();
    std::uint64_t end = 0;
    for (const reckon::TensorInfo& tensor : header.tensors) {
      if (tensor.begin < end || tensor.end < tensor.begin || tensor.elements < 1) std::abort();
      end = tensor.end;
    }
    if (end > file.size() - data_begin) std::abort();
    read_inside(header);
  } catch (const reckon::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  must_be_read_or_refused({reinterpret_cast<const std::byte*>(data), size});

  // Once more behind a mark and a version that are right, and with data: a mutated start alone would hide all the rest.
  constexpr std::size_t room = 4096;
  std::vector<std::byte> file(8 + size + room);
  std::memcpy(file.data(), "GGUF\3\0\0\0", 8);
  if (size) std::memcpy(file.data() + 8, data, size);
  must_be_read_or_refused(file);
  return 0;
}
