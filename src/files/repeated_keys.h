// A key that stands twice in a JSON object: parsers keep one of the values and drop the other without a word.
#pragma once

#include <string>
#include <string_view>

namespace reckon {

// Throws Error if some object of the text names a key twice; `where` is the file's name. Also if the text is not JSON.
void refuse_repeated_keys(std::string_view text, const std::string& where);

}  // namespace reckon
