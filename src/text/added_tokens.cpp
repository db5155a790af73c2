#include "text/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace reckon {
namespace {

unsigned char first_byte(const AddedToken& token) { return static_cast<unsigned char>(token.content.front()); }

// Where the character that ends at `end` begins.
std::size_t char_before(std::string_view text, std::size_t end) {
  for (std::size_t length = 2; length <= 4 && length <= end; ++length) {
    const char* at = text.data() + end - length;
    const Utf8Char c = utf8_char(at, text.data() + end);
    if (c.valid && c.length == length) return end - length;
  }
  return end - 1;
}

bool is_at(std::string_view text, std::size_t at, CharClasses set) {
  return is_in(split_char(text.data() + at, text.data() + text.size()).kind, set);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && is_at(text, char_before(text, begin), word_chars)) return false;
  return end == text.size() || !is_at(text, end, word_chars);
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return first_byte(a) != first_byte(b) ? first_byte(a) < first_byte(b) : a.content.size() > b.content.size();
  });
  for (const AddedToken& token : tokens_) ++first_with_[first_byte(token) + 1u];
  for (std::size_t i = 1; i < first_with_.size(); ++i) first_with_[i] += first_with_[i - 1];
  if (!tokens_.empty() && first_byte(tokens_.front()) == first_byte(tokens_.back())) only_start_ = first_byte(tokens_.front());
}

// The next place where a token could begin.
std::size_t AddedTokenFinder::next_start(std::string_view text, std::size_t from) const {
  if (only_start_ >= 0) {
    const void* found = from < text.size() ? std::memchr(text.data() + from, only_start_, text.size() - from) : nullptr;
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : text.size();
  }
  for (; from < text.size(); ++from) {
    const auto byte = static_cast<unsigned char>(text[from]);
    if (first_with_[byte] != first_with_[byte + 1u]) return from;
  }
  return from;
}

std::optional<AddedTokenFinder::Match> AddedTokenFinder::find(std::string_view text, std::size_t from, bool special) const {
  if (tokens_.empty()) return std::nullopt;
  std::size_t at = from;
  while ((at = next_start(text, at)) < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto begin = tokens_.begin() + first_with_[byte], end = tokens_.begin() + first_with_[byte + 1u];
    const auto token = std::find_if(begin, end, [&](const AddedToken& t) { return text.substr(at).starts_with(t.content); });
    if (token == end) {
      ++at;
      continue;
    }
    Match match{at, at + token->content.size(), token->id};
    at = match.end;
    if (token->special && !special) continue;
    if (token->single_word && !stands_alone(text, match.begin, match.end)) continue;
    while (token->lstrip && match.begin > from && is_at(text, char_before(text, match.begin), space_chars)) {
      match.begin = char_before(text, match.begin);
    }
    while (token->rstrip && match.end < text.size() && is_at(text, match.end, space_chars)) {
      match.end += utf8_char(text.data() + match.end, text.data() + text.size()).length;
    }
    return match;
  }
  return std::nullopt;
}

}  // namespace reckon
