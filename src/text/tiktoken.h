// Rank files of tiktoken: a line for each token, its bytes in base64 and its rank, which is also its id. The file has
// neither special tokens nor the splitter: those come with the encoding's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/spec.h"

namespace reckon {

// What a published encoding has beside its ranks.
struct RankedEncoding {
  std::string_view name;  // "cl100k_base"
  Splitter splitter;
  std::vector<AddedToken> special;
};
// Nothing for an unknown name.
std::optional<RankedEncoding> ranked_encoding(std::string_view name);
std::string ranked_encoding_names();  // "gpt2 r50k_base …", for an error

TokenizerSpec parse_ranks(std::string_view text, const std::string& file, const RankedEncoding& encoding);

// The 256 bytes themselves, id by value: a tokenizer without a file.
TokenizerSpec byte_tokenizer();

}  // namespace reckon
