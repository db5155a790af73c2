#include "files/quote.h"

#include <fmt/core.h>

namespace reckon {

std::string quote(std::string_view text) {
  constexpr std::size_t longest = 120;
  std::string quoted = "'";
  for (const char character : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(character);
    // Bytes of a multi-byte character are escaped too: the text may be cut in its middle, or not be UTF-8 at all.
    if (byte < 0x20 || byte >= 0x7f)
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += character;
  }
  quoted += text.size() > longest ? fmt::format("…' ({} bytes)", text.size()) : "'";
  return quoted;
}

}  // namespace reckon
