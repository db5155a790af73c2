#include "text/tiktoken.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <array>
#include <charconv>

#include "files/numbers.h"
#include "files/quote.h"
#include "text/byte_level.h"
#include "text/merges.h"
#include "text/token_index.h"

namespace reckon {
namespace {

AddedToken special_token(TokenId id, const char* content) { return {id, content, true, false, false, false, false}; }

// As tiktoken's own table of encodings (openai_public.py) has them.
std::vector<RankedEncoding> encodings() {
  return {
      {"gpt2", Splitter::gpt2, {special_token(50256, "<|endoftext|>")}},
      {"r50k_base", Splitter::gpt2, {special_token(50256, "<|endoftext|>")}},
      {"p50k_base", Splitter::gpt2, {special_token(50256, "<|endoftext|>")}},
      {"cl100k_base",
       Splitter::cl100k,
       {special_token(100257, "<|endoftext|>"), special_token(100258, "<|fim_prefix|>"),
        special_token(100259, "<|fim_middle|>"), special_token(100260, "<|fim_suffix|>"),
        special_token(100276, "<|endofprompt|>")}},
      {"o200k_base",
       Splitter::o200k,
       {special_token(199999, "<|endoftext|>"), special_token(200018, "<|endofprompt|>")}},
  };
}

constexpr std::array<std::int8_t, 256> base64_values = [] {
  std::array<std::int8_t, 256> values{};
  for (auto& value : values) value = -1;
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < digits.size(); ++i)
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
  return values;
}();

std::optional<std::string> base64_bytes(std::string_view text) {
  std::string bytes;
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  unsigned bits = 0, value = 0;
  for (const char c : text) {
    const auto digit = base64_values[static_cast<unsigned char>(c)];
    if (digit < 0) return std::nullopt;
    value = value << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(value >> (bits -= 8));
  }
  return bytes;
}

// Calls take(number, bytes, rank) for each line.
template <class Take>
void each_line(std::string_view text, const std::string& file, Take&& take) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    const auto bytes = base64_bytes(line.substr(0, space));
    TokenId rank = 0;
    const std::string_view digits = space == std::string_view::npos ? "" : line.substr(space + 1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (!bytes || bytes->empty() || error != std::errc() || stop != digits.data() + digits.size() || rank < 0) {
      throw Error(fmt::format("{}: line {} is {}; expected a token in base64, a space and its rank", file, number,
                              quote(line)));
    }
    take(number, *bytes, rank);
  }
}

// Every pair of tokens that makes a token, in order of the token's rank. Those that never come up go.
std::vector<TokenMerge> merges_of(const TokenIndex& index) {
  std::vector<TokenMerge> all;
  const auto size = static_cast<TokenId>(index.bytes().size());
  for (TokenId product = 0; product < size; ++product) {
    const std::string_view bytes = index.bytes()[product];
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const TokenId left = index.find(bytes.substr(0, cut));
      const TokenId right = left == no_token ? no_token : index.find(bytes.substr(cut));
      if (right != no_token) all.push_back({left, right, product});
    }
  }
  const auto append_bytes = [&](TokenId token, std::vector<TokenId>& out) {
    for (const char& byte : index.bytes()[token]) out.push_back(index.find({&byte, 1}));
  };
  return essential_merges(all, index.bytes().size(), append_bytes);
}

}  // namespace

std::optional<RankedEncoding> ranked_encoding(std::string_view name) {
  for (RankedEncoding& encoding : encodings()) {
    if (encoding.name == name) return std::move(encoding);
  }
  return std::nullopt;
}

std::string ranked_encoding_names() {
  std::string names;
  for (const RankedEncoding& encoding : encodings()) names += (names.empty() ? "" : " ") + std::string(encoding.name);
  return names;
}

TokenizerSpec parse_ranks(std::string_view text, const std::string& file, const RankedEncoding& encoding) {
  constexpr std::size_t longest_token = 4096;  // all its cuts are looked at
  std::vector<std::string> tokens;
  std::size_t lines = 0;
  each_line(text, file, [&](std::size_t, const std::string&, TokenId) { ++lines; });
  each_line(text, file, [&](std::size_t number, const std::string& bytes, TokenId rank) {
    const auto id = static_cast<std::size_t>(rank);
    // p50k_base leaves one rank to its special token.
    if (id >= lines + encoding.special.size()) {
      throw Error(fmt::format("{}: line {} has rank {} in a file of {} tokens", file, number, rank, grouped(lines)));
    }
    if (id >= tokens.size()) tokens.resize(id + 1);
    if (!tokens[id].empty())
      throw Error(fmt::format("{}: line {} has rank {}, which another line has too", file, number, rank));
    if (bytes.size() > longest_token)
      throw Error(fmt::format("{}: line {} has a token of {} bytes", file, number, bytes.size()));
    tokens[id] = bytes;
  });
  TokenIndex index(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    bool is_special = false;
    for (const AddedToken& token : encoding.special)
      is_special = is_special || static_cast<std::size_t>(token.id) == id;
    if (tokens[id].empty() && !is_special) throw Error(fmt::format("{}: rank {} is missing", file, id));
    if (!tokens[id].empty() && index.find(tokens[id]) != no_token) {
      throw Error(
          fmt::format("{}: token {} has two ranks, {} and {}", file, quote(tokens[id]), index.find(tokens[id]), id));
    }
    index.add(tokens[id], !tokens[id].empty());
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char single = static_cast<char>(byte);
    if (index.find({&single, 1}) == no_token) throw Error(fmt::format("{}: byte {} has no rank", file, byte));
  }

  TokenizerSpec spec;
  for (const std::string& bytes : tokens) spec.tokens.push_back(byte_level_text(bytes));
  spec.merges = merges_of(index);
  spec.ignore_merges = true;  // tiktoken looks for the whole piece first
  spec.added_tokens = encoding.special;
  if (encoding.splitter != Splitter::gpt2) spec.pre_tokenizers.emplace_back(RegexSplit{encoding.splitter});
  spec.pre_tokenizers.emplace_back(ByteLevel{false, encoding.splitter == Splitter::gpt2});
  spec.decoders.emplace_back(ByteLevelDecoder{});
  return spec;
}

TokenizerSpec byte_tokenizer() {
  TokenizerSpec spec;
  for (unsigned byte = 0; byte < 256; ++byte)
    spec.tokens.push_back(byte_level_text(std::string(1, static_cast<char>(byte))));
  spec.pre_tokenizers.emplace_back(ByteLevel{false, false});
  spec.decoders.emplace_back(ByteLevelDecoder{});
  return spec;
}

}  // namespace reckon
