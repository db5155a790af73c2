#include "report/score.h"

#include <fmt/format.h>

#include "files/numbers.h"

namespace reckon {

Document score_document(const std::string& model, const Score& score, std::optional<std::int64_t> bytes,
                        std::int64_t context) {
  Document document;
  Table table;
  table.title = fmt::format("{}: loss in nats per token, in windows of {} tokens", model, grouped(context));
  table.columns = {{"tokens scored", true}, {"loss", true}, {"perplexity", true}};
  table.rows.push_back({grouped(score.tokens) + (score.whole() ? "" : " of " + grouped(score.all)),
                        fmt::format("{:.6f}", score.loss()), fmt::format("{:.4f}", score.perplexity())});
  document.json = {{"schema", "reckon.score/1"},       {"model", model},    {"tokens", score.tokens},
                   {"of_tokens", score.all},           {"nll", score.nll},  {"loss", score.loss()},
                   {"perplexity", score.perplexity()}, {"context", context}};
  if (bytes) {
    table.columns.insert(table.columns.end(), {{"bytes", true}, {"bits per byte", true}});
    table.rows[0].insert(table.rows[0].end(), {grouped(*bytes), fmt::format("{:.6f}", score.bits_per(*bytes))});
    document.json["bytes"] = *bytes;
    document.json["bits_per_byte"] = score.bits_per(*bytes);
  }
  document.parts.push_back(table);
  return document;
}

}  // namespace reckon
