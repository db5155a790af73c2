// A splitter's state machine and the expressions that it stands for; for split.cpp and split_matches.cpp.
#pragma once

#include <span>
#include <string_view>

#include "text/split.h"
#include "text/utf8.h"

namespace reckon {

struct SplitRule {
  PieceEnd end;
  std::span<const std::string_view> patterns;
};

// Of a splitter that matches parts of a text.
SplitRule match_rule(Splitter splitter);

// `class+` from `at`, which may match nothing.
inline const char* run_of(CharClasses set, const char* at, const char* end) {
  while (at != end) {
    const SplitChar c = split_char(at, end);
    if (!is_in(c.kind, set)) break;
    at = c.next;
  }
  return at;
}

// \s+(?!\S)|\s+ : a run of white space leaves its last character to the word that follows. With `newlines_first`
// (\s*[\r\n]+ stands before) it ends behind its last line break instead.
const char* white_space_end(const char* begin, const char* end, bool newlines_first);

}  // namespace reckon
