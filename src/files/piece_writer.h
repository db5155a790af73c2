// Writes to a file from its beginning in pieces that begin and end where huge pages do: Linux then caches them in huge
// pages, and who maps the file reads it at the speed of memory from the first time on. What is written in other pieces
// stays in small pages as long as it is cached, of which a Zen 4 reads weights at 60% of that speed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "files/descriptor.h"

namespace reckon {

class PieceWriter {
 public:
  // Both say whether it could be written.
  [[nodiscard]] bool write(int descriptor, std::span<const std::byte> bytes) {
    constexpr std::size_t piece = 2 << 20;
    while (!bytes.empty()) {
      const std::size_t some = std::min(bytes.size(), piece - (written_ + pending_.size()) % piece);
      pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(some));
      bytes = bytes.subspan(some);
      if ((written_ + pending_.size()) % piece == 0 && !flush(descriptor)) return false;
    }
    return true;
  }
  [[nodiscard]] bool flush(int descriptor) {
    const bool written = write_all(descriptor, pending_);
    written_ += pending_.size();
    pending_.clear();
    return written;
  }

 private:
  std::vector<std::byte> pending_;  // what is not in the file yet
  std::size_t written_ = 0;
};

}  // namespace reckon
