#include "report/models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/reckon.h>

#include <algorithm>

#include "files/numbers.h"
#include "model/families.h"
#include "model/sublayers.h"
#include "model/types.h"
#include "report/describe.h"

namespace reckon {

Document models_document(const std::vector<Model>& models) {
  Document document;
  Table table{"",
              {{"name", false, Column::Kind::name},
               {"parameters", true},
               {"layers", true},
               {"width", true},
               {"heads", true},
               {"vocabulary", true},
               {"context", true},
               {"family"}}};
  document.json = {{"schema", "reckon.models/1"}, {"models", OrderedJson::array()}};
  for (const Model& model : models) {
    const Count parameters = count_parameters(model);
    const Attention& attention = first_attention(model);
    const bool grouped_heads = attention.n_kv_heads != attention.n_heads;
    const std::string heads = attention.n_heads == 0 ? "–"
                                                     : grouped(attention.n_heads) +
                                                           (grouped_heads ? "/" + grouped(attention.n_kv_heads) : "");
    table.rows.push_back({model.name, count_cell(parameters), count_cell(std::ssize(model.layers)),
                          count_cell(model.d_model), heads, count_cell(model.vocab_size), count_cell(model.context),
                          model.about.empty() ? model.family : "own, as " + model.family});
    OrderedJson json = {{"name", model.name}, {"parameters", parameters}};
    json.update(architecture_json(model));
    document.json["models"].push_back(std::move(json));
  }
  document.parts.emplace_back(std::move(table));
  return document;
}

namespace {

// The types that are read where a config.json has this name.
std::vector<std::string_view> read_of(std::string_view name) {
  if (const Wrapper* wrapper = find_wrapper(name)) return wrapper->reads;
  for (const OtherName& other : other_names())
    if (other.name == name) return {other.type};
  return {};
}

Cells row(const TypeReference& of, std::string_view adds, bool trained, const std::string& network) {
  const auto held = [](int number, const char* what) {
    return number == 0 ? std::string("yes") : fmt::format("yes, {} {}{}", number, what, number == 1 ? "" : "s");
  };
  return {std::string(of.type),
          std::string(adds),
          held(of.configs, "config"),
          held(of.models, "model"),
          !trained       ? "no"
          : of.gradients ? "yes, gradients"
                         : "yes",
          network};
}

}  // namespace

std::vector<std::string> further_names() {
  std::vector<std::string> names;
  for (const Wrapper& wrapper : wrappers()) names.emplace_back(wrapper.type);
  for (const OtherName& other : other_names()) names.emplace_back(other.name);
  std::sort(names.begin(), names.end());
  return names;
}

Document types_document(const std::vector<std::string>& types, const std::vector<std::string>& further) {
  Document document;
  Table table{"",
              {{"type", false, Column::Kind::name}, {"what it adds"}, {"counted"}, {"run"}, {"trained"}, {"network"}}};
  document.json = {{"schema", "reckon.types/1"}, {"types", OrderedJson::array()}, {"further", OrderedJson::array()}};
  for (const std::string& type : types) {
    const TypeReference reference = type_reference(type);
    const Family* family = find_family(type);
    const std::string network(family == nullptr || family->network.empty() ? type : family->network);
    const std::string_view why = why_not_trained(type);
    table.rows.push_back(row(reference, what_it_adds(type), why.empty(), network == type ? "" : network));
    document.json["types"].push_back({{"type", type},
                                      {"adds", what_it_adds(type)},
                                      {"network", network},
                                      {"configs", reference.configs},
                                      {"models", reference.models},
                                      {"gradients", reference.gradients},
                                      {"trained", why.empty()},
                                      {"why_not_trained", why.empty() ? OrderedJson() : OrderedJson(why)}});
  }
  for (const std::string& name : further) {
    const std::vector<std::string_view> reads = read_of(name);
    const bool wraps = find_wrapper(name) != nullptr, trained = std::all_of(reads.begin(), reads.end(), is_trainable);
    table.rows.push_back(row(type_reference(name),
                             wraps ? "a wrapper, whose language model is read" : "a maker's own name", trained,
                             fmt::format("{}", fmt::join(reads, " or "))));
    document.json["further"].push_back({{"name", name}, {"wraps", wraps}, {"reads", reads}});
  }
  document.parts.emplace_back(std::move(table));
  document.parts.emplace_back(Paragraph{
      "yes, N configs: so many random ones have the parameters that transformers' own code has, and those "
      "small enough to run its FLOPs, forward and backward, but for differences that docs/families.md has "
      "as formulas; yes, N models: small ones give its logits and greedy tokens; yes, gradients: and its gradients."});
  return document;
}

}  // namespace reckon
