// The formats of OpenAI's vocabularies, which are always byte-level: tiktoken's rank files, and GPT-2's vocab.json with
// merges.txt.
#pragma once

#include <array>
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
// Those whose ranks scripts/fetch-tokenizers puts into the data folder: they can be named.
inline constexpr std::array<std::string_view, 3> fetched_encodings = {"gpt2", "cl100k_base", "o200k_base"};

// A rank file has a line for each token: its bytes in base64 and its rank, which is also its id. It has neither special
// tokens nor the splitter: those come with the encoding's name. `file` names it in errors.
TokenizerSpec parse_ranks(std::string_view text, const std::string& file, const RankedEncoding& encoding);

// vocab.json has token and id, merges.txt a merge on each line, first rank first. The splitter is GPT-2's;
// <|endoftext|>, where the vocabulary has it, is special.
TokenizerSpec parse_vocab_merges(std::string_view vocab, const std::string& vocab_file, std::string_view merges,
                                 const std::string& merges_file);

// The 256 bytes themselves, id by value: a tokenizer without a file.
TokenizerSpec byte_tokenizer();

}  // namespace reckon
