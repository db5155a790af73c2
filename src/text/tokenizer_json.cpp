#include "text/tokenizer_json.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>

#include "files/quote.h"
#include "text/json_tree.h"
#include "text/utf8.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;

// By TextSplit::Behavior and Metaspace::Prepending.
constexpr std::array<std::string_view, 4> behaviors = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext"};
constexpr std::array<std::string_view, 3> prepend_schemes = {"first", "always", "never"};

// Writing.

Json json_of(const Prepend& step) { return {{"type", "Prepend"}, {"prepend", step.text}}; }
Json json_of(const Replace& step) {
  return {{"type", "Replace"}, {"pattern", {{"String", step.from}}}, {"content", step.to}};
}
Json json_of(const Nfc&) { return {{"type", "NFC"}}; }

Json split_by(const char* kind, std::string_view pattern, std::string_view behavior) {
  return {{"type", "Split"}, {"pattern", {{kind, pattern}}}, {"behavior", behavior}, {"invert", false}};
}
Json json_of(const RegexSplit& step) { return split_by("Regex", patterns_of(step.splitter).front(), "Isolated"); }
Json json_of(const TextSplit& step) {
  return split_by("String", step.text, behaviors[static_cast<std::size_t>(step.behavior)]);
}
Json json_of(const ByteLevel& step) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", step.add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", step.use_regex}};
}
Json json_of(const Metaspace& step) {
  return {{"type", "Metaspace"},
          {"replacement", step.replacement},
          {"prepend_scheme", prepend_schemes[static_cast<std::size_t>(step.prepending)]},
          {"split", step.split}};
}
Json json_of(const Digits& step) { return {{"type", "Digits"}, {"individual_digits", step.individual}}; }
Json json_of(const Punctuation& step) {
  return {{"type", "Punctuation"}, {"behavior", step.contiguous ? "Contiguous" : "Isolated"}};
}

Json json_of(const ByteLevelDecoder&) { return json_of(ByteLevel{.add_prefix_space = true, .use_regex = true}); }
Json json_of(const ByteFallback&) { return {{"type", "ByteFallback"}}; }
Json json_of(const Fuse&) { return {{"type", "Fuse"}}; }
Json json_of(const Strip& step) {
  return {{"type", "Strip"}, {"content", step.content}, {"start", step.start}, {"stop", step.stop}};
}

// The format's texts are UTF-8; those of a GGUF file may be any bytes.
void check_texts(const TokenizerSpec& spec) {
  const auto check = [](std::size_t id, const std::string& text) {
    if (!is_utf8(text))
      throw Error(fmt::format("token {} is {}; expected UTF-8, which a tokenizer.json is written in", id, quote(text)));
  };
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) check(id, spec.tokens[id]);
  for (const AddedToken& token : spec.added_tokens) check(static_cast<std::size_t>(token.id), token.content);
}

// null, the one step, or a Sequence of them under the name that the format has for the list.
template <class Step>
Json sequence(const std::vector<Step>& steps, const char* list) {
  Json all = Json::array();
  for (const Step& step : steps) all.push_back(std::visit([](const auto& each) { return json_of(each); }, step));
  if (all.empty()) return nullptr;
  if (all.size() == 1) return all.front();
  return {{"type", "Sequence"}, {list, std::move(all)}};
}

const std::string& content_of(const TokenizerSpec& spec, TokenId id) {
  for (const AddedToken& token : spec.added_tokens) {
    if (token.id == id) return token.content;
  }
  return spec.tokens[static_cast<std::size_t>(id)];
}

Json post_processor(const TokenizerSpec& spec) {
  if (spec.before.empty() && spec.after.empty()) return nullptr;
  Json single = Json::array(), special = Json::object();
  const auto add = [&](const std::vector<TokenId>& ids) {
    for (const TokenId id : ids) {
      const std::string& name = content_of(spec, id);
      single.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
      special[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
    }
  };
  const auto sequence_of = [](const char* name, int type) -> Json {
    return {{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  add(spec.before);
  single.push_back(sequence_of("A", 0));
  add(spec.after);
  const Json pair = {sequence_of("A", 0), sequence_of("B", 1)};
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

Json added_tokens(const TokenizerSpec& spec) {
  Json all = Json::array();
  for (const AddedToken& token : spec.added_tokens) {
    all.push_back({{"id", token.id},
                   {"content", token.content},
                   {"single_word", token.single_word},
                   {"lstrip", token.lstrip},
                   {"rstrip", token.rstrip},
                   {"normalized", token.normalized},
                   {"special", token.special}});
  }
  return all;
}

Json model(const TokenizerSpec& spec) {
  Json vocabulary = Json::object(), merges = Json::array();
  auto& entries = vocabulary.get_ref<Json::object_t&>();
  entries.reserve(spec.tokens.size());
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    // Straight to the end: the tokens are distinct, and looking for each would take the square of their number.
    if (!spec.tokens[id].empty()) entries.Container::emplace_back(spec.tokens[id], id);
  }
  for (const TokenMerge& merge : spec.merges) {
    merges.push_back(
        {spec.tokens[static_cast<std::size_t>(merge.left)], spec.tokens[static_cast<std::size_t>(merge.right)]});
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", spec.unk_token.empty() ? Json(nullptr) : Json(spec.unk_token)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", spec.fuse_unk},
          {"byte_fallback", spec.byte_fallback},
          {"ignore_merges", spec.ignore_merges},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

// Reading.

// Calls read for each step: of a Sequence, whose steps are under `list`, or for the one step that there is.
template <class Read>
void each_step(const JsonPart& part, const char* list, Read&& read) {
  if (part.is_null()) return;
  if (part["type"].text() != "Sequence") return read(part);
  for (const JsonPart& step : part[list].list()) each_step(step, list, read);
}

Replace read_replace(const JsonPart& step) {
  const JsonPart pattern = step["pattern"];
  if (pattern.has("Regex")) pattern["Regex"].refuse("a pattern of kind String");
  Replace replace{pattern["String"].text(), step["content"].text()};
  if (replace.from.empty()) pattern["String"].refuse("a string that is not empty");
  return replace;
}

// The value of an enum that these are the names of.
template <class Enum, std::size_t n>
Enum choice(const JsonPart& part, const std::array<std::string_view, n>& names) {
  const auto found = std::find(names.begin(), names.end(), part.text());
  if (found == names.end()) part.refuse(fmt::format("one of: {}", fmt::join(names, " ")));
  return static_cast<Enum>(found - names.begin());
}

Metaspace read_metaspace(const JsonPart& step) {
  using enum Metaspace::Prepending;
  Metaspace metaspace;
  metaspace.replacement = step["replacement"].text();
  if (metaspace.replacement.empty()) step["replacement"].refuse("a string that is not empty");
  metaspace.prepending = step.truth("add_prefix_space", true) ? always : never;  // as it was written before 2024
  if (step.has("prepend_scheme")) {
    metaspace.prepending = choice<Metaspace::Prepending>(step["prepend_scheme"], prepend_schemes);
  }
  metaspace.split = step.truth("split", true);
  return metaspace;
}

PreTokenizer read_split(const JsonPart& step) {
  const std::string behavior = step["behavior"].text();
  const bool invert = step.truth("invert", false);
  const JsonPart pattern = step["pattern"];
  if (pattern.has("Regex")) {
    const std::optional<Splitter> splitter = splitter_of_pattern(pattern["Regex"].text());
    if (!splitter)
      pattern["Regex"].refuse(
          "an expression of GPT-2, cl100k (Llama 3), Qwen2, o200k, Tekken, DeepSeek, BLOOM or Falcon");
    // Where it covers every text, its matches are all that there is.
    if (invert && !matches_all(*splitter)) step["invert"].refuse("false");
    if (behavior != (invert ? "Removed" : "Isolated")) {
      step["behavior"].refuse(invert ? "Removed (with 'invert')" : "Isolated");
    }
    return RegexSplit{*splitter};
  }
  if (invert) step["invert"].refuse("false");
  TextSplit split{.text = pattern["String"].text()};
  if (split.text.empty()) pattern["String"].refuse("a string that is not empty");
  split.behavior = choice<TextSplit::Behavior>(step["behavior"], behaviors);
  return split;
}

Strip read_strip(const JsonPart& step) {
  Strip strip{step["content"].text(), step["start"].integer(), step["stop"].integer()};
  if (strip.content.empty()) step["content"].refuse("one character");
  if (strip.start < 0) step["start"].refuse("0 or more");
  if (strip.stop < 0) step["stop"].refuse("0 or more");
  return strip;
}

template <class Step>
struct StepReader {
  const char* type;
  Step (*read)(const JsonPart& step);
};
constexpr StepReader<Normalizer> normalizers[] = {
    {"Prepend", [](const JsonPart& step) -> Normalizer { return Prepend{step["prepend"].text()}; }},
    {"Replace", [](const JsonPart& step) -> Normalizer { return read_replace(step); }},
    {"NFC", [](const JsonPart&) -> Normalizer { return Nfc{}; }},
};
constexpr StepReader<PreTokenizer> pre_tokenizers[] = {
    {"ByteLevel",
     [](const JsonPart& step) -> PreTokenizer {
       return ByteLevel{step.truth("add_prefix_space", true), step.truth("use_regex", true)};
     }},
    {"Split", read_split},
    {"Metaspace", [](const JsonPart& step) -> PreTokenizer { return read_metaspace(step); }},
    {"Digits", [](const JsonPart& step) -> PreTokenizer { return Digits{step.truth("individual_digits", false)}; }},
    {"Punctuation",
     [](const JsonPart& step) -> PreTokenizer {
       const std::string behavior = step.has("behavior") ? step["behavior"].text() : "Isolated";
       if (behavior != "Isolated" && behavior != "Contiguous") step["behavior"].refuse("Isolated or Contiguous");
       return Punctuation{behavior == "Contiguous"};
     }},
};

// What may cut pieces further once they are written as bytes: Falcon's.
bool may_follow_bytes(const PreTokenizer& step) {
  const auto* regex = std::get_if<RegexSplit>(&step);
  return std::holds_alternative<Digits>(step) || (regex && regex->splitter == Splitter::three_digits);
}

constexpr StepReader<Decoder> decoders[] = {
    {"ByteLevel", [](const JsonPart&) -> Decoder { return ByteLevelDecoder{}; }},
    {"Metaspace", [](const JsonPart& step) -> Decoder { return read_metaspace(step); }},
    {"Replace", [](const JsonPart& step) -> Decoder { return read_replace(step); }},
    {"ByteFallback", [](const JsonPart&) -> Decoder { return ByteFallback{}; }},
    {"Fuse", [](const JsonPart&) -> Decoder { return Fuse{}; }},
    {"Strip", [](const JsonPart& step) -> Decoder { return read_strip(step); }},
};

template <class Step, std::size_t n>
Step read_step(const JsonPart& step, const StepReader<Step> (&readers)[n]) {
  const std::string type = step["type"].text();
  std::string known = "one of: Sequence";
  for (const StepReader<Step>& reader : readers) {
    if (type == reader.type) return reader.read(step);
    known += fmt::format(" {}", reader.type);
  }
  step["type"].refuse(known);
}

TokenId read_id(const JsonPart& part) {
  const std::int64_t id = part.integer();
  if (id < 0) part.refuse("0 or more");
  return static_cast<TokenId>(id);
}

// <cls> text <sep>, each written as ["<s>", 0].
void read_classifier_form(const JsonPart& step, TokenizerSpec& spec) {
  const auto id_of = [&](const char* key) {
    const std::vector<JsonPart> pair = step[key].list();
    if (pair.size() != 2) step[key].refuse("a token and its id");
    return read_id(pair[1]);
  };
  spec.before.push_back(id_of("cls"));
  spec.after.push_back(id_of("sep"));
}

void read_template(const JsonPart& step, TokenizerSpec& spec) {
  bool behind_text = false;
  for (const JsonPart& each : step["single"].list()) {
    if (!each.has("SpecialToken")) {
      if (behind_text || each["Sequence"]["id"].text() != "A") each.refuse("the sequence A once");
      behind_text = true;
      continue;
    }
    const std::string name = each["SpecialToken"]["id"].text();
    for (const JsonPart& id : step["special_tokens"][name.c_str()]["ids"].list()) {
      (behind_text ? spec.after : spec.before).push_back(read_id(id));
    }
  }
}

void read_post_processor(const JsonPart& step, TokenizerSpec& spec) {
  const std::string type = step["type"].text();
  if (type == "ByteLevel") return;  // changes offsets only
  if (!spec.before.empty() || !spec.after.empty()) {
    throw Error(fmt::format("{} is a second post-processor that adds tokens; expected one", step.where()));
  }
  if (type == "TemplateProcessing") {
    read_template(step, spec);
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    read_classifier_form(step, spec);
  } else {
    step["type"].refuse("one of: Sequence ByteLevel TemplateProcessing RobertaProcessing BertProcessing");
  }
}

AddedToken read_added_token(const JsonPart& part) {
  AddedToken token;
  token.id = read_id(part["id"]);
  token.content = part["content"].text();
  if (token.content.empty()) part["content"].refuse("a string that is not empty");
  token.special = part.truth("special", false);
  token.single_word = part.truth("single_word", false);
  token.lstrip = part.truth("lstrip", false);
  token.rstrip = part.truth("rstrip", false);
  token.normalized = part.truth("normalized", !token.special);
  return token;
}

void read_model(const JsonPart& model, TokenizerSpec& spec) {
  if (model.has("type") && model["type"].text() != "BPE") model["type"].refuse("BPE");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.has(key) && !model[key].text().empty()) model[key].refuse("null");
  }
  if (model.has("dropout")) model["dropout"].refuse("null: merges are never left out by chance");
  model["vocab"];
  model["merges"];
  if (model.has("unk_token")) spec.unk_token = model["unk_token"].text();
  spec.fuse_unk = model.truth("fuse_unk", false);
  spec.byte_fallback = model.truth("byte_fallback", false);
  spec.ignore_merges = model.truth("ignore_merges", false);
}

}  // namespace

TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& file) {
  TokenizerTree tree = read_tokenizer_tree(text, file);
  const JsonPart top(tree.rest, file + ":");
  TokenizerSpec spec;
  read_model(top["model"], spec);
  const auto steps = [&](const char* key, const char* list, auto read) {
    if (top.has(key)) each_step(top[key], list, read);
  };
  steps("normalizer", "normalizers",
        [&](const JsonPart& step) { spec.normalizers.push_back(read_step(step, normalizers)); });
  steps("pre_tokenizer", "pretokenizers", [&](const JsonPart& step) {
    const PreTokenizer read = read_step(step, pre_tokenizers);
    if (is_byte_level(spec) && !may_follow_bytes(read))
      throw Error(fmt::format("{} stands behind ByteLevel; expected ByteLevel to be the last", step.where()));
    spec.pre_tokenizers.push_back(read);
  });
  steps("post_processor", "processors", [&](const JsonPart& step) { read_post_processor(step, spec); });
  steps("decoder", "decoders", [&](const JsonPart& step) { spec.decoders.push_back(read_step(step, decoders)); });
  if (top.has("added_tokens")) {
    for (const JsonPart& each : top["added_tokens"].list()) spec.added_tokens.push_back(read_added_token(each));
  }
  set_vocabulary(std::move(tree.listed), spec);
  return spec;
}

std::string write_tokenizer_json(const TokenizerSpec& spec) {
  check_texts(spec);
  const Json document = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", added_tokens(spec)},
                         {"normalizer", sequence(spec.normalizers, "normalizers")},
                         {"pre_tokenizer", sequence(spec.pre_tokenizers, "pretokenizers")},
                         {"post_processor", post_processor(spec)},
                         {"decoder", sequence(spec.decoders, "decoders")},
                         {"model", model(spec)}};
  return document.dump(1) + "\n";
}

}  // namespace reckon
