#include "report/generation.h"

#include <fmt/format.h>

#include "report/tokens.h"
#include "text/continuation.h"

namespace reckon {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string ending_word(Ending ending) {
  switch (ending) {
    case Ending::length:
      return "length";
    case Ending::end_of_text:
      return "end of text";
    case Ending::context:
      return "context";
    case Ending::stopped:
      return "stopped";
  }
  return "";
}

OrderedJson json_of(std::int32_t id, double log_probability, const Tokenizer* tokenizer) {
  OrderedJson json{{"id", id}, {"log_probability", log_probability}};
  if (tokenizer != nullptr) {
    const bool known = static_cast<std::size_t>(id) < tokenizer->size();
    json["text"] = known ? as_utf8(tokenizer->bytes(id)) : "";
  }
  return json;
}

OrderedJson json_of(const std::vector<Token>& tokens, const Tokenizer* tokenizer) {
  OrderedJson all = OrderedJson::array();
  for (const Token& token : tokens) {
    OrderedJson entry = json_of(token.id, token.log_probability, tokenizer);
    entry["top"] = OrderedJson::array();
    for (const TokenProbability& other : token.alternatives) {
      entry["top"].push_back(json_of(other.id, other.log_probability, tokenizer));
    }
    all.push_back(entry);
  }
  return all;
}

}  // namespace

std::string continuation_heading(const Continuation& one, std::size_t number, std::size_t count) {
  return fmt::format("── {} of {} · score {:.4f} · {} ──", number, count, one.score, ending_word(one.ending));
}

Document generation_document(std::span<const std::int32_t> prompt, const Generated& generated,
                             const GenerationView& view) {
  const auto text_of = [&](const Continuation& one) {
    return as_utf8(continuation_text(*view.tokenizer, prompt, one.ids, view.stops));
  };
  Document document;
  Table table;
  table.columns = {{"continuation", true}, {"ending", false}, {view.tokenizer != nullptr ? "text" : "ids", false}};
  OrderedJson continuations = OrderedJson::array();
  for (const Continuation& one : generated.continuations) {
    OrderedJson entry{{"ids", one.ids}, {"ending", ending_word(one.ending)}};
    if (view.tokenizer != nullptr) entry["text"] = text_of(one);
    if (view.beams) {
      entry["log_probability"] = one.log_probability;
      entry["score"] = one.score;
    }
    if (!one.tokens.empty()) entry["logprobs"] = json_of(one.tokens, view.tokenizer);
    table.rows.push_back({std::to_string(table.rows.size() + 1), ending_word(one.ending),
                          view.tokenizer != nullptr ? text_of(one) : fmt::format("{}", fmt::join(one.ids, " "))});
    continuations.push_back(std::move(entry));
  }
  document.parts.push_back(table);
  const Pace& pace = generated.pace;
  document.json = {{"schema", "reckon.generate/1"},
                   {"prompt_ids", std::vector<std::int32_t>(prompt.begin(), prompt.end())},
                   {"ids", generated.continuations.front().ids},
                   {"continuations", continuations},
                   {"prefill", {{"tokens", pace.prefill_tokens}, {"seconds", pace.prefill_seconds}}},
                   {"decode", {{"tokens", pace.decode_tokens}, {"seconds", pace.decode_seconds}}}};
  if (view.tokenizer != nullptr) document.json["text"] = continuations.front()["text"];
  return document;
}

}  // namespace reckon
