#include "files/json_events.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <nlohmann/json.hpp>

#include "files/quote.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

// nlohmann's SAX parser keeps its own stack on the heap, so that nesting cannot overflow ours.
struct Adapter final : nlohmann::json_sax<Json> {
  JsonEvents& events;
  const std::string& what;
  Adapter(JsonEvents& to, const std::string& name) : events(to), what(name) {}

  bool null() override { return events.scalar(nullptr), true; }
  bool boolean(bool value) override { return events.scalar(value), true; }
  bool number_integer(number_integer_t value) override { return events.scalar(std::int64_t{value}), true; }
  bool number_unsigned(number_unsigned_t value) override { return events.scalar(std::uint64_t{value}), true; }
  bool number_float(number_float_t value, const string_t&) override { return events.scalar(value), true; }
  bool string(string_t& value) override { return events.scalar(std::string_view(value)), true; }
  bool binary(binary_t&) override { return false; }  // only in binary formats
  bool start_object(std::size_t) override { return events.open_object(), true; }
  bool key(string_t& name) override { return events.key(name), true; }
  bool end_object() override { return events.close(), true; }
  bool start_array(std::size_t) override { return events.open_array(), true; }
  bool end_array() override { return events.close(), true; }
  bool parse_error(std::size_t position, const std::string& token, const Json::exception& error) override {
    events.broken(position, error.id == 406);
    throw Error(fmt::format("{} is not valid JSON at byte {}, near {}", what, position, quote(token)));
  }
};

struct Words {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(std::string_view text) const { return "the string " + quote(text); }
  std::string operator()(auto value) const { return fmt::format("{}", value); }  // true, -3, 0.5
};

}  // namespace

void read_json(std::string_view text, const std::string& what, JsonEvents& events) {
  // The parser takes a zero byte for the end of the text; what follows it would go unread.
  if (const auto zero = text.find('\0'); zero != std::string_view::npos)
    throw Error(fmt::format("{} is not valid JSON at byte {}, which is zero", what, zero + 1));
  Adapter adapter(events, what);
  Json::sax_parse(text.begin(), text.end(), &adapter);
}

std::string describe(const JsonScalar& value) { return std::visit(Words{}, value); }

}  // namespace reckon
