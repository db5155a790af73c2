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

  // Calls take_token(id) for each token of the text, and take_text(part, at_start) for what lies between them. Without
  // `special`, special tokens are ordinary text.
  template <class TakeText, class TakeToken>
  void cut_out(std::string_view text, bool special, TakeText&& take_text, TakeToken&& take_token) const {
    std::size_t begin = 0;
    while (const auto match = find(text, begin, special)) {
      if (match->begin > begin) take_text(text.substr(begin, match->begin - begin), begin == 0);
      take_token(match->id);
      begin = match->end;
    }
    if (begin < text.size()) take_text(text.substr(begin), begin == 0);
  }

 private:
  struct Match {
    std::size_t begin, end;  // with the white space that the token takes
    TokenId id;
  };
  // The first match that begins at or after `from`, the longest there; nothing before `from` is taken.
  std::optional<Match> find(std::string_view text, std::size_t from, bool special) const;
  std::size_t next_start(std::string_view text, std::size_t from) const;

  std::vector<AddedToken> tokens_;               // by first byte, then the longest first
  std::array<std::uint32_t, 257> first_with_{};  // by first byte: where its tokens begin
  int only_start_ = -1;                          // the one first byte of all tokens, if there is only one
};

}  // namespace reckon
