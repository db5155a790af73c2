#include "text/train.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <limits>
#include <map>
#include <optional>
#include <set>

#include "files/quote.h"
#include "text/byte_level.h"
#include "text/learn_merges.h"
#include "text/utf8.h"
#include "text/word_counts.h"

namespace reckon {
namespace {

constexpr std::int64_t n_bytes = 256;
constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max();

// Tokens share one space of names, so what a special token is called no merge may make: "Ġthe" is the name of " the".
std::set<std::string> bytes_named_by(const std::vector<std::string>& special_tokens) {
  std::set<std::string> taken;
  for (const std::string& token : special_tokens) {
    const std::optional<std::string> bytes = byte_level_bytes(token);
    if (bytes && bytes->size() == 1) {
      throw UsageError(fmt::format("the special token {} is the name of a byte; expected a longer text", quote(token)));
    }
    if (bytes) taken.insert(*bytes);
  }
  return taken;
}

// From symbols, in the order they came to be, to a vocabulary; see TrainedTokenizer::spec.
TokenizerSpec spec_of(const TokenizerTraining& options, std::span<const SymbolPair> merges) {
  TokenizerSpec spec;
  for (const std::string& token : options.special_tokens) {
    spec.added_tokens.push_back({.id = static_cast<TokenId>(spec.tokens.size()), .content = token});
    spec.tokens.push_back(token);
  }
  std::map<std::string, std::size_t> bytes;  // by name
  for (std::size_t byte = 0; byte < n_bytes; ++byte) {
    bytes.emplace(byte_level_text(std::string(1, static_cast<char>(byte))), byte);
  }
  std::vector<std::size_t> ids(n_bytes);  // of each symbol
  for (const auto& [name, byte] : bytes) {
    ids[byte] = spec.tokens.size();
    spec.tokens.push_back(name);
  }
  for (const auto& [left, right] : merges) {
    spec.merges.push_back(
        {static_cast<TokenId>(ids[left]), static_cast<TokenId>(ids[right]), static_cast<TokenId>(spec.tokens.size())});
    spec.tokens.push_back(spec.tokens[ids[left]] + spec.tokens[ids[right]]);
    ids.push_back(spec.tokens.size() - 1);
  }
  set_byte_level(spec, options.splitter);
  return spec;
}

}  // namespace

void check_options(const TokenizerTraining& options) {
  std::set<std::string_view> seen;
  for (const std::string& token : options.special_tokens) {
    if (token.empty()) throw UsageError("a special token is empty; expected some text");
    if (!is_utf8(token)) throw UsageError(fmt::format("the special token {} is not valid UTF-8", quote(token)));
    if (!seen.insert(token).second) throw UsageError(fmt::format("the special token {} is given twice", quote(token)));
  }
  (void)bytes_named_by(options.special_tokens);
  const std::int64_t least = n_bytes + std::ssize(options.special_tokens);
  if (options.vocab_size < least || options.vocab_size > most_tokens) {
    throw UsageError(
        fmt::format("the vocabulary size is {}; expected {} to {}: 256 bytes, {} special tokens, and room for merges",
                    options.vocab_size, least, most_tokens, options.special_tokens.size()));
  }
  if (options.threads < 1) throw UsageError(fmt::format("`threads` is {}; expected 1 or more", options.threads));
}

TrainedTokenizer train_tokenizer(std::span<const std::string_view> texts, const TokenizerTraining& options,
                                 const TokenizerTrainingReport& report) {
  check_options(options);
  TrainedTokenizer trained;
  for (const std::string_view text : texts) trained.text_bytes += std::ssize(text);
  if (trained.text_bytes == 0) throw Error("the text is empty; expected something to train on");
  const std::int64_t first_merge = std::ssize(options.special_tokens) + n_bytes;
  MergeRules rules{options.vocab_size - first_merge, options.min_frequency, bytes_named_by(options.special_tokens)};
  const auto tell = [&](TokenizerTrainingProgress::Phase phase, std::int64_t done, std::int64_t total) {
    if (report) report({phase, done, total});
  };

  std::vector<Word> distinct = count_words(
      texts, options.splitter, options.special_tokens, options.threads,
      [&](std::int64_t bytes) { tell(TokenizerTrainingProgress::Phase::counting, bytes, trained.text_bytes); });
  tell(TokenizerTrainingProgress::Phase::counting, trained.text_bytes, trained.text_bytes);
  trained.distinct_words = std::ssize(distinct);
  const LearnedMerges learned = learn_merges(std::move(distinct), rules, [&](std::int64_t merges) {
    tell(TokenizerTrainingProgress::Phase::merging, first_merge + merges, options.vocab_size);
  });
  trained.text_tokens = learned.symbols;
  tell(TokenizerTrainingProgress::Phase::merging, first_merge + std::ssize(learned.merges), options.vocab_size);

  trained.spec = spec_of(options, learned.merges);
  return trained;
}

}  // namespace reckon
