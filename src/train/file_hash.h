// A 64-bit hash of a file's bytes: finds damage, not forgery.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace reckon {

// 16 hexadecimal digits. Four chains of SplitMix64 over the little-endian words of 8 bytes in turn (the last one filled
// up with zeros), then over the four chains and the length.
std::string hash_of_bytes(std::span<const std::byte> bytes);
std::string hash_of_file(const std::filesystem::path& path);

}  // namespace reckon
