// A hash that is the same everywhere and may be stored: FNV-1a, 64 bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace reckon {

constexpr std::uint64_t stable_hash(std::string_view bytes, std::uint64_t hash = 0xCBF29CE484222325u) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  return hash;
}

}  // namespace reckon
