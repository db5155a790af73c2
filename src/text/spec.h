// What a tokenizer is, as plain data: the parts of a Hugging Face tokenizer.json, under its names. Files of every
// format are read into this, and a Tokenizer is made of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/split.h"

namespace reckon {

using TokenId = std::int32_t;
inline constexpr TokenId no_token = -1;

// A token that is found in the text as it stands, before anything else is done to it.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = true;       // no text of the user's: left out when decoding without special tokens
  bool single_word = false;  // only where no word character stands beside it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = false;   // looked for in the normalized text
};

// Normalizers, applied to the text between non-normalized added tokens.
struct Prepend {
  std::string text;
};
struct Replace {  // also a decoder
  std::string from, to;
};
struct Nfc {};  // Unicode's canonical composition
using Normalizer = std::variant<Prepend, Replace, Nfc>;

// Pre-tokenizers, each applied to the pieces of the one before it.
struct RegexSplit {
  Splitter splitter = Splitter::gpt2;
};
struct TextSplit {
  enum class Behavior { removed, isolated, merged_with_previous, merged_with_next };
  std::string text;
  Behavior behavior = Behavior::isolated;
};
struct ByteLevel {
  bool add_prefix_space = false;
  bool use_regex = true;  // GPT-2's splitter
};
struct Metaspace {  // also a decoder
  enum class Prepending { first, always, never };
  std::string replacement = "▁";
  Prepending prepending = Prepending::always;
  bool split = true;
};
// Behind ByteLevel, what is a number is asked of the characters that stand for bytes: ² for byte B2, a part of ò, too.
struct Digits {
  bool individual = false;
};
struct Punctuation {  // \p{P} and the signs of ASCII: runs of them (contiguous), or each
  bool contiguous = false;
};
using PreTokenizer = std::variant<RegexSplit, TextSplit, ByteLevel, Metaspace, Digits, Punctuation>;

// Decoders, applied to the list of tokens; those behind Fuse see the whole text.
struct ByteLevelDecoder {};
struct ByteFallback {};
struct Fuse {};
struct Strip {
  std::string content = " ";         // one character
  std::int64_t start = 0, stop = 0;  // at most so many of it go
};
using Decoder = std::variant<Replace, Metaspace, ByteLevelDecoder, ByteFallback, Fuse, Strip>;

// left and right become product; the place in the list is the rank, and the lowest goes first.
struct TokenMerge {
  TokenId left = 0, right = 0, product = 0;
};

struct TokenizerSpec {
  // The model's vocabulary by id, as tokenizer.json writes it (byte-level tokens in GPT-2's printable alphabet). An id
  // that only an added token has is empty here.
  std::vector<std::string> tokens;
  std::vector<TokenMerge> merges;
  std::string unk_token;       // empty: none
  bool fuse_unk = false;       // unknown characters side by side become one unk_token
  bool byte_fallback = false;  // unknown characters become <0x00> … <0xFF>, where the vocabulary has them
  bool ignore_merges = false;  // a piece that is a token stays whole

  std::vector<AddedToken> added_tokens;
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  std::vector<Decoder> decoders;
  std::vector<TokenId> before, after;  // what the post-processor puts around a text
};

// Whether the pieces are merged from bytes rather than from characters.
inline bool is_byte_level(const TokenizerSpec& spec) {
  return std::any_of(spec.pre_tokenizers.begin(), spec.pre_tokenizers.end(),
                     [](const PreTokenizer& step) { return std::holds_alternative<ByteLevel>(step); });
}

// With `from` replaced by `to` everywhere.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string_view::npos; at = found + from.size()) {
    result.append(text, at, found - at).append(to);
  }
  return result.append(text, at);
}

// Makes the pieces those of this splitter, merged from bytes. GPT-2's splitter is built into ByteLevel.
inline void set_byte_level(TokenizerSpec& spec, Splitter splitter) {
  const bool built_in = splitter == Splitter::gpt2;
  if (!built_in) spec.pre_tokenizers.emplace_back(RegexSplit{splitter});
  spec.pre_tokenizers.emplace_back(ByteLevel{.add_prefix_space = false, .use_regex = built_in});
  spec.decoders.emplace_back(ByteLevelDecoder{});
}

}  // namespace reckon
