// Hugging Face's tokenizer.json: a byte-pair encoding with its normalizer, pre-tokenizer, post-processor, decoder and
// added tokens. `truncation` and `padding` say how to batch, not how to tokenize, and are passed over. Any other part
// that is not understood is an Error that names it.
#pragma once

#include <string>
#include <string_view>

#include "text/spec.h"

namespace reckon {

// `file` names the text in errors.
TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& file);

// Throws Error where a token is no UTF-8.
std::string write_tokenizer_json(const TokenizerSpec& spec);

}  // namespace reckon
