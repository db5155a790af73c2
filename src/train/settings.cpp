// One table says how each setting is called, read and written.
#include "train/settings.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "files/quote.h"
#include "model/nearest.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;

struct Entry {
  const char* key;
  bool may_change;
  Json (*write)(const Settings&);
  bool (*read)(Settings&, const Json&);  // false: it is of another kind
};

// Numbers only where numbers are meant, and whole ones that fit where whole ones are.
template <class Value>
bool take(const Json& json, Value& value) {
  if constexpr (std::is_integral_v<Value>) {
    if (!json.is_number_integer()) return false;
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    const bool negative = !json.is_number_unsigned() && json.get<std::int64_t>() < 0;
    if (std::is_signed_v<Value> ? !negative && json.get<std::uint64_t>() > most : negative) return false;
  } else if constexpr (std::is_floating_point_v<Value>) {
    if (!json.is_number()) return false;
  } else if constexpr (std::is_same_v<Value, std::string>) {
    if (!json.is_string()) return false;
  } else {
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), [](const Json& one) { return one.is_string(); }))
      return false;
  }
  json.get_to(value);
  return true;
}

constexpr bool fixed = false, free_choice = true;

template <auto Member>
constexpr Entry entry(const char* key, bool may_change) {
  return {key, may_change, [](const Settings& s) { return Json(s.*Member); },
          [](Settings& s, const Json& value) { return take(value, s.*Member); }};
}

template <auto Member>
constexpr Entry of_schedule(const char* key, bool may_change) {
  return {key, may_change, [](const Settings& s) { return Json(s.schedule.*Member); },
          [](Settings& s, const Json& value) { return take(value, s.schedule.*Member); }};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      entry<&Settings::model>("model", fixed),
      entry<&Settings::text>("text", fixed),
      entry<&Settings::tokens>("tokens", fixed),
      entry<&Settings::tokenizer>("tokenizer", fixed),
      entry<&Settings::init>("init", fixed),
      entry<&Settings::seed>("seed", fixed),
      entry<&Settings::batch>("batch", fixed),
      entry<&Settings::context>("context", fixed),
      entry<&Settings::accumulate>("accumulate", fixed),
      entry<&Settings::ranks>("ranks", fixed),
      of_schedule<&Schedule::steps>("steps", free_choice),
      {"schedule", fixed, [](const Settings& s) { return Json(name_of(s.schedule.kind)); },
       [](Settings& s, const Json& value) {
         if (!value.is_string()) return false;
         s.schedule.kind = parse_schedule(value.get<std::string>());
         return true;
       }},
      of_schedule<&Schedule::peak>("lr", fixed),
      of_schedule<&Schedule::least>("min_lr", fixed),
      of_schedule<&Schedule::warmup>("warmup", fixed),
      of_schedule<&Schedule::decay_share>("decay_share", fixed),
      entry<&Settings::beta1>("beta1", fixed),
      entry<&Settings::beta2>("beta2", fixed),
      entry<&Settings::epsilon>("epsilon", fixed),
      entry<&Settings::decay>("decay", fixed),
      entry<&Settings::clip>("clip", fixed),
      entry<&Settings::dropout>("dropout", fixed),
      entry<&Settings::precision>("precision", fixed),
      {"recompute", free_choice,  // gradients are the same, bit by bit
       [](const Settings& s) { return Json(recompute_word(s.recompute)); },
       [](Settings& s, const Json& value) {
         if (!take(value, s.recompute)) return false;
         s.recompute = recompute_word(s.recompute);
         return true;
       }},
      entry<&Settings::validation>("validation", fixed),
      entry<&Settings::eval_every>("eval_every", free_choice),
      entry<&Settings::eval_windows>("eval_windows", free_choice),
      entry<&Settings::save_every>("save_every", free_choice),
      entry<&Settings::keep>("keep", free_choice),
      entry<&Settings::sample>("sample", free_choice),
      entry<&Settings::sample_every>("sample_every", free_choice),
      entry<&Settings::layers_every>("layers_every", free_choice),
  };
  return all;
}

}  // namespace

std::string recompute_word(const std::string& word) { return word == "attention" ? "selective" : word; }

Json to_json(const Settings& settings) {
  Json json;
  for (const Entry& one : entries()) json[one.key] = one.write(settings);
  return json;
}

Settings settings_of(const Json& json) {
  Settings settings;
  for (const Entry& one : entries()) {
    if (!json.is_object() || !json.contains(one.key)) {
      throw Error(fmt::format("the settings of the run have no \"{}\"", one.key));
    }
    if (one.read(settings, json[one.key])) continue;
    throw Error(fmt::format("\"{}\" in the settings of the run is {}", one.key, json[one.key].dump().substr(0, 100)));
  }
  return settings;
}

std::set<std::string> read_settings(const Json& json, Settings& settings) {
  if (!json.is_object()) throw UsageError("the settings of the run are no object; expected one by their names");
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) {
    const auto& all = entries();
    const auto found = std::find_if(all.begin(), all.end(), [key = key](const Entry& one) { return one.key == key; });
    if (found == all.end()) {
      std::vector<std::string> known;
      known.reserve(all.size());
      for (const Entry& one : all) known.emplace_back(one.key);
      const std::string near = nearest(key, known);
      throw UsageError(fmt::format("there is no setting {}{}", quote(key),
                                   near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    }
    const Json usual = found->write(settings);
    if (!found->read(settings, value)) {
      const char* const expected = usual.is_number_integer() ? "a whole number"
                                   : usual.is_number()       ? "a number"
                                   : usual.is_array()        ? "a list of texts"
                                                             : "a text";
      throw UsageError(fmt::format("`{}` is {}; expected {}", key, quote(value.dump()), expected));
    }
    keys.insert(key);
  }
  return keys;
}

void validate(const Settings& settings) {
  const auto expect = [](bool holds, const char* key, double value, const char* expected) {
    if (!holds) throw UsageError(fmt::format("`{}` is {}; expected {}", key, value, expected));
  };
  const auto expect_size = [](const char* key, std::int64_t value, std::int64_t least) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (value >= least && value <= most) return;
    throw UsageError(fmt::format("`{}` is {}; expected {} to {}", key, value, least, most));
  };
  const Schedule& schedule = settings.schedule;
  expect_size("batch", settings.batch, 1);
  expect_size("accumulate", settings.accumulate, 1);
  expect_size("steps", schedule.steps, 1);
  expect_size("warmup", schedule.warmup, 0);
  expect_size("eval_every", settings.eval_every, 0);
  expect_size("save_every", settings.save_every, 0);
  expect_size("keep", settings.keep, 1);
  expect_size("sample_every", settings.sample_every, 0);
  expect_size("layers_every", settings.layers_every, 0);
  expect(settings.eval_windows >= 0, "eval_windows", static_cast<double>(settings.eval_windows), "0 or more");
  expect(schedule.peak > 0 && std::isfinite(schedule.peak), "lr", schedule.peak, "a number above 0");
  expect(schedule.least >= 0 && schedule.least <= schedule.peak, "min_lr", schedule.least, "0 to `lr`");
  expect(schedule.decay_share > 0 && schedule.decay_share <= 1, "decay_share", schedule.decay_share,
         "more than 0 and at most 1");
  expect(settings.beta1 >= 0 && settings.beta1 < 1, "beta1", settings.beta1, "0 or more, below 1");
  expect(settings.beta2 >= 0 && settings.beta2 < 1, "beta2", settings.beta2, "0 or more, below 1");
  expect(settings.epsilon > 0 && std::isfinite(settings.epsilon), "epsilon", settings.epsilon, "a number above 0");
  expect(settings.decay >= 0 && std::isfinite(settings.decay), "decay", settings.decay, "0 or more");
  expect(settings.clip >= 0 && std::isfinite(settings.clip), "clip", settings.clip, "0 or more");
  expect(settings.dropout >= 0 && settings.dropout < 1, "dropout", settings.dropout, "0 or more, below 1");
  expect(settings.validation >= 0 && settings.validation < 1, "validation", settings.validation, "0 or more, below 1");
  const auto expect_word = [](const std::string& word, const char* key, std::initializer_list<std::string_view> words) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return;
    throw UsageError(fmt::format("`{}` is {}; expected one of: {}", key, quote(word), fmt::join(words, " ")));
  };
  expect_word(settings.init, "init", {"gpt2", "scaled"});
  expect_word(settings.precision, "precision", {"float32", "bfloat16"});
  expect_word(recompute_word(settings.recompute), "recompute", {"none", "selective", "block"});
}

bool may_change(const std::string& key) {
  const auto& all = entries();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Entry& one) { return one.key == key; });
  return found != all.end() && found->may_change;
}

}  // namespace reckon
