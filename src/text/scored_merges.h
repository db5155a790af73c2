// The merges of a vocabulary that has only a score for each token, as SentencePiece's have: any two tokens whose text
// together is a token may be merged, those of the best scores first.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "text/spec.h"

namespace reckon {

struct ScoredToken {
  TokenId id = 0;
  std::string_view text;
  double score = 0;
};

// Every pair, from the first rank on: by score, of equal ones by their place in `tokens`, and of a token by the length
// of its left half. Nothing where there are more than `most`.
std::optional<std::vector<TokenMerge>> scored_merges(std::vector<ScoredToken> tokens, std::size_t most);

}  // namespace reckon
