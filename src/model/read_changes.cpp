#include "model/read_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files/quote.h"
#include "model/change_words.h"
#include "model/nearest.h"
#include "model/validate.h"

namespace reckon {
namespace {

using Ordered = nlohmann::ordered_json;

struct Entry {
  const char* key;
  void (*read)(Changes&, const std::string& key, const Ordered&);
};

[[noreturn]] void refuse(const std::string& key, const Ordered& value, const std::string& expected) {
  throw UsageError(fmt::format("`{}` is {}; expected {}", key, quote(value.dump()), expected));
}

template <auto Member, std::int64_t least, std::int64_t most>
void read_size(Changes& changes, const std::string& key, const Ordered& value) {
  // As one without a sign, a negative number is past any bound.
  const bool fits = value.is_number_integer() && value.get<std::uint64_t>() >= static_cast<std::uint64_t>(least) &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) refuse(key, value, fmt::format("a whole number from {} to {}", least, most));
  changes.*Member = value.get<std::int64_t>();
}

void read_d_ff(Changes& changes, const std::string& key, const Ordered& value) {
  if (value == "match") {
    changes.match_d_ff = true;
  } else {
    read_size<&Changes::d_ff, 1, largest_size>(changes, key, value);
  }
}

template <auto Member, const auto& words>
void read_word(Changes& changes, const std::string& key, const Ordered& value) {
  std::vector<const char*> known;
  for (const auto& [word, meaning] : words) {
    if (value == word) {
      changes.*Member = meaning;
      return;
    }
    known.push_back(word);
  }
  refuse(key, value, fmt::format("one of: {}", fmt::join(known, " ")));
}

template <auto Member>
void read_answer(Changes& changes, const std::string& key, const Ordered& value) {
  if (!value.is_boolean()) refuse(key, value, "true or false");
  changes.*Member = value.get<bool>();
}

constexpr Entry entries[] = {
    {"layers", read_size<&Changes::layers, 1, most_layers>},
    {"d_model", read_size<&Changes::d_model, 1, largest_size>},
    {"heads", read_size<&Changes::heads, 1, largest_size>},
    {"kv_heads", read_size<&Changes::kv_heads, 1, largest_size>},
    {"d_head", read_size<&Changes::d_head, 1, largest_size>},
    {"d_ff", read_d_ff},
    {"d_expert", read_size<&Changes::d_expert, 1, largest_size>},
    {"d_shared", read_size<&Changes::d_shared, 1, largest_size>},
    {"vocab", read_size<&Changes::vocab, 1, largest_size>},
    {"context", read_size<&Changes::context, 1, largest_size>},
    {"window", read_size<&Changes::window, 0, largest_size>},
    {"experts", read_size<&Changes::experts, 1, largest_size>},
    {"active_experts", read_size<&Changes::active_experts, 1, largest_size>},
    {"ffn", read_word<&Changes::ffn, feed_forward_words>},
    {"norm", read_word<&Changes::norm, norm_words>},
    {"norm_position", read_word<&Changes::norm_position, norm_position_words>},
    {"positions", read_word<&Changes::positions, position_words>},
    {"tied", read_answer<&Changes::tied>},
    {"bias", read_answer<&Changes::bias>},
    {"qkv_bias", read_answer<&Changes::qkv_bias>},
};

}  // namespace

Changes read_changes(const Ordered& json) {
  if (!json.is_object()) throw UsageError("the changes to the model are no object; expected one by their names");
  Changes changes;
  for (const auto& [key, value] : json.items()) {
    const auto found = std::find_if(std::begin(entries), std::end(entries),
                                    [key = key](const Entry& entry) { return entry.key == key; });
    if (found == std::end(entries)) {
      std::vector<std::string> known;
      for (const Entry& entry : entries) known.emplace_back(entry.key);
      const std::string near = nearest(key, known);
      throw UsageError(fmt::format("there is no change {}{}", quote(key),
                                   near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    }
    found->read(changes, key, value);
  }
  return changes;
}

}  // namespace reckon
