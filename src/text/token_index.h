// From a token's id to its bytes and back: all bytes in one string, a hash table of ids over them.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/checked.h"
#include "text/hash.h"
#include "text/spec.h"

namespace reckon {

class TokenBytes {
 public:
  // Of the next id.
  void add(std::string_view bytes) {
    text_.resize(begin_.back());
    text_ += bytes;
    begin_.push_back(checked_cast<std::uint32_t>(text_.size(), "the length of all tokens"));
    text_.append(readable_behind, '\0');
  }
  // So many bytes behind a token may be read.
  static constexpr std::size_t readable_behind = 16;
  std::string_view operator[](TokenId id) const {
    const auto i = static_cast<std::size_t>(id);
    return {text_.data() + begin_[i], begin_[i + 1] - begin_[i]};
  }
  std::size_t size() const { return begin_.size() - 1; }

 private:
  std::string text_;
  std::vector<std::uint32_t> begin_ = {0};  // one more than there are tokens
};

class TokenIndex {
 public:
  explicit TokenIndex(std::size_t tokens) : slots_(std::bit_ceil(2 * tokens + 2), no_token) {}  // at most so many

  // Gives the next id to these bytes; find() gives the first id that has them and may be found.
  void add(std::string_view bytes, bool may_be_found = true) {
    const auto id = static_cast<TokenId>(bytes_.size());
    bytes_.add(bytes);
    if (!may_be_found) return;
    TokenId& slot = slots_[slot_of(bytes)];
    if (slot == no_token) slot = id;
  }

  TokenId find(std::string_view bytes) const { return slots_[slot_of(bytes)]; }  // no_token if there is none
  const TokenBytes& bytes() const { return bytes_; }

 private:
  // Where these bytes are, or where they would go.
  std::size_t slot_of(std::string_view wanted) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash_bytes(wanted) & mask;
    while (slots_[slot] != no_token && bytes_[slots_[slot]] != wanted) slot = (slot + 1) & mask;
    return slot;
  }

  TokenBytes bytes_;
  std::vector<TokenId> slots_;  // a power of two of them, at most half full
};

}  // namespace reckon
