#include "report/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "files/numbers.h"

namespace reckon {
namespace {

OrderedJson json_of(const NextToken& token) {
  const char* const removed = name_of(token.chance.removed);
  return {{"id", token.id},
          {"logit", token.logit},
          {"scaled", token.chance.scaled},
          {"removed", removed != nullptr ? OrderedJson(removed) : OrderedJson()},
          {"probability", token.chance.probability},
          {"model_probability", token.model_probability},
          {"from", token.chance.from},
          {"to", token.chance.to}};
}

Cell number(float value) { return {fmt::format("{:.3f}", value), fmt::format("{}", value)}; }
Cell share(double value) { return {percent(value, 2), fmt::format("{}", value)}; }

// Its score, or what took it out, in the word of its option: "top-k".
Cell filtered(const Chance& chance) {
  const char* const removed = name_of(chance.removed);
  if (removed == nullptr) return number(chance.scaled);
  std::string word = removed;
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

// The positions that a query looks at most, with their weights.
std::string looks(const AttentionMaps& maps, const AttentionMaps::Layer& layer, std::int64_t head, std::int64_t query) {
  constexpr std::size_t shown = 4;
  std::vector<std::int64_t> keys(static_cast<std::size_t>(query + 1));
  std::iota(keys.begin(), keys.end(), 0);
  const auto most = keys.begin() + static_cast<std::ptrdiff_t>(std::min(shown, keys.size()));
  const auto weight = [&](std::int64_t key) { return maps.weight(layer, head, query, key); };
  std::partial_sort(keys.begin(), most, keys.end(), [&](std::int64_t a, std::int64_t b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a < b;
  });
  std::string text;
  for (auto key = keys.begin(); key != most; ++key)
    text += fmt::format("{}{} ({:.2f})", text.empty() ? "" : "  ", *key, weight(*key));
  return text;
}

}  // namespace

Document next_document(std::span<const std::int32_t> ids, const NextTokens& next, std::optional<double> u) {
  Document document;
  Table table{"What may come next: from the logit to the chance of being drawn",
              {{"next id", true},
               {"logit", true},
               {"scaled", true},
               {"filtered", true},
               {"probability", true},
               {"by the model", true}}};
  Table rows{"",
             {{"next id"}, {"logit"}, {"scaled"}, {"filtered"}, {"probability"}, {"by the model"}, {"from"}, {"to"}}};
  OrderedJson tokens = OrderedJson::array();
  for (const NextToken& token : next.tokens) {
    Cells cells{std::to_string(token.id),        number(token.logit),
                number(token.chance.scaled),     filtered(token.chance),
                share(token.chance.probability), share(token.model_probability)};
    table.rows.push_back(cells);
    cells.insert(cells.end(), {fmt::format("{}", token.chance.from), fmt::format("{}", token.chance.to)});
    rows.rows.push_back(std::move(cells));
    tokens.push_back(json_of(token));
  }
  const NextTokens::Rest& rest = next.rest;
  table.rows.push_back({fmt::format("{} others", grouped(rest.count)), "", "",
                        fmt::format("{} kept", grouped(rest.kept)), share(rest.probability),
                        share(rest.model_probability)});
  document.parts.push_back(std::move(table));
  document.csv.push_back(std::move(rows));
  document.json = {{"schema", "reckon.next/1"},
                   {"ids", ids},
                   {"tokens", tokens},
                   {"rest",
                    {{"count", rest.count},
                     {"kept", rest.kept},
                     {"probability", rest.probability},
                     {"model_probability", rest.model_probability}}},
                   {"kept", next.kept}};
  if (u && next.draw) {
    document.parts.push_back(Paragraph{fmt::format("u = {} draws {}, of which {:.4f} to {:.4f} is its part.", *u,
                                                   next.draw->id, next.draw->chance.from, next.draw->chance.to)});
    document.json["u"] = *u;
    document.json["draw"] = json_of(*next.draw);
  }
  return document;
}

Document attention_document(std::span<const std::int32_t> ids, const AttentionMaps& maps) {
  Document document;
  Table table{"Attention: where each head looks",
              {{"layer", true},
               {"head", true},
               {"at itself", true},
               {"at the one before", true},
               {"at the first", true},
               {"from the last position at"}}};
  Table pairs{"", {{"layer"}, {"head"}, {"position"}, {"looks at"}, {"weight"}}};  // a line each, in CSV
  OrderedJson layers = OrderedJson::array();
  for (const AttentionMaps::Layer& layer : maps.layers) {
    OrderedJson heads = OrderedJson::array();
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      const std::string number = std::to_string(layer.layer), which = std::to_string(head);
      const Habits habit = habits(maps, layer, head);
      table.rows.push_back({number, which, share(habit.itself), share(habit.before), share(habit.first),
                            looks(maps, layer, head, maps.tokens - 1)});
      OrderedJson rows = OrderedJson::array();
      for (std::int64_t query = 0; query < maps.tokens; ++query) {
        OrderedJson row = OrderedJson::array();
        for (std::int64_t key = 0; key < maps.tokens; ++key) {
          const float weight = maps.weight(layer, head, query, key);
          row.push_back(weight);
          if (key <= query)
            pairs.rows.push_back(
                {number, which, std::to_string(query), std::to_string(key), fmt::format("{}", weight)});
        }
        rows.push_back(std::move(row));
      }
      heads.push_back(
          {{"itself", habit.itself}, {"before", habit.before}, {"first", habit.first}, {"weights", std::move(rows)}});
    }
    layers.push_back({{"layer", layer.layer}, {"heads", std::move(heads)}});
  }
  document.parts.push_back(std::move(table));
  document.parts.push_back(Paragraph{"The first three are means over all positions but the first."});
  document.csv.push_back(std::move(pairs));
  document.json = {{"schema", "reckon.attention/1"}, {"ids", ids}, {"layers", std::move(layers)}};
  return document;
}

Document nearest_document(std::int32_t id, const std::vector<Neighbour>& nearest) {
  Document document;
  Table table{fmt::format("Nearest to {} in the embedding", id), {{"id", true}, {"cosine", true}}};
  OrderedJson all = OrderedJson::array();
  for (const Neighbour& one : nearest) {
    table.rows.push_back({std::to_string(one.id), {fmt::format("{:.4f}", one.cosine), fmt::format("{}", one.cosine)}});
    all.push_back({{"id", one.id}, {"cosine", one.cosine}});
  }
  document.parts.push_back(std::move(table));
  document.json = {{"schema", "reckon.nearest/1"}, {"id", id}, {"nearest", std::move(all)}};
  return document;
}

}  // namespace reckon
