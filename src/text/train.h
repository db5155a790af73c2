// Training a byte-level BPE tokenizer on text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/spec.h"

namespace reckon {

struct TokenizerTraining {
  std::int64_t vocab_size = 8192;                // special tokens and the 256 bytes included
  std::vector<std::string> special_tokens = {};  // the text is cut at them, and no token goes across
  Splitter splitter = Splitter::gpt2;            // tokens stay within its pieces
  std::int64_t min_frequency = 1;                // a pair that is rarer than this is not merged
  int threads = 1;                               // the result is the same for any number
};

struct TokenizerTrainingProgress {
  enum class Phase { counting, merging } phase;
  std::int64_t done, total;  // bytes counted, tokens made
};
using TokenizerTrainingReport = std::function<void(const TokenizerTrainingProgress&)>;

struct TrainedTokenizer {
  // Ids are those of Hugging Face's BpeTrainer with the byte alphabet: the special tokens in their order, the 256 bytes
  // in the order of their names (the printable ones of Latin-1 first), then what each merge makes, in order.
  TokenizerSpec spec;

  // What it was trained on.
  std::int64_t text_bytes = 0;
  std::int64_t text_tokens = 0;     // the text's length in tokens of this vocabulary, special tokens not counted
  std::int64_t distinct_words = 0;  // different pieces of the splitter
};

// Throws UsageError where they make no sense.
void check_options(const TokenizerTraining& options);

// An empty text is an Error. A text too small for the vocabulary gives a smaller one: spec.tokens.size() < vocab_size.
TrainedTokenizer train_tokenizer(std::span<const std::string_view> texts, const TokenizerTraining& options,
                                 const TokenizerTrainingReport& report = {});

}  // namespace reckon
