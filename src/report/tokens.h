// The tokens of a text: their pieces in colours, one by one, and counted by kind; and what training a tokenizer gave.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/document.h"
#include "text/tokenizer.h"
#include "text/train.h"

namespace reckon {

struct TokensView {
  bool pieces = false;  // each token with its id and bytes; in JSON {"ids": […], "pieces": […]}
  bool counts = false;  // how many, of which kind; in JSON {"statistics": {…}}
  bool color = false;   // the pieces side by side, in colours rather than between bars
};
// `bytes` is the length of the text.
Document tokens_document(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::size_t bytes,
                         const TokensView& view);

// Puts the tokens of a prompt, their pieces beside their ids, in front of a report; in JSON under "prompt".
void add_prompt(Document& document, const Tokenizer& tokenizer, const std::string& prompt,
                std::span<const TokenId> ids);

struct TrainedReport {
  std::string file;              // that was written
  std::int64_t vocab_asked = 0;  // more than there are tokens: the text was too small
  double seconds = 0;
};
Document trained_tokenizer_document(const TrainedTokenizer& trained, const TrainedReport& report);

}  // namespace reckon
