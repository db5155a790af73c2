#include "report/json.h"

namespace reckon {
namespace {

// Digits travel as a binary value, which JSON itself has no form for: no other value can be taken for one.
std::string leaf(const OrderedJson& json) {
  if (json.is_binary()) return {json.get_binary().begin(), json.get_binary().end()};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

void append(std::string& out, const OrderedJson& json, const std::string& line) {
  if (!json.is_structured() || json.empty()) {
    out += leaf(json);
    return;
  }
  const std::string inner = line + "  ";
  out += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    out += first ? inner : "," + inner;
    first = false;
    if (json.is_object()) out += leaf(key) + ": ";
    append(out, value, inner);
  }
  out += line;
  out += json.is_object() ? '}' : ']';
}

}  // namespace

void to_json(OrderedJson& json, Count count) {
  if (count.is_short()) {
    json = static_cast<std::int64_t>(count);
    return;
  }
  const std::string digits = to_string(count);
  json = OrderedJson::binary({digits.begin(), digits.end()});
}

std::string json_text(const OrderedJson& json) {
  std::string out;
  append(out, json, "\n");
  return out;
}

}  // namespace reckon
