#include "text/openai_formats.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <charconv>

#include "files/numbers.h"
#include "files/quote.h"
#include "text/byte_level.h"
#include "text/json_tree.h"
#include "text/merges.h"
#include "text/token_index.h"

namespace reckon {
namespace {

// As tiktoken's own table of encodings (openai_public.py) has them.
std::vector<RankedEncoding> encodings() {
  return {
      {"gpt2", Splitter::gpt2, {{50256, "<|endoftext|>"}}},
      {"r50k_base", Splitter::gpt2, {{50256, "<|endoftext|>"}}},
      {"p50k_base", Splitter::gpt2, {{50256, "<|endoftext|>"}}},
      {"cl100k_base",
       Splitter::cl100k,
       {{100257, "<|endoftext|>"},
        {100258, "<|fim_prefix|>"},
        {100259, "<|fim_middle|>"},
        {100260, "<|fim_suffix|>"},
        {100276, "<|endofprompt|>"}}},
      {"o200k_base", Splitter::o200k, {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}}},
  };
}

std::optional<std::string> base64_bytes(std::string_view text) {
  static constexpr std::array<std::int8_t, 256> digits = [] {
    std::array<std::int8_t, 256> values{};
    for (std::int8_t& value : values) value = -1;
    std::int8_t next = 0;
    for (const unsigned char c : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") values[c] = next++;
    values[0] = -1;  // the literal's end
    return values;
  }();
  std::string bytes;
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  unsigned bits = 0, value = 0;
  for (const char c : text) {
    const auto digit = digits[static_cast<unsigned char>(c)];
    if (digit < 0) return std::nullopt;
    value = value << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(value >> (bits -= 8));
  }
  return bytes;
}

// Calls take(number, line) for each line that is not empty.
template <class Take>
void each_line(std::string_view text, Take&& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) take(number, line);
  }
}

struct RankLine {
  std::size_t number;
  std::string bytes;
  std::size_t rank;
};

std::vector<RankLine> rank_lines(std::string_view text, const std::string& file) {
  std::vector<RankLine> lines;
  each_line(text, [&](std::size_t number, std::string_view line) {
    const std::size_t space = std::min(line.find(' '), line.size());
    std::optional<std::string> bytes = base64_bytes(line.substr(0, space));
    TokenId rank = -1;
    const char *begin = line.data() + std::min(space + 1, line.size()), *end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(begin, end, rank);
    if (!bytes || bytes->empty() || error != std::errc() || stop != end || rank < 0) {
      throw Error(fmt::format("{}: line {} is {}; expected a token in base64, a space and its rank", file, number,
                              quote(line)));
    }
    lines.push_back({number, std::move(*bytes), static_cast<std::size_t>(rank)});
  });
  return lines;
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
  std::vector<RankLine> lines = rank_lines(text, file);
  for (auto& [number, bytes, rank] : lines) {
    // p50k_base leaves one rank to its special token.
    if (rank >= lines.size() + encoding.special.size()) {
      throw Error(
          fmt::format("{}: line {} has rank {} in a file of {} tokens", file, number, rank, grouped(lines.size())));
    }
    if (rank >= tokens.size()) tokens.resize(rank + 1);
    if (!tokens[rank].empty())
      throw Error(fmt::format("{}: line {} has rank {}, which another line has too", file, number, rank));
    if (bytes.size() > longest_token)
      throw Error(fmt::format("{}: line {} has a token of {} bytes", file, number, bytes.size()));
    tokens[rank] = std::move(bytes);
  }
  TokenIndex index(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const bool is_special =
        std::any_of(encoding.special.begin(), encoding.special.end(),
                    [id](const AddedToken& token) { return static_cast<std::size_t>(token.id) == id; });
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
  set_byte_level(spec, encoding.splitter);
  return spec;
}

TokenizerSpec parse_vocab_merges(std::string_view vocab, const std::string& vocab_file, std::string_view merges,
                                 const std::string& merges_file) {
  ListedVocabulary listed = read_vocabulary(vocab, vocab_file);
  each_line(merges, [&](std::size_t number, std::string_view line) {
    if (number == 1 && line.starts_with("#version")) return;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw Error(fmt::format("{}: line {} is {}; expected two tokens with a space between them", merges_file, number,
                              quote(line)));
    }
    listed.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  });
  TokenizerSpec spec;
  for (const auto& [token, id] : listed.tokens) {
    if (token == "<|endoftext|>") spec.added_tokens.push_back({static_cast<TokenId>(id), token});
  }
  set_byte_level(spec, Splitter::gpt2);
  set_vocabulary(std::move(listed), spec);
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
