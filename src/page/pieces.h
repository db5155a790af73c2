// Tokens as a person reads them.
#pragma once

#include <cstdint>
#include <span>

#include "page/page.h"
#include "text/tokenizer.h"

namespace reckon::page {

// {id, text, kind}; where its bytes are no whole characters, text is null and `bytes` are their values. Of an id that
// the tokenizer does not have, or without one (nullptr), there are none.
Json piece_of(const Tokenizer* tokenizer, std::int32_t id);
Json pieces_of(const Tokenizer* tokenizer, std::span<const std::int32_t> ids);

}  // namespace reckon::page
