// Text from a file, made fit for an error sentence: in quotes, cut where long, control characters escaped.
#pragma once

#include <string>
#include <string_view>

namespace reckon {

std::string quote(std::string_view text);

}  // namespace reckon
