#include "cli/run_text.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>

#include "cli/run_options.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "model/boundary_ids.h"
#include "model/location.h"
#include "run/inputs.h"
#include "text/load.h"
#include "text/openai_formats.h"

namespace reckon::cli {

void add_tokenizer_option(CLI::App& command, std::string& tokenizer) {
  command.add_option("--tokenizer", tokenizer, "its name, file or folder (the model's)")->type_name(tokenizer_type);
}

Tokenizer model_tokenizer(const std::string& named, const std::string& model, const std::string& or_else) {
  if (!named.empty()) return load_tokenizer(named);
  const ModelLocation location = locate_model(model);
  if (const std::string found = location.tokenizer(); !found.empty()) return load_tokenizer(found);
  if (ranked_encoding(model)) return load_tokenizer(model);
  throw UsageError(
      fmt::format("{} comes without a tokenizer; give one with --tokenizer (bytes, {}, a tokenizer.json or a "
                  "folder){}",
                  location.preset.empty() ? location.where : "the preset " + quote(model),
                  fmt::join(fetched_encodings, ", "), or_else));
}

std::vector<std::int32_t> encode_something(const Tokenizer& tokenizer, std::string_view text, const std::string& what) {
  std::vector<std::int32_t> ids = tokenizer.encode(text);
  const TokenizerSpec& spec = tokenizer.spec();
  if (!text.empty() && ids.size() == spec.before.size() + spec.after.size())
    throw UsageError(fmt::format("the tokenizer has no token for anything in {}; expected a text of its tokens", what));
  return ids;
}

std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, const std::string& prompt, const std::string& model) {
  std::vector<std::int32_t> ids = encode_something(tokenizer, prompt, "the prompt");
  if (!ids.empty()) return ids;
  if (const std::optional<std::int32_t> first = begin_of_text_id(model)) return {*first};
  throw UsageError(
      fmt::format("the prompt is empty, and neither the tokenizer nor {} has a token that begins a text; expected some "
                  "text",
                  quote(model)));
}

void check_vocabulary(std::span<const std::int32_t> ids, const Tokenizer& tokenizer, const Model& model) {
  // Added tokens alone are no reason: a checkpoint may have some that its model never saw; they are refused if they
  // come up.
  if (std::ssize(tokenizer.spec().tokens) > model.vocab_size) {
    throw Error(
        fmt::format("the tokenizer has {} tokens, more than the vocabulary of {}, {}; expected the tokenizer that "
                    "the model was trained with",
                    grouped(tokenizer.size()), model.name, grouped(model.vocab_size)));
  }
  for (const std::int32_t id : ids) {
    if (id < model.vocab_size) continue;
    if (static_cast<std::size_t>(id) >= tokenizer.size()) check_ids({&id, 1}, model.vocab_size);  // of the config's own
    throw UsageError(
        fmt::format("the tokenizer gives {} the id {}, but {} has a vocabulary of {}: they do not belong together",
                    quote(tokenizer.bytes(id)), id, model.name, grouped(model.vocab_size)));
  }
}

TextFile text_input(const std::string& file) {
  guard_mapped_files();
  return TextFile(file == "-" ? "/dev/stdin" : file);
}

}  // namespace reckon::cli
