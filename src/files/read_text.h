// A small file as a string.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace reckon {

// A file longer than `limit` bytes is an error, found without reading the rest. Pipes are fine.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace reckon
