// JSON with integers of any size: nlohmann holds 64 bits, a Count has 128.
#pragma once

#include <reckon/count.h>

#include <nlohmann/json.hpp>
#include <string>

namespace reckon {

using OrderedJson = nlohmann::ordered_json;  // whose keys keep their order

// A count becomes an integer where 64 bits hold it, else its digits, which json_text() writes as a plain integer too.
void to_json(OrderedJson& json, Count count);

// As dump(2) writes it, with every count as its digits. Text that is not UTF-8 is replaced, not refused.
std::string json_text(const OrderedJson& json);

}  // namespace reckon
