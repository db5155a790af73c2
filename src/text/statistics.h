// What the tokens of a text are, by kind.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "text/tokenizer.h"

namespace reckon {

enum class TokenKind { word, number, symbol, space, partial, special };
inline constexpr std::size_t n_token_kinds = 6;
std::string_view name_of(TokenKind kind);

// By the token's first character that is no white space. `partial`: bytes that are no whole characters.
TokenKind kind_of(const Tokenizer& tokenizer, TokenId id);

struct TokenStatistics {
  struct Count {
    std::int64_t tokens = 0, bytes = 0;
  };
  std::array<Count, n_token_kinds> by_kind;
  Count total;
};
TokenStatistics token_statistics(const Tokenizer& tokenizer, std::span<const TokenId> ids);

}  // namespace reckon
