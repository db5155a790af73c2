// Replacing one string by another, everywhere in a text.
#pragma once

#include <string>
#include <string_view>

namespace reckon {

inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  if (from.empty()) return std::string(text);
  result.reserve(text.size() + text.size() / 4);
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string_view::npos; at = found + from.size()) {
    result.append(text, at, found - at).append(to);
  }
  return result.append(text, at);
}

}  // namespace reckon
