// Cutting a long text into chunks that can be tokenized apart, with the same tokens as the whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// Chunks of `size` bytes or a little more, in order, together the whole text. They end at safe_cut()s that no
// occurrence of a special token spans; a text without one stays in one chunk. `size` is at least 1.
std::vector<std::string_view> cut_text(std::string_view text, std::size_t size,
                                       std::span<const std::string> special_tokens);

}  // namespace reckon
