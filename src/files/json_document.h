// JSON as a tree whose keys keep their order. All of it comes through the one parser of json_events.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace reckon {

// Throws Error if the text is not JSON or an object names a key twice; `where` is the file's name.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& where);

}  // namespace reckon
