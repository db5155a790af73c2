// From ids to text: what each token stands for, found once from the spec's decoders. Bytes that are no valid UTF-8 are
// kept as they are, where other tokenizers write a replacement character.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/spec.h"
#include "text/token_index.h"

namespace reckon {

class Decoding {
 public:
  explicit Decoding(const TokenizerSpec& spec);

  std::size_t size() const { return bytes_.size(); }  // one past the highest id
  std::string_view bytes(TokenId id) const { return bytes_[id]; }
  bool is_special(TokenId id) const { return special_[static_cast<std::size_t>(id)] != 0; }
  void check(TokenId id) const;  // an Error unless it is in the vocabulary

  std::string decode(std::span<const TokenId> ids, bool skip_special) const;

  // What is still to be done at the start of a text.
  struct Start {
    bool first = true;         // no token has come yet
    std::int64_t strip = 0;    // so many Strip contents may still go
  };
  Start start() const { return {true, strip_}; }
  // The bytes that a token adds to a text; it must be checked.
  std::string_view next(TokenId id, Start& state, std::string& scratch) const;

 private:
  TokenBytes bytes_;
  std::vector<char> special_;
  bool joined_by_space_ = false;     // there is no decoder
  bool differs_first_ = false;       // Metaspace: the first token of a text loses its ▁
  TokenBytes first_bytes_;           // then: each token as the first
  std::int64_t strip_ = 0;           // Strip behind Fuse
  std::string strip_content_;
};

}  // namespace reckon
