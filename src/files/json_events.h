// JSON from untrusted files, read as a stream of events: no tree is built, so deep nesting cannot overflow the stack,
// and a reader sees every key, duplicates too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace reckon {

// A double is a number with a fraction or an exponent, or one past 64 bits; a std::int64_t is negative.
using JsonScalar = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string_view>;

class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void open_object() = 0;
  virtual void open_array() = 0;
  virtual void close() = 0;                 // the innermost open object or array
  virtual void key(std::string& name) = 0;  // may be moved from
  virtual void scalar(const JsonScalar& value) = 0;
  // The text is no JSON at this byte, or has a number there that is too large. What is thrown here comes before
  // read_json's own sentence.
  virtual void broken(std::size_t /*byte*/, bool /*too_large*/) {}
};

// Throws Error if the text is not JSON, naming it as `what` ("x.safetensors: the header"), and whatever the events
// throw.
void read_json(std::string_view text, const std::string& what, JsonEvents& events);

// What a value is, for an error sentence: "the string 'F33'", "-3", "null".
std::string describe(const JsonScalar& value);

}  // namespace reckon
