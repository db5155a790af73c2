// Added tokens in a text: found as they stand, before the text is cut and merged.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "text/spec.h"

namespace reckon {

class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  struct Match {
    std::size_t begin, end;  // with the white space that the token takes
    TokenId id;
  };
  // The first match that begins at or after `from`, the longest there; nothing before `from` is taken.
  // Without `special`, special tokens are ordinary text.
  std::optional<Match> find(std::string_view text, std::size_t from, bool special) const;

 private:
  std::size_t next_start(std::string_view text, std::size_t from) const;

  std::vector<AddedToken> tokens_;                   // by first byte, then the longest first
  std::array<std::uint32_t, 257> first_with_{};      // by first byte: where its tokens begin
  int only_start_ = -1;                              // the one first byte of all tokens, if there is only one
};

}  // namespace reckon
