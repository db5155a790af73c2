// One JSON object while it is read. Every field that a reader asks for is marked, so that a field nobody asked for can
// be named instead of silently passed over. Every complaint is a reckon::Error that names place, field, what was found
// and what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/validate.h"

namespace reckon {

// What a JSON value is, for an error sentence: `"mish"`, `an array of 3`, `-4`.
std::string describe(const nlohmann::json& value);

// A text that outlives the call, by its address alone: the readers hand over a thousand of them.
class Text {
 public:
  constexpr Text(const char* text) : text_(text) {}       // NOLINT: implicit, as they are written
  Text(const std::string& text) : text_(text.c_str()) {}  // NOLINT
  constexpr const char* c_str() const { return text_; }
  constexpr bool empty() const { return *text_ == 0; }

 private:
  const char* text_;
};

class Fields {
 public:
  // `object` must outlive this. `prefix` stands before every field's name in errors ("rope_scaling.").
  Fields(const nlohmann::json& object, std::string where, std::string prefix = "");

  // From now on `name` may be written as any of `others`; the first is what the family itself calls it.
  void rename(Text name, std::initializer_list<Text> others);

  // What holds where a field is missing; `values` is an object.
  void assume(nlohmann::json values) { assumed_ = std::move(values); }

  bool present(Text name) const { return find(name) != nullptr; }  // there at all, even if null
  bool has(Text name) const { return value(name) != nullptr; }     // there and not null

  // A whole number, at least 1; a count may be 0. Without `fallback` the field is required. A null counts as missing,
  // unless `null` says what it stands for.
  std::int64_t size(Text name);
  std::int64_t size_up_to(Text name, std::int64_t most);  // required
  std::int64_t size(Text name, std::int64_t fallback, std::optional<std::int64_t> null = {});
  std::int64_t count(Text name, std::int64_t fallback, std::optional<std::int64_t> null = {});
  double number(Text name, double fallback, std::optional<double> null = {});  // finite
  double positive(Text name, double fallback);
  bool flag(Text name, bool fallback);
  std::string word(Text name, Text fallback);
  std::vector<double> numbers(Text name);        // required
  const nlohmann::json* array(Text name);        // null if missing
  std::optional<Fields> object(Text name);       // what it holds is read apart
  const nlohmann::json* value(Text name) const;  // null if missing or null

  // For fields of which only one reading is supported.
  void expect_off(Text name, Text why);                      // false, 0, null, missing
  void expect_on(Text name, Text why);                       // true, null, missing
  void expect_word(Text name, Text only, Text why);          // or missing
  void expect_size(Text name, std::int64_t only, Text why);  // or missing

  // Fields that are known not to change what the network is.
  void ignore(std::initializer_list<Text> names);

  // The fields that nobody has asked for and that are not plainly switched off.
  struct Unread {
    std::string name;  // with the prefix
    const nlohmann::json* value;
  };
  std::vector<Unread> unread() const;

  // Throws where there are any: they are not understood for this type.
  void refuse_unread(Text type) const;

  // Throws "where: field is (what was found); expected …".
  [[noreturn]] void fail(Text name, Text expected) const;
  // Throws "where: sentence".
  [[noreturn]] void refuse(const std::string& sentence) const;

  std::string spelled(Text name) const;                 // the field's name as the file has it, with the prefix
  std::vector<std::string> spellings(Text name) const;  // all that it may have, the family's own first
  const std::string& where() const { return where_; }
  const nlohmann::json& json() const { return *object_; }

 private:
  const nlohmann::json* find(Text name) const;
  std::int64_t whole(Text name, const nlohmann::json& value, std::int64_t least,
                     std::int64_t most = largest_size) const;
  // What stands for a field without a value: missing, or null.
  template <class Number>
  Number absent(Text name, Number fallback, std::optional<Number> null) const {
    return null && present(name) ? *null : fallback;
  }
  // As fail(), for a value of another type: says of a string that it is one.
  [[noreturn]] void fail_type(Text name, Text expected) const;

  const nlohmann::json* object_;
  nlohmann::json assumed_;
  std::string where_, prefix_;
  std::map<std::string, std::vector<std::string>> renamed_;
  mutable std::set<std::string> read_;
};

}  // namespace reckon
