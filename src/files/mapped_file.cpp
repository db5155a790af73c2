#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "files/checked.h"
#include "files/descriptor.h"
#include "files/machine_memory.h"

namespace reckon {

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must fail below, not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw file_error(path, "cannot be opened");
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw file_error(path, "cannot be opened");
  if (!S_ISREG(status.st_mode)) throw Error(path.string() + ": is not a regular file, so it cannot be mapped");
  if (status.st_size == 0) return;  // mmap refuses an empty range
  const auto size = memory_size(status.st_size, "the size of " + path.string());
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED) throw file_error(path, "cannot be mapped");
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::expect_all() const {
  if (bytes_.empty()) return;
  void* const begin = const_cast<std::byte*>(bytes_.data());
  want_huge_pages(begin, bytes_.size());
#ifdef MADV_POPULATE_READ  // advice only: an older kernel that does not know it goes on page by page
  ::madvise(begin, bytes_.size(), MADV_POPULATE_READ);
#endif
}

}  // namespace reckon
