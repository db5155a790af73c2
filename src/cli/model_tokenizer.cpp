#include "cli/model_tokenizer.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <filesystem>

#include "report/numbers.h"
#include "text/load.h"

namespace reckon::cli {

Tokenizer load_model_tokenizer(const std::string& tokenizer, const std::string& model) {
  if (!tokenizer.empty()) return load_tokenizer(tokenizer);
  const std::filesystem::path path = model;
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return load_tokenizer(model);
  return load_tokenizer(path.has_parent_path() ? path.parent_path().string() : ".");
}

void check_vocabulary(const Tokenizer& tokenizer, const Model& model) {
  const auto tokens = std::ssize(tokenizer.spec().tokens);
  if (tokens <= model.vocab_size) return;
  throw Error(
      fmt::format("the tokenizer has {} tokens, more than the vocabulary of {}, {}; expected the tokenizer that "
                  "the model was trained with",
                  grouped(static_cast<std::int64_t>(tokenizer.size())), model.name, grouped(model.vocab_size)));
}

}  // namespace reckon::cli
