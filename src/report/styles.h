// The style sheets of pages, which travel inside the library.
#pragma once

#include <string_view>
#include <vector>

namespace reckon {

struct StyleSheet {
  std::string_view name;
  std::string_view text;
};

// In this order: `look`, which web/ has too, and `training`, of the page of a training run.
const std::vector<StyleSheet>& style_sheets();

}  // namespace reckon
