#include "train/token_file.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "files/numbers.h"
#include "files/read_text.h"

namespace reckon {
namespace {

constexpr std::string_view magic = "RCKNTOKS";
constexpr std::size_t header_size = 64;
constexpr std::uint32_t file_version = 1;
constexpr std::int64_t most_in_two_bytes = 65536;

template <class Integer>
void put(std::byte* at, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

template <class Integer>
Integer get(const std::byte* at) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<Integer>(static_cast<Integer>(at[i]) << (8 * i));
  return value;
}

std::uint32_t width_of(std::int64_t vocab_size) { return vocab_size <= most_in_two_bytes ? 2 : 4; }

}  // namespace

TokenFileWriter::TokenFileWriter(const std::filesystem::path& path, std::int64_t vocab_size,
                                 std::uint64_t tokenizer_hash)
    : path_(path), file_(path), vocab_size_(vocab_size), tokenizer_hash_(tokenizer_hash) {
  if (vocab_size < 1 || vocab_size > std::numeric_limits<std::int32_t>::max()) {
    throw Error(fmt::format("{}: the vocabulary size is {}; expected 1 to {}", path.string(), vocab_size,
                            std::numeric_limits<std::int32_t>::max()));
  }
  const std::array<std::byte, header_size> header{};  // until all is known
  file_.write(header);
}

void TokenFileWriter::add(std::span<const std::int32_t> ids) {
  constexpr std::size_t at_once = 1 << 16;
  const std::uint32_t width = width_of(vocab_size_);
  for (; !ids.empty(); ids = ids.subspan(std::min(at_once, ids.size()))) {
    const std::span<const std::int32_t> part = ids.first(std::min(at_once, ids.size()));
    buffer_.resize(part.size() * width);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] < 0 || part[i] >= vocab_size_) {
        throw Error(fmt::format("{}: token {} has id {}; expected 0 to {}", path_.string(),
                                count_ + static_cast<std::int64_t>(i), part[i], vocab_size_ - 1));
      }
      std::byte* at = buffer_.data() + i * width;
      width == 2 ? put(at, static_cast<std::uint16_t>(part[i])) : put(at, static_cast<std::uint32_t>(part[i]));
    }
    file_.write(buffer_);
    count_ += std::ssize(part);
  }
}

void TokenFileWriter::commit() {
  std::array<std::byte, header_size> header{};
  std::memcpy(header.data(), magic.data(), magic.size());
  put(&header[8], file_version);
  put(&header[12], width_of(vocab_size_));
  put(&header[16], static_cast<std::uint64_t>(vocab_size_));
  put(&header[24], static_cast<std::uint64_t>(count_));
  put(&header[32], tokenizer_hash_);
  file_.write_at(0, header);
  file_.commit();
}

TokenFile::TokenFile(const std::filesystem::path& path) : path_(path), file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  const auto refuse = [&](const std::string& what) { throw Error(fmt::format("{}: {}", path.string(), what)); };
  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
    refuse(fmt::format("does not begin with {}; expected a token file", magic));
  }
  if (bytes.size() < header_size) {
    refuse(fmt::format("ends within its header: it has {} bytes; expected {} or more", grouped(bytes.size()),
                       header_size));
  }
  if (const auto found = get<std::uint32_t>(&bytes[8]); found != file_version) {
    refuse(fmt::format("is a token file of version {}; expected {}", found, file_version));
  }
  width_ = get<std::uint32_t>(&bytes[12]);
  if (width_ != 2 && width_ != 4) refuse(fmt::format("has ids of {} bytes; expected 2 or 4", width_));
  const auto vocab_size = get<std::uint64_t>(&bytes[16]);
  if (vocab_size < 1 || vocab_size > std::numeric_limits<std::int32_t>::max()) {
    refuse(fmt::format("has a vocabulary of {} tokens; expected 1 to {}", grouped(vocab_size),
                       grouped(std::numeric_limits<std::int32_t>::max())));
  }
  const auto count = get<std::uint64_t>(&bytes[24]);
  const std::size_t data = bytes.size() - header_size;
  if (data % width_ != 0 || data / width_ != count) {
    refuse(fmt::format("has {} bytes of ids; expected {} ids of {} bytes, as its header says", grouped(data),
                       grouped(count), width_));
  }
  vocab_size_ = static_cast<std::int64_t>(vocab_size);
  count_ = static_cast<std::int64_t>(count);
  tokenizer_hash_ = get<std::uint64_t>(&bytes[32]);
}

void TokenFile::copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  if (first < 0 || count < 0 || first > count_ || count > count_ - first) {
    throw Error(fmt::format("{}: tokens {} to {} are asked for; it has {}", path_.string(), grouped(first),
                            grouped(first + count - 1), grouped(count_)));
  }
  const std::byte* at = file_.bytes().data() + header_size + static_cast<std::size_t>(first) * width_;
  const auto limit = static_cast<std::uint32_t>(vocab_size_);
  std::uint32_t highest = 0;
  for (std::int64_t i = 0; i < count; ++i, at += width_) {
    const std::uint32_t id = width_ == 2 ? get<std::uint16_t>(at) : get<std::uint32_t>(at);
    highest = std::max(highest, id);
    out[i] = static_cast<std::int32_t>(id);
  }
  if (highest < limit) return;
  const std::int64_t wrong =
      std::find_if(out, out + count, [&](std::int32_t id) { return static_cast<std::uint32_t>(id) >= limit; }) - out;
  throw Error(fmt::format("{}: token {} has id {}, past its vocabulary of {} tokens", path_.string(),
                          grouped(first + wrong), static_cast<std::uint32_t>(out[wrong]), grouped(vocab_size_)));
}

bool is_token_file(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  return read_start(path, magic.size()) == magic;
}

}  // namespace reckon
