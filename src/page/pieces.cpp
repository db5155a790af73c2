#include "page/pieces.h"

#include <string_view>

#include "text/statistics.h"
#include "text/utf8.h"

namespace reckon::page {
namespace {

bool is_whole(std::string_view text) {
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const Utf8Char next = utf8_char(at, end);
    if (!next.valid) return false;
    at += next.length;
  }
  return true;
}

}  // namespace

Json piece_of(const Tokenizer* tokenizer, std::int32_t id) {
  if (tokenizer == nullptr || id < 0 || static_cast<std::size_t>(id) >= tokenizer->size())
    return {{"id", id}, {"text", nullptr}, {"bytes", Json::array()}, {"kind", name_of(TokenKind::special)}};
  const std::string_view text = tokenizer->bytes(id);
  const std::string_view kind = name_of(kind_of(*tokenizer, id));
  if (is_whole(text)) return {{"id", id}, {"text", text}, {"kind", kind}};
  Json bytes = Json::array();
  for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"id", id}, {"text", nullptr}, {"bytes", bytes}, {"kind", kind}};
}

Json pieces_of(const Tokenizer* tokenizer, std::span<const std::int32_t> ids) {
  Json pieces = Json::array();
  for (const std::int32_t id : ids) pieces.push_back(piece_of(tokenizer, id));
  return pieces;
}

}  // namespace reckon::page
