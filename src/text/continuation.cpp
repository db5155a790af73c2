#include "text/continuation.h"

#include <reckon/error.h>

#include <algorithm>
#include <utility>

namespace reckon {

ContinuationText::ContinuationText(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                                   std::vector<std::string> stops)
    : decoder_(tokenizer), tokens_(tokenizer.size()), stops_(std::move(stops)) {
  if (std::find(stops_.begin(), stops_.end(), "") != stops_.end())
    throw UsageError("a stop string is empty; expected text that ends the generation");
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
  held_ += text;
  std::size_t first = std::string::npos, kept = 0;
  for (const std::string& stop : stops_) {
    first = std::min(first, held_.find(stop));
    // The longest end of what is held that this one begins with.
    std::size_t begun = std::min(held_.size(), stop.size() - 1);
    while (!stop.starts_with(std::string_view(held_).substr(held_.size() - begun))) --begun;
    kept = std::max(kept, begun);
  }
  stopped_ = first != std::string::npos;
  if (stopped_) return std::exchange(held_, {}).substr(0, first);
  text = held_.substr(0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return text;
}

std::string continuation_text(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::span<const TokenId> ids,
                              const std::vector<std::string>& stops) {
  ContinuationText continuation(tokenizer, prompt, stops);
  std::string text;
  for (const TokenId id : ids) text += continuation.add(id);
  return text + continuation.finish();
}

}  // namespace reckon
