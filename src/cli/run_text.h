// Text for the commands that run a model: where it comes from, and the tokenizer that goes with the model.
#pragma once

#include <reckon/model.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/text_files.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
}

namespace reckon::cli {

// What --tokenizer takes, in the help; completion offers the names behind it.
inline constexpr const char* tokenizer_type = "TOKENIZER";
void add_tokenizer_option(CLI::App& command, std::string& tokenizer);  // --tokenizer, the model's unless it is given
// The one that was named, or else that of the model: in its folder, or of its name. `or_else` is what the command takes
// instead of text: ", or ids with --ids".
Tokenizer model_tokenizer(const std::string& named, const std::string& model, const std::string& or_else);

// The ids of a text. UsageError where it is not empty, and none of them is of anything in it; `what` names it there.
std::vector<std::int32_t> encode_something(const Tokenizer& tokenizer, std::string_view text, const std::string& what);

// The ids of a prompt. An empty one is what the tokenizer adds to any text, or else the model's own first token;
// UsageError where there is neither.
std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, const std::string& prompt, const std::string& model);

// Throws UsageError where a text has ids that the model has no embedding for: the tokenizer is another model's.
void check_vocabulary(std::span<const std::int32_t> ids, const Tokenizer& tokenizer, const Model& model);

TextFile text_input(const std::string& file);  // "-": standard input

}  // namespace reckon::cli
