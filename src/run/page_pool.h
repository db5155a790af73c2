// The pages that the caches of one kind lie in. Memory is reserved once for as many as there may be and touched as they
// are taken; a page that is given back is the next to be taken, so that a process does not grow with the texts it sees.
#pragma once

#include "backend/backend.h"
#include "files/checked.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace reckon {

class PagePool {
 public:
  PagePool(Backend& backend, std::int64_t page_bytes, std::int64_t pages)
      : backend_(backend),
        page_bytes_(page_bytes),
        pages_(pages),
        memory_(backend.allocate(checked_multiply(page_bytes, pages, "the cache"), Fill::nothing)) {}

  std::int64_t page_bytes() const { return page_bytes_; }
  Address place(std::int32_t page, std::int64_t offset = 0) const { return {memory_, page * page_bytes_ + offset}; }
  std::int64_t free() const { return pages_ - taken(); }
  std::int64_t taken() const { return static_cast<std::int64_t>(users_.size() - free_.size()); }
  std::int64_t most_taken() const { return static_cast<std::int64_t>(users_.size()); }

  // There must be one.
  std::int32_t take() {
    if (free_.empty()) {
      users_.push_back(1);
      return static_cast<std::int32_t>(users_.size() - 1);
    }
    const std::int32_t page = free_.back();
    free_.pop_back();
    users_[static_cast<std::size_t>(page)] = 1;
    return page;
  }
  void retain(std::int32_t page) { ++users_[static_cast<std::size_t>(page)]; }
  void release(std::int32_t page) {
    if (--users_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
  }
  bool shared(std::int32_t page) const { return users_[static_cast<std::size_t>(page)] > 1; }
  void copy(std::int32_t from, std::int32_t to) { backend_.copy(place(from), place(to), page_bytes_); }

 private:
  Backend& backend_;
  std::int64_t page_bytes_, pages_;
  std::shared_ptr<Buffer> memory_;
  std::vector<std::int32_t> users_;  // of each page that was ever taken
  std::vector<std::int32_t> free_;
};

}  // namespace reckon
