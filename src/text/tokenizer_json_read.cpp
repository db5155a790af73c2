#include <fmt/core.h>
#include <reckon/error.h>

#include "files/quote.h"
#include "text/json_tree.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace reckon {
namespace {

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

Metaspace read_metaspace(const JsonPart& step) {
  using enum Metaspace::Prepending;
  Metaspace metaspace;
  metaspace.replacement = step["replacement"].text();
  if (metaspace.replacement.empty()) step["replacement"].refuse("a string that is not empty");
  metaspace.prepending = step.truth("add_prefix_space", true) ? always : never;  // as it was written before 2024
  if (step.has("prepend_scheme")) {
    const std::string scheme = step["prepend_scheme"].text();
    if (scheme != "first" && scheme != "always" && scheme != "never") {
      step["prepend_scheme"].refuse("one of: first always never");
    }
    metaspace.prepending = scheme == "first" ? first : scheme == "always" ? always : never;
  }
  metaspace.split = step.truth("split", true);
  return metaspace;
}

PreTokenizer read_split(const JsonPart& step) {
  using enum TextSplit::Behavior;
  const std::string behavior = step["behavior"].text();
  const bool invert = step.truth("invert", false);
  const JsonPart pattern = step["pattern"];
  if (pattern.has("Regex")) {
    // The known expressions cover every text: their matches are all that there is.
    if (behavior != (invert ? "Removed" : "Isolated")) {
      step["behavior"].refuse(invert ? "Removed (with 'invert')" : "Isolated");
    }
    const std::optional<Splitter> splitter = splitter_of_pattern(pattern["Regex"].text());
    if (!splitter) pattern["Regex"].refuse("the expression of GPT-2, cl100k (Llama 3), Qwen2 or o200k");
    return RegexSplit{*splitter};
  }
  if (invert) step["invert"].refuse("false");
  TextSplit split{pattern["String"].text(), isolated};
  if (split.text.empty()) pattern["String"].refuse("a string that is not empty");
  if (behavior == "Removed") {
    split.behavior = removed;
  } else if (behavior == "MergedWithPrevious") {
    split.behavior = merged_with_previous;
  } else if (behavior == "MergedWithNext") {
    split.behavior = merged_with_next;
  } else if (behavior != "Isolated") {
    step["behavior"].refuse("one of: Removed Isolated MergedWithPrevious MergedWithNext");
  }
  return split;
}

void read_normalizer(const JsonPart& step, TokenizerSpec& spec) {
  const std::string type = step["type"].text();
  if (type == "Prepend") {
    spec.normalizers.emplace_back(Prepend{step["prepend"].text()});
  } else if (type == "Replace") {
    spec.normalizers.emplace_back(read_replace(step));
  } else if (type == "NFC") {
    spec.normalizers.emplace_back(Nfc{});
  } else {
    step["type"].refuse("one of: Sequence Prepend Replace NFC");
  }
}

void read_pre_tokenizer(const JsonPart& step, TokenizerSpec& spec) {
  if (is_byte_level(spec)) throw Error(fmt::format("{} stands behind ByteLevel; expected ByteLevel to be the last", step.where()));
  const std::string type = step["type"].text();
  if (type == "ByteLevel") {
    spec.pre_tokenizers.emplace_back(ByteLevel{step.truth("add_prefix_space", true), step.truth("use_regex", true)});
  } else if (type == "Split") {
    spec.pre_tokenizers.push_back(read_split(step));
  } else if (type == "Metaspace") {
    spec.pre_tokenizers.emplace_back(read_metaspace(step));
  } else if (type == "Digits") {
    spec.pre_tokenizers.emplace_back(Digits{step.truth("individual_digits", false)});
  } else {
    step["type"].refuse("one of: Sequence ByteLevel Split Metaspace Digits");
  }
}

void read_decoder(const JsonPart& step, TokenizerSpec& spec) {
  const std::string type = step["type"].text();
  if (type == "ByteLevel") {
    spec.decoders.emplace_back(ByteLevelDecoder{});
  } else if (type == "Metaspace") {
    spec.decoders.emplace_back(read_metaspace(step));
  } else if (type == "Replace") {
    spec.decoders.emplace_back(read_replace(step));
  } else if (type == "ByteFallback") {
    spec.decoders.emplace_back(ByteFallback{});
  } else if (type == "Fuse") {
    spec.decoders.emplace_back(Fuse{});
  } else if (type == "Strip") {
    const Strip strip{step["content"].text(), step["start"].integer(), step["stop"].integer()};
    if (strip.content.empty()) step["content"].refuse("one character");
    if (strip.start < 0) step["start"].refuse("0 or more");
    if (strip.stop < 0) step["stop"].refuse("0 or more");
    spec.decoders.emplace_back(strip);
  } else {
    step["type"].refuse("one of: Sequence ByteLevel Metaspace Replace ByteFallback Fuse Strip");
  }
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
    if (top.has(key)) each_step(top[key], list, [&](const JsonPart& step) { read(step, spec); });
  };
  steps("normalizer", "normalizers", read_normalizer);
  steps("pre_tokenizer", "pretokenizers", read_pre_tokenizer);
  steps("post_processor", "processors", read_post_processor);
  steps("decoder", "decoders", read_decoder);
  if (top.has("added_tokens")) {
    for (const JsonPart& each : top["added_tokens"].list()) spec.added_tokens.push_back(read_added_token(each));
  }
  set_vocabulary(std::move(tree.listed), spec);
  return spec;
}

}  // namespace reckon
