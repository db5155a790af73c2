// A tokenizer as key-value pairs of a GGUF file: what gguf_tokenizer.h reads, the other way round.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "files/write_gguf.h"
#include "text/spec.h"

namespace reckon {

// With `vocab_size` tokens, those that the tokenizer does not have marked as unused. `bos` and `ends` are the model's
// own ids for the begin and end of a text; of ends, a file has three. An Error says what of the tokenizer such a file
// cannot hold.
std::vector<GgufPair> gguf_tokenizer(const TokenizerSpec& spec, std::int64_t vocab_size, std::optional<TokenId> bos,
                                     const std::vector<TokenId>& ends);

// Of a model without a tokenizer: these ids alone.
std::vector<GgufPair> no_gguf_tokenizer(std::int64_t vocab_size, std::optional<TokenId> bos,
                                        const std::vector<TokenId>& ends);

}  // namespace reckon
