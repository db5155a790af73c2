#include "text/cut_text.h"

#include <algorithm>

#include "text/split.h"

namespace reckon {
namespace {

// Whether an occurrence of a special token begins before the place and ends behind it.
bool is_spanned(std::string_view text, std::size_t at, std::span<const std::string> special_tokens) {
  return std::any_of(special_tokens.begin(), special_tokens.end(), [&](const std::string& token) {
    const std::size_t reach = token.size() - 1, from = at - std::min(at, reach);
    return text.substr(from, at - from + reach).find(token) != std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string_view> cut_text(std::string_view text, std::size_t size,
                                       std::span<const std::string> special_tokens) {
  std::vector<std::string_view> chunks;
  while (!text.empty()) {
    std::size_t at = safe_cut(text, size);
    while (at < text.size() && is_spanned(text, at, special_tokens)) at = safe_cut(text, at + 1);
    chunks.push_back(text.substr(0, at));
    text.remove_prefix(at);
  }
  return chunks;
}

}  // namespace reckon
