// Writing a file so that a reader sees the old text or the new, never a part.
#pragma once

#include <filesystem>
#include <string_view>

namespace reckon {

// Writes beside the target, syncs, and renames; on any failure the old file stays and nothing is left behind.
// A target that is no regular file (a terminal, a pipe, /dev/null) is written to directly.
void atomic_write(const std::filesystem::path& target, std::string_view text);

// An Error where atomic_write() would fail, but for a disk that is full by then.
void check_writable(const std::filesystem::path& target);

}  // namespace reckon
