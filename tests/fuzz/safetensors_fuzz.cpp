// Any bytes at all as a safetensors file: it must be read or refused with reckon::Error, and what is read must be
// sound. Build and run from the top folder:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude -Isrc \
//     tests/fuzz/safetensors_fuzz.cpp src/files/*.cpp -lfmt -o safetensors_fuzz
//   mkdir corpus; ./safetensors_fuzz -max_total_time=300 -max_len=4096 corpus
#include <reckon/error.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "files/safetensors.h"

namespace {

void must_be_read_or_refused(std::span<const std::byte> file) {
  try {
    const reckon::TensorFile header = reckon::parse_safetensors("fuzz", file, file.size());
    std::uint64_t end = 0;
    for (const reckon::TensorInfo& tensor : header.tensors) {
      if (tensor.begin != end || tensor.elements < 0) std::abort();
      end = tensor.end;
    }
    if (header.files.front().data_begin + end != file.size()) std::abort();
  } catch (const reckon::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  must_be_read_or_refused({reinterpret_cast<const std::byte*>(data), size});

  // Once more with the length that fits, up to the first line feed: a mutated length alone would hide all the rest.
  std::vector<std::byte> file(8 + size);
  if (size) std::memcpy(file.data() + 8, data, size);
  std::uint64_t length = 0;
  while (length < size && data[length] != '\n') ++length;
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<std::byte>(length >> (8 * i));
  must_be_read_or_refused(file);
  return 0;
}
