// Of a config whose type is not known: what it resembles.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <optional>

#include "model/families.h"
#include "model/nearest.h"
#include "model/read.h"
#include "model/read_predictors.h"
#include "model/types.h"
#include "model/validate.h"

namespace reckon {
namespace {

// As if it were of that type.
void read_as(const std::string& type, Fields& fields) {
  fields.ignore({"model_type", "architectures"});
  for (const char* name : quantization_fields) fields.ignore({name});
  read_common(fields);
  read_further_layers(fields, fields);
  validate(find_family(type)->read(fields));
}

// What that type would say against it, without the file's name; empty: nothing.
std::string complaint_of(const std::string& type, const Fields& fields) {
  Fields trial(fields.json(), "");
  try {
    read_as(type, trial);
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(text.find_first_not_of(": "));
  }
  return "";
}

// A type that would read all of its fields, or all but the fewest.
struct Resemblance {
  std::string type;
  std::vector<std::string> unread;  // what that type does not understand
};

// Its fields, with fewer layers where there are very many: these would be written out once for each type.
nlohmann::json few_layers(const Fields& fields) {
  constexpr std::int64_t most = 1024;
  nlohmann::json json = fields.json();
  for (const char* name : {"num_hidden_layers", "num_layers", "n_layer", "n_layers"})
    if (const auto found = json.find(name); found != json.end() && found->is_number_integer() && *found > most)
      *found = most;
  return json;
}

std::optional<Resemblance> resemblance(const Fields& fields, const std::string& type) {
  const nlohmann::json json = few_layers(fields);
  std::optional<Resemblance> best;
  // These before others that are as good: the nearest name, then the commonest networks. Qwen's files have a head_dim
  // from its third version on.
  const bool later = fields.has("head_dim");
  std::vector<std::string> names{nearest(type, model_types()),
                                 "llama",
                                 later ? "qwen3" : "qwen2",
                                 "mixtral",
                                 later ? "qwen3_moe" : "qwen2_moe",
                                 "deepseek_v3",
                                 "gpt2"};
  for (const std::string& name : model_types()) names.push_back(name);
  for (const std::string& name : names) {
    if (name.empty()) continue;
    Fields trial(json, fields.where());
    try {
      read_as(name, trial);
    } catch (const Error&) {
      continue;
    }
    Resemblance found{name, {}};
    for (const Fields::Unread& field : trial.unread()) found.unread.push_back(field.name);
    if (!best || found.unread.size() < best->unread.size()) best = std::move(found);
  }
  return best;
}

}  // namespace

void refuse_type(const Fields& fields, const std::string& type) {
  if (const std::string_view why = why_not_read(type); !why.empty())
    fields.fail("model_type", fmt::format("one of the {} that are known: {}", model_types().size(), why));
  const std::string near = nearest(type, model_types());
  std::string hint = near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
  // Where a type of a similar name cannot read it at all, why not is to be known, too.
  if (const std::string why = near.empty() ? "" : complaint_of(near, fields); !why.empty())
    hint += fmt::format("; read as {}: {}", near, why);
  if (const std::optional<Resemblance> like = resemblance(fields, type)) {
    constexpr std::size_t most = 5;
    std::vector<std::string> missing = like->unread;
    if (missing.size() > most) missing.resize(most);
    hint += missing.empty() ? fmt::format("; read as {}, all of its fields are understood", like->type)
                            : fmt::format("; read as {}, all of its fields are understood but {}{}", like->type,
                                          fmt::join(missing, ", "), like->unread.size() > most ? " …" : "");
  }
  if (const Wrapper* wrapper = find_wrapper(type))
    hint += fmt::format("; a file of this type nests its language model ({}) as text_config",
                        fmt::join(wrapper->reads, ", "));
  fields.fail("model_type", fmt::format("one of the {} that are known{}", model_types().size(), hint));
}

}  // namespace reckon
