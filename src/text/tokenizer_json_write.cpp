#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "text/tokenizer_json.h"

namespace reckon {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Prepend& step) { return {{"type", "Prepend"}, {"prepend", step.text}}; }
Json json_of(const Replace& step) {
  return {{"type", "Replace"}, {"pattern", {{"String", step.from}}}, {"content", step.to}};
}
Json json_of(const Nfc&) { return {{"type", "NFC"}}; }

Json json_of(const RegexSplit& step) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", patterns_of(step.splitter).front()}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}
Json json_of(const TextSplit& step) {
  constexpr const char* names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext"};
  return {{"type", "Split"},
          {"pattern", {{"String", step.text}}},
          {"behavior", names[static_cast<std::size_t>(step.behavior)]},
          {"invert", false}};
}
Json byte_level(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"trim_offsets", true}, {"use_regex", use_regex}};
}
Json json_of(const ByteLevel& step) { return byte_level(step.add_prefix_space, step.use_regex); }
Json json_of(const Metaspace& step) {
  constexpr const char* names[] = {"first", "always", "never"};
  return {{"type", "Metaspace"},
          {"replacement", step.replacement},
          {"prepend_scheme", names[static_cast<std::size_t>(step.prepending)]},
          {"split", step.split}};
}
Json json_of(const Digits& step) { return {{"type", "Digits"}, {"individual_digits", step.individual}}; }

Json json_of(const ByteLevelDecoder&) { return byte_level(true, true); }
Json json_of(const ByteFallback&) { return {{"type", "ByteFallback"}}; }
Json json_of(const Fuse&) { return {{"type", "Fuse"}}; }
Json json_of(const Strip& step) {
  return {{"type", "Strip"}, {"content", step.content}, {"start", step.start}, {"stop", step.stop}};
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
  Json single = Json::array(), pair = Json::array(), special = Json::object();
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
  pair = {sequence_of("A", 0), sequence_of("B", 1)};
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
    merges.push_back({spec.tokens[static_cast<std::size_t>(merge.left)], spec.tokens[static_cast<std::size_t>(merge.right)]});
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

}  // namespace

std::string write_tokenizer_json(const TokenizerSpec& spec) {
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
