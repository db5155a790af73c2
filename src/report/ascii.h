// What a person reads, for a terminal or a pipe whose locale has no UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace reckon {

// Whether the environment's locale (LC_ALL, LC_CTYPE, LANG) writes text in UTF-8; without any of them it is POSIX's,
// which does not.
bool utf8_locale();

// The text with stand-ins for every symbol that reports use: d² is d^2, 4·d is 4*d, dₕ is d_h, × is x, ─ is -, █ is #.
// What draws (rules, bars, plots) keeps its width. Other characters are escaped, é as \u00e9, and bytes that are none
// as \xff.
std::string to_ascii(std::string_view text);

}  // namespace reckon
