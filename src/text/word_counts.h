// Counting the distinct words of a text, many chunks at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/learn_merges.h"
#include "text/split.h"

namespace reckon {

// Cuts a text into chunks that can be tokenized apart, with the same tokens as the whole: of `size` bytes (1 or more)
// or a little more, in order. They end at safe_cut()s that no occurrence of a special token spans; a text without one
// stays in one chunk.
std::vector<std::string_view> cut_text(std::string_view text, std::size_t size,
                                       std::span<const std::string> special_tokens);

// The words are views into the texts, in no particular order. `counted` is called now and then, from one thread, with
// the bytes so far.
std::vector<Word> count_words(std::span<const std::string_view> texts, Splitter splitter,
                              std::span<const std::string> special_tokens, int threads,
                              const std::function<void(std::int64_t)>& counted = {});

}  // namespace reckon
