// A tokenizer: text to ids and back. Immutable, cheap to copy, safe to use from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/decoding.h"
#include "text/spec.h"

namespace reckon {

struct EncodeOptions {
  bool add_special = true;   // adds the special tokens that the post-processor asks for, <s> say
  bool special_text = true;  // the text "<s>" is that special token; otherwise it is ordinary characters
};

class Pool;

class Tokenizer {
 public:
  // Throws an Error if the parts do not fit together.
  explicit Tokenizer(TokenizerSpec spec);

  // With a pool, its threads share out the parts of a long text; the ids are the same.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}, Pool* pool = nullptr) const;

  // Any bytes; an id that is not in the vocabulary is an Error.
  std::string decode(std::span<const TokenId> ids, bool skip_special = false) const;

  // What each of them adds to the text, one after the other: together decode(ids).
  std::vector<std::string> decode_each(std::span<const TokenId> ids) const;

  std::size_t size() const;                  // one past the highest id
  std::string_view bytes(TokenId id) const;  // what the token adds to a text
  bool is_special(TokenId id) const;
  const TokenizerSpec& spec() const;

 private:
  friend class StreamDecoder;
  struct State;
  std::shared_ptr<State> state_;
};

// The first id that stands for different texts in both, of those that both have text for: one of them may have filled a
// vocabulary up. Nothing where there is none.
std::optional<TokenId> first_difference(const Tokenizer& one, const Tokenizer& other);

// Decodes ids one by one, for a screen: gives only whole UTF-8 characters, and nothing of special tokens.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer);
  std::string add(TokenId id);  // the text that is complete now; may be empty
  std::string finish();         // what was held back; starts anew

 private:
  Tokenizer tokenizer_;
  Decoding::Start start_;
  std::string held_;
};

}  // namespace reckon
