// Vocabulary and merges as files list them, checked and turned into a spec's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/spec.h"

namespace reckon {

struct ListedVocabulary {
  std::string file;  // in errors
  std::vector<std::pair<std::string, std::int64_t>> tokens;
  std::vector<std::pair<std::string, std::string>> merges;  // from the first rank on
  std::vector<TokenMerge> merges_of_ids;                    // …or, where a file has no list, by the ids of the tokens
};

// Fills tokens and merges. Needs the spec's added tokens, which may fill gaps in the ids and are checked against them.
void set_vocabulary(ListedVocabulary listed, TokenizerSpec& spec);

}  // namespace reckon
