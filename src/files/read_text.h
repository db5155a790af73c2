// A small file as a string.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace reckon {

// A file longer than `limit` bytes is an error, found without reading the rest. Pipes are fine. `check` is given what
// has been read so far, piece by piece, and may throw.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit,
                      const std::function<void(std::string_view)>& check = {});

// The first `count` bytes of a file, or all where it has fewer; nothing where it cannot be read, and errno says why.
std::optional<std::string> read_start(const std::filesystem::path& path, std::size_t count);

}  // namespace reckon
