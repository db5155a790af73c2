#include "page/fields.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>

#include "files/quote.h"
#include "model/nearest.h"

namespace reckon::page {
namespace {

template <class Kind>
std::shared_ptr<Kind> kept_as(const Page& page, const Fields& fields, const std::string& key, const char* expected) {
  const std::int64_t handle = fields.whole(key, 0);
  const auto* found = std::get_if<std::shared_ptr<Kind>>(&page.kept(handle));
  if (found == nullptr) throw UsageError(fmt::format("`{}` is {}, which is no {}", key, handle, expected));
  return *found;
}

}  // namespace

Fields::Fields(const Json& json, std::string of) : json_(json), of_(std::move(of)) {
  if (!json.is_object()) throw UsageError(fmt::format("{} is no object; expected its fields by their names", of_));
}

void Fields::expect(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : json_.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = nearest(key, known);
    throw UsageError(fmt::format("{} has no field {}{}", of_, quote(key),
                                 near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
  }
}

bool Fields::has(const std::string& key) const { return json_.contains(key) && !json_[key].is_null(); }

void Fields::refuse(const std::string& key, const Json& found, const std::string& expected) const {
  throw UsageError(fmt::format("`{}` of {} is {}; expected {}", key, of_, quote(found.dump()), expected));
}

const Json& Fields::at(const std::string& key, const char* expected) const {
  if (!has(key)) throw UsageError(fmt::format("{} needs `{}`: {}", of_, key, expected));
  return json_[key];
}

std::string Fields::text(const std::string& key) const {
  constexpr const char* expected = "a text";
  const Json& found = at(key, expected);
  if (!found.is_string()) refuse(key, found, expected);
  return found.get<std::string>();
}

double Fields::number(const std::string& key) const {
  constexpr const char* expected = "a number";
  const Json& found = at(key, expected);
  if (!found.is_number()) refuse(key, found, expected);
  return found.get<double>();
}

std::int64_t Fields::whole(const std::string& key, std::int64_t least, std::int64_t most) const {
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  const Json& found = at(key, expected.c_str());
  if (!found.is_number_integer()) refuse(key, found, expected);
  const bool large = found.is_number_unsigned() && found.get<std::uint64_t>() > static_cast<std::uint64_t>(any);
  if (large || found.get<std::int64_t>() < least || found.get<std::int64_t>() > most) refuse(key, found, expected);
  return found.get<std::int64_t>();
}

bool Fields::answer(const std::string& key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_[key].is_boolean()) refuse(key, json_[key], "true or false");
  return json_[key].get<bool>();
}

std::vector<std::string> Fields::texts(const std::string& key) const {
  if (!has(key)) return {};
  std::vector<std::string> all;
  if (!json_[key].is_array()) refuse(key, json_[key], "a list of texts");
  for (const Json& one : json_[key]) {
    if (!one.is_string()) refuse(key, one, "a list of texts");
    all.push_back(one.get<std::string>());
  }
  return all;
}

std::vector<std::int32_t> Fields::ids(const std::string& key) const {
  constexpr const char* expected = "a list of ids";
  const Json& found = at(key, expected);
  if (!found.is_array()) refuse(key, found, expected);
  std::vector<std::int32_t> ids;
  for (const Json& one : found) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();  // a negative number is past it, too
    if (!one.is_number_integer() || one.get<std::uint64_t>() > most) refuse(key, one, expected);
    ids.push_back(one.get<std::int32_t>());
  }
  return ids;
}

const Json& Fields::object(const std::string& key) const {
  constexpr const char* expected = "an object";
  const Json& found = at(key, expected);
  if (!found.is_object()) refuse(key, found, expected);
  return found;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const Page& page, const Fields& fields, const std::string& key) {
  return kept_as<const Tokenizer>(page, fields, key, "tokenizer");
}
std::shared_ptr<Training> training_of(const Page& page, const Fields& fields, const std::string& key) {
  return kept_as<Training>(page, fields, key, "run");
}
std::shared_ptr<Generating> generating_of(const Page& page, const Fields& fields, const std::string& key) {
  return kept_as<Generating>(page, fields, key, "model");
}

}  // namespace reckon::page
