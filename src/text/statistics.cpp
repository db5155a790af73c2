#include "text/statistics.h"

#include <vector>

#include "text/utf8.h"

namespace reckon {

std::string_view name_of(TokenKind kind) {
  constexpr std::string_view names[n_token_kinds] = {"word", "number", "symbol", "white space", "part of a character", "special"};
  return names[static_cast<std::size_t>(kind)];
}

TokenKind kind_of(const Tokenizer& tokenizer, TokenId id) {
  if (tokenizer.is_special(id)) return TokenKind::special;
  const std::string_view bytes = tokenizer.bytes(id);
  TokenKind kind = TokenKind::space;
  for (const char *at = bytes.data(), *end = at + bytes.size(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    if (!c.valid) return TokenKind::partial;
    const CharClass each = class_of(c.point);
    if (kind == TokenKind::space && !is_in(each, space_chars)) {
      kind = is_in(each, letter_chars) ? TokenKind::word : is_in(each, number_chars) ? TokenKind::number : TokenKind::symbol;
    }
    at += c.length;
  }
  return kind;
}

TokenStatistics token_statistics(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  std::vector<std::int64_t> times(tokenizer.size());
  for (const TokenId id : ids) ++times[static_cast<std::size_t>(id)];
  TokenStatistics statistics;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0) continue;
    const auto id = static_cast<TokenId>(i);
    const auto bytes = static_cast<std::int64_t>(tokenizer.bytes(id).size());
    for (TokenStatistics::Count* count : {&statistics.by_kind[static_cast<std::size_t>(kind_of(tokenizer, id))], &statistics.total}) {
      count->tokens += times[i];
      count->bytes += times[i] * bytes;
    }
  }
  return statistics;
}

}  // namespace reckon
