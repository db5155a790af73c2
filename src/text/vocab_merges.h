// GPT-2's own format: vocab.json (token to id) and merges.txt (a merge on each line, first rank first). It is always
// byte-level with GPT-2's splitter; <|endoftext|>, where the vocabulary has it, is special.
#pragma once

#include <string>
#include <string_view>

#include "text/spec.h"

namespace reckon {

TokenizerSpec parse_vocab_merges(std::string_view vocab, const std::string& vocab_file, std::string_view merges,
                                 const std::string& merges_file);

}  // namespace reckon
