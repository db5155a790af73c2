// GPT-2's way to write any bytes as printable text: 188 bytes stand for themselves as Latin-1 characters, the other 68
// (controls, the space) for U+0100 … U+0143, in order. A space becomes Ġ.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reckon {

std::string byte_level_text(std::string_view bytes);

// The way back; nothing if a character is not of the alphabet.
std::optional<std::string> byte_level_bytes(std::string_view text);

}  // namespace reckon
