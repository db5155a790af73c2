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

// The words are views into the texts, in no particular order. `counted` is called now and then, from one thread, with
// the bytes so far.
std::vector<Word> count_words(std::span<const std::string_view> texts, Splitter splitter,
                              std::span<const std::string> special_tokens, int threads,
                              const std::function<void(std::int64_t)>& counted = {});

}  // namespace reckon
