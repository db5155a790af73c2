#include "model/fields.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace reckon {

namespace {

// A false or empty value switches a feature off, unless off is the unusual state in some families: they have biases,
// ties, norms, gates and rotary positions by default.
bool switched_off(const std::string& name, const nlohmann::json& value) {
  if (value.is_null()) return true;
  if (value.is_array() || value.is_object()) return value.empty();
  if (!value.is_boolean() || value.get<bool>()) return false;
  for (const char* part : {"bias", "tie", "norm", "affine", "gate", "glu", "rope", "rotary", "causal", "residual"})
    if (name.find(part) != std::string::npos) return false;
  return true;
}

// Families differ in how they call them, but a dropout rate or a token's number never changes the network.
bool harmless(std::string_view name, const nlohmann::json& value) {
  const auto is_number = [](const nlohmann::json& one) { return one.is_number(); };
  if (!is_number(value) && !(value.is_array() && std::all_of(value.begin(), value.end(), is_number))) return false;
  for (std::string_view end : {"dropout", "_pdrop", "dropout_prob", "token_id", "token_ids", "tokens_ids"})
    if (name.ends_with(end)) return true;
  return false;
}

}  // namespace

std::string describe(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return "null";
    case nlohmann::json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case nlohmann::json::value_t::number_integer:
      return std::to_string(value.get<std::int64_t>());
    case nlohmann::json::value_t::number_unsigned:
      return std::to_string(value.get<std::uint64_t>());
    case nlohmann::json::value_t::number_float:
      return fmt::format("{}", value.get<double>());
    case nlohmann::json::value_t::string: {
      // As JSON has it in ASCII: a NUL or a line break would end the sentence.
      const std::string& text = value.get_ref<const std::string&>();
      std::size_t end = std::min<std::size_t>(text.size(), 40);  // not in the middle of a UTF-8 sequence
      while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
      std::string shown =
          nlohmann::json(text.substr(0, end)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      if (end < text.size()) shown.insert(shown.size() - 1, "…");
      return shown;
    }
    case nlohmann::json::value_t::array:
      return fmt::format("an array of {}", value.size());
    default:
      return "an object";
  }
}

Fields::Fields(const nlohmann::json& object, std::string where, std::string prefix)
    : object_(&object), where_(std::move(where)), prefix_(std::move(prefix)) {
  if (object.is_object()) return;
  const std::string what = prefix_.empty() ? "the file" : prefix_.substr(0, prefix_.size() - 1);
  throw Error(fmt::format("{}: {} is {}; expected an object", where_, what, describe(object)));
}

void Fields::rename(Text name, std::initializer_list<Text> others) {
  std::vector<std::string>& names = renamed_[name.c_str()];
  names.clear();
  for (const Text& other : others) names.emplace_back(other.c_str());
}

const nlohmann::json* Fields::find(Text name) const {
  const nlohmann::json* found = nullptr;
  std::string found_as;
  for (const std::string& spelling : spellings(name)) {
    const auto entry = object_->find(spelling);
    if (entry == object_->end()) continue;
    read_.insert(spelling);
    // Two nested ones are not compared: they may be nested deeply.
    if (found && !found->is_null() && !entry->is_null() &&
        (found->is_primitive() ? *found != *entry : entry->is_primitive()))
      throw Error(fmt::format("{}: {}{} is {} but {}{} is {}; they are two names of the same size", where_, prefix_,
                              found_as, describe(*found), prefix_, spelling, describe(*entry)));
    if (!found || found->is_null()) {
      found = &*entry;
      found_as = spelling;
    }
  }
  if (found) return found;
  const auto assumed = assumed_.find(name.c_str());
  return assumed == assumed_.end() ? nullptr : &*assumed;
}

std::vector<std::string> Fields::spellings(Text name) const {
  const auto others = renamed_.find(name.c_str());
  return others == renamed_.end() ? std::vector<std::string>{name.c_str()} : others->second;
}

std::string Fields::spelled(Text name) const {
  const std::vector<std::string> names = spellings(name);
  for (const std::string& spelling : names)
    if (object_->contains(spelling)) return prefix_ + spelling;
  return prefix_ + names.front();
}

void Fields::fail(Text name, Text expected) const {
  const nlohmann::json* found = find(name);
  throw Error(found
                  ? fmt::format("{}: {} is {}; expected {}", where_, spelled(name), describe(*found), expected.c_str())
                  : fmt::format("{}: {} is missing; expected {}", where_, spelled(name), expected.c_str()));
}

void Fields::fail_type(Text name, Text expected) const {
  const nlohmann::json* found = find(name);
  if (!found || !found->is_string()) fail(name, expected);
  refuse(fmt::format("{} is {}, a string; expected {}", spelled(name), describe(*found), expected.c_str()));
}

void Fields::refuse(const std::string& sentence) const { throw Error(fmt::format("{}: {}", where_, sentence)); }

const nlohmann::json* Fields::value(Text name) const {
  const nlohmann::json* found = find(name);
  return found && !found->is_null() ? found : nullptr;
}

std::int64_t Fields::whole(Text name, const nlohmann::json& value, std::int64_t least, std::int64_t most) const {
  if (!value.is_number()) fail_type(name, "a whole number");
  // As doubles, which hold every number up to `most` exactly, and compare rightly far past 2⁶³. 64.0 is whole, too.
  const auto number = value.get<double>();
  if (number != std::floor(number)) fail(name, "a whole number");
  if (number > static_cast<double>(most)) fail(name, fmt::format("a whole number of at most {}", most));
  if (number < static_cast<double>(least)) fail(name, fmt::format("a whole number of at least {}", least));
  return static_cast<std::int64_t>(number);
}

std::int64_t Fields::size(Text name) { return size_up_to(name, largest_size); }

std::int64_t Fields::size_up_to(Text name, std::int64_t most) {
  const nlohmann::json* found = value(name);
  if (!found) fail(name, "a whole number");
  return whole(name, *found, 1, most);
}

std::int64_t Fields::size(Text name, std::int64_t fallback, std::optional<std::int64_t> null) {
  const nlohmann::json* found = value(name);
  return found ? whole(name, *found, 1) : absent(name, fallback, null);
}

std::int64_t Fields::count(Text name, std::int64_t fallback, std::optional<std::int64_t> null) {
  const nlohmann::json* found = value(name);
  return found ? whole(name, *found, 0) : absent(name, fallback, null);
}

double Fields::number(Text name, double fallback, std::optional<double> null) {
  const nlohmann::json* found = value(name);
  if (!found) return absent(name, fallback, null);
  if (!found->is_number()) fail_type(name, "a number");
  const auto number = found->get<double>();
  if (!std::isfinite(number)) fail(name, "a finite number");
  return number;
}

double Fields::positive(Text name, double fallback) {
  const double found = number(name, fallback);
  if (!(found > 0)) fail(name, "a number above zero");
  return found;
}

bool Fields::flag(Text name, bool fallback) {
  const nlohmann::json* found = value(name);
  if (!found) return fallback;
  if (!found->is_boolean()) fail_type(name, "true or false");
  return found->get<bool>();
}

std::string Fields::word(Text name, Text fallback) {
  const nlohmann::json* found = value(name);
  if (!found) return fallback.c_str();
  if (!found->is_string()) fail(name, "a word in quotes");
  return found->get<std::string>();
}

const nlohmann::json* Fields::array(Text name) {
  const nlohmann::json* found = value(name);
  if (found && !found->is_array()) fail_type(name, "an array");
  return found;
}

std::vector<double> Fields::numbers(Text name) {
  const nlohmann::json* found = array(name);
  if (!found) fail(name, "an array of numbers");
  std::vector<double> result;
  for (const nlohmann::json& element : *found) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) fail(name, "an array of numbers");
    result.push_back(element.get<double>());
  }
  return result;
}

std::optional<Fields> Fields::object(Text name) {
  const nlohmann::json* found = value(name);
  if (!found) return std::nullopt;
  return Fields(*found, where_, spelled(name) + ".");
}

void Fields::expect_off(Text name, Text why) {
  const nlohmann::json* found = value(name);
  if (!found || (found->is_boolean() && !found->get<bool>()) || (found->is_number() && found->get<double>() == 0))
    return;
  if ((found->is_array() || found->is_object()) && found->empty()) return;
  fail(name, why);
}

void Fields::expect_on(Text name, Text why) {
  if (!flag(name, true)) fail(name, why);
}

void Fields::expect_word(Text name, Text only, Text why) {
  if (word(name, only) != only.c_str()) fail(name, why);
}

void Fields::expect_size(Text name, std::int64_t only, Text why) {
  if (count(name, only) != only) fail(name, why);
}

void Fields::ignore(std::initializer_list<Text> names) {
  for (const Text& name : names) read_.insert(name.c_str());
}

std::vector<Fields::Unread> Fields::unread() const {
  std::vector<Unread> result;
  for (const auto& [name, value] : object_->items())
    if (!read_.count(name) && !harmless(name, value) && !switched_off(name, value))
      result.push_back({prefix_ + name, &value});
  return result;
}

void Fields::refuse_unread(Text type) const {
  if (const std::vector<Unread> left = unread(); !left.empty())
    refuse(fmt::format("{} is {}, which is not understood for {} and could change the count", left.front().name,
                       describe(*left.front().value), type.c_str()));
}

}  // namespace reckon
