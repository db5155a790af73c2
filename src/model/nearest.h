// The closest of some known words to one that is not known, for "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// Empty if none is close (more than about a third of the letters would have to change).
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace reckon
