#include "report/generation.h"

#include <fmt/format.h>

#include "report/text.h"
#include "text/continuation.h"

namespace reckon {
namespace {

std::string ending_word(Ending ending) {
  static constexpr const char* words[] = {"length", "end of text", "context", "stopped"};
  static_assert(std::size(words) == static_cast<std::size_t>(Ending::stopped) + 1);
  return words[static_cast<std::size_t>(ending)];
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

// As text, or as ids where there is no tokenizer.
std::string shown(std::span<const std::int32_t> prompt, const Continuation& one, const GenerationView& view) {
  if (view.tokenizer == nullptr) return fmt::format("{}", fmt::join(one.ids, " "));
  return as_utf8(continuation_text(*view.tokenizer, prompt, one.ids, view.stops));
}

OrderedJson json_of(std::span<const std::int32_t> prompt, const Continuation& one, const GenerationView& view) {
  OrderedJson entry{{"ids", one.ids}, {"ending", ending_word(one.ending)}};
  if (view.tokenizer != nullptr) entry["text"] = shown(prompt, one, view);
  if (view.beams) {
    entry["log_probability"] = one.log_probability;
    entry["score"] = one.score;
  }
  if (!one.tokens.empty()) entry["logprobs"] = json_of(one.tokens, view.tokenizer);
  return entry;
}

void add_pace(OrderedJson& json, const Pace& pace) {
  json["prefill"] = {{"tokens", pace.prefill_tokens}, {"seconds", pace.prefill_seconds}};
  json["decode"] = {{"tokens", pace.decode_tokens}, {"seconds", pace.decode_seconds}};
}

}  // namespace

std::string continuation_heading(const Continuation& one, std::size_t number, std::size_t count, bool beams) {
  return fmt::format("── {} of {}{} · {} ──", number, count, beams ? fmt::format(" · score {:.4f}", one.score) : "",
                     ending_word(one.ending));
}

Document generation_document(std::span<const std::int32_t> prompt, const Generated& generated,
                             const GenerationView& view) {
  Document document;
  Table table{"", {{"continuation", true}, {"ending"}, {view.tokenizer != nullptr ? "text" : "ids"}}};
  OrderedJson continuations = OrderedJson::array();
  for (const Continuation& one : generated.continuations) {
    table.rows.push_back({std::to_string(table.rows.size() + 1), ending_word(one.ending), shown(prompt, one, view)});
    continuations.push_back(json_of(prompt, one, view));
  }
  document.parts.push_back(table);
  document.json = {{"schema", "reckon.generate/1"},
                   {"prompt_ids", prompt},
                   {"ids", generated.continuations.front().ids},
                   {"continuations", continuations}};
  add_pace(document.json, generated.pace);
  if (view.tokenizer != nullptr) document.json["text"] = continuations.front()["text"];
  return document;
}

Document prompts_document(const Prompts& prompts, const Generated& generated, const GenerationView& view) {
  Document document;
  Table table{"", {{"line", true}, {"prompt"}, {"ending"}, {"text"}}};
  OrderedJson all = OrderedJson::array();
  for (std::size_t i = 0; i < prompts.ids.size(); ++i) {
    const Continuation& one = generated.continuations[i];
    const std::string prompt = as_utf8(prompts.texts[i]);
    OrderedJson entry{{"prompt", prompt}, {"prompt_ids", prompts.ids[i]}};
    entry.update(json_of(prompts.ids[i], one, view));
    table.rows.push_back({std::to_string(i + 1), prompt, ending_word(one.ending), shown(prompts.ids[i], one, view)});
    all.push_back(std::move(entry));
  }
  document.parts.push_back(table);
  document.json = {{"schema", "reckon.generate/1"}, {"prompts", all}};
  add_pace(document.json, generated.pace);
  return document;
}

}  // namespace reckon
