// The pages that the caches of one kind lie in. Memory is reserved once for as many as there may be and touched as they
// are taken; a page that is given back is the next to be taken, so that a process does not grow with the texts it sees.
#pragma once

#include "files/checked.h"
#include "files/machine_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace reckon {

class PagePool {
 public:
  PagePool(std::int64_t page_bytes, std::int64_t pages)
      : page_bytes_(page_bytes),
        pages_(pages),
        memory_(static_cast<std::byte*>(::operator new[](size(), std::align_val_t(alignment)))) {
    want_huge_pages(memory_.get(), size());
  }

  std::int64_t page_bytes() const { return page_bytes_; }
  std::byte* data() const { return memory_.get(); }
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
  void copy(std::int32_t from, std::int32_t to) {
    std::copy_n(data() + from * page_bytes_, page_bytes_, data() + to * page_bytes_);
  }

 private:
  static constexpr std::size_t alignment = std::size_t{1} << 21;  // a huge page
  std::size_t size() const { return memory_size(checked_multiply(page_bytes_, pages_, "the cache"), "the cache"); }
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t(alignment)); }
  };
  std::int64_t page_bytes_, pages_;
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<std::int32_t> users_;  // of each page that was ever taken
  std::vector<std::int32_t> free_;
};

}  // namespace reckon
