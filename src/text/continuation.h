// The text that a model adds to a prompt, token by token, up to a stop string.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer.h"

namespace reckon {

class ContinuationText {
 public:
  // The first of `stops` to come ends the text and is no part of it. They are looked for in the new text alone.
  ContinuationText(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::vector<std::string> stops = {});

  std::string add(TokenId id);  // the text that is certain now: whole characters that cannot begin a stop string
  std::string finish();         // what was held back
  bool stopped() const { return stopped_; }

 private:
  std::string certain(std::string text);

  StreamDecoder decoder_;
  std::size_t tokens_;
  std::vector<std::string> stops_;  // none is empty
  std::string held_;
  bool stopped_ = false;
};

std::string continuation_text(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::span<const TokenId> ids,
                              const std::vector<std::string>& stops = {});

}  // namespace reckon
