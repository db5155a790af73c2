#include "train/file_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "files/mapped_file.h"
#include "files/random.h"

namespace reckon {

std::string hash_of_bytes(std::span<const std::byte> bytes) {
  std::uint64_t chains[4] = {1, 2, 3, 4};
  const auto word_at = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    return word;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (std::size_t k = 0; k < 4; ++k) chains[k] = mixed(chains[k] ^ word_at(at + 8 * k));
  }
  for (std::size_t k = 0; at < bytes.size(); at += 8, ++k) chains[k] = mixed(chains[k] ^ word_at(at));
  std::uint64_t hash = bytes.size();
  for (std::uint64_t chain : chains) hash = mixed(hash ^ chain);
  return fmt::format("{:016x}", hash);
}

std::string hash_of_file(const std::filesystem::path& path) { return hash_of_bytes(MappedFile(path).bytes()); }

}  // namespace reckon
