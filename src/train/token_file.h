// A token file: the ids of a text, as training reads them. A header of 64 bytes, then the ids; all little-endian.
//   0  "RCKNTOKS"
//   8  uint32  version, 1
//  12  uint32  bytes of an id, 2 or 4
//  16  uint64  vocabulary size; every id is below it
//  24  uint64  number of ids
//  32  uint64  hash of the tokenizer (0: not known)
//  40  24 bytes of zeros
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "files/atomic_write.h"
#include "files/mapped_file.h"

namespace reckon {

// Ids take 2 bytes each where the vocabulary has 65,536 tokens or fewer. The file appears with commit().
class TokenFileWriter {
 public:
  TokenFileWriter(const std::filesystem::path& path, std::int64_t vocab_size, std::uint64_t tokenizer_hash = 0);
  void add(std::span<const std::int32_t> ids);  // an id outside the vocabulary is an Error
  void commit();

 private:
  std::filesystem::path path_;
  AtomicFile file_;
  std::int64_t vocab_size_, count_ = 0;
  std::uint64_t tokenizer_hash_;
  std::vector<std::byte> buffer_;
};

// Mapped, so that its size is no matter. A file that is cut, or is none of these, is an Error.
class TokenFile {
 public:
  explicit TokenFile(const std::filesystem::path& path);

  std::int64_t size() const { return count_; }
  std::int64_t vocab_size() const { return vocab_size_; }
  std::uint64_t tokenizer_hash() const { return tokenizer_hash_; }

  // The ids from `first` on. A place past the end, or an id past the vocabulary, is an Error.
  void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::int64_t count_ = 0, vocab_size_ = 0;
  std::uint32_t width_ = 0;  // bytes of an id
  std::uint64_t tokenizer_hash_ = 0;
};

// Whether the file begins as a token file does.
bool is_token_file(const std::filesystem::path& path);

}  // namespace reckon
