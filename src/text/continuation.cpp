#include "text/continuation.h"

#include <algorithm>
#include <utility>

namespace reckon {

ContinuationText::ContinuationText(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::string stop)
    : decoder_(tokenizer), tokens_(tokenizer.size()), stop_(std::move(stop)) {
  // The text goes on from the prompt: its first token is not the first of a text, and may end a character of it.
  for (const TokenId id : prompt) decoder_.add(id);
}

// A model may have more ids than its tokenizer: rows that only make a matrix a round size.
std::string ContinuationText::add(TokenId id) {
  return certain(static_cast<std::size_t>(id) < tokens_ ? decoder_.add(id) : "\uFFFD");
}

std::string ContinuationText::finish() {
  std::string text = certain(decoder_.finish());
  return text + std::exchange(held_, {});
}

std::string ContinuationText::certain(std::string text) {
  if (stopped_) return {};
  if (stop_.empty()) return text;
  held_ += text;
  if (const std::size_t at = held_.find(stop_); at != std::string::npos) {
    stopped_ = true;
    return std::exchange(held_, {}).substr(0, at);
  }
  // The longest end of what is held that the stop string begins with.
  std::size_t kept = std::min(held_.size(), stop_.size() - 1);
  while (!stop_.starts_with(std::string_view(held_).substr(held_.size() - kept))) --kept;
  text = held_.substr(0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return text;
}

std::string continuation_text(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::span<const TokenId> ids,
                              const std::string& stop) {
  ContinuationText continuation(tokenizer, prompt, stop);
  std::string text;
  for (const TokenId id : ids) text += continuation.add(id);
  return text + continuation.finish();
}

}  // namespace reckon
