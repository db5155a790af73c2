#include "report/json.h"

#include <fmt/format.h>

#include "text/utf8.h"

namespace reckon {
namespace {

// Whether a text stands in JSON as it is: UTF-8 with nothing to escape.
bool is_plain(const std::string& text) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\') return false;
    if (byte < 0x80) {
      ++at;
      continue;
    }
    const Utf8Char c = utf8_char(at, end);
    if (!c.valid) return false;
    at += c.length;
  }
  return true;
}

// nlohmann's own writer is made anew for each value that it is given alone, which takes longer than most values.
std::string dumped(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

void append_text(std::string& out, const std::string& text) {
  if (!is_plain(text)) {
    out += dumped(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_json(std::string& out, const OrderedJson& json, const std::string& line) {
  const std::string inner = line + "  ";
  const char* between = "";
  const auto next = [&] {
    out += between;
    out += inner;
    between = ",";
  };
  if (json.empty() && json.is_structured()) {
    out += json.is_object() ? "{}" : "[]";
  } else if (const auto* object = json.get_ptr<const OrderedJson::object_t*>()) {
    out += '{';
    for (const auto& [key, value] : *object) {
      next();
      append_text(out, key);
      out += ": ";
      append_json(out, value, inner);
    }
    out += line + "}";
  } else if (const auto* array = json.get_ptr<const OrderedJson::array_t*>()) {
    out += '[';
    for (const OrderedJson& value : *array) {
      next();
      append_json(out, value, inner);
    }
    out += line + "]";
  } else if (const auto* text = json.get_ptr<const std::string*>()) {
    append_text(out, *text);
  } else if (json.is_number_integer() && !json.is_number_unsigned()) {
    out += fmt::format_int(json.get<std::int64_t>()).c_str();
  } else if (json.is_binary()) {  // digits travel as a binary value: no other can be taken for one
    out.append(json.get_binary().begin(), json.get_binary().end());
  } else {
    out += dumped(json);
  }
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
  append_json(out, json, "\n");
  return out;
}

}  // namespace reckon
