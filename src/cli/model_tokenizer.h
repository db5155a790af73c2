// The tokenizer that a model's text goes through.
#pragma once

#include <reckon/model.h>

#include <cstdint>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace reckon::cli {

// The one that --tokenizer names; where that is empty, the model's own: in its folder, or under its name.
Tokenizer load_model_tokenizer(const std::string& tokenizer, const std::string& model);

// An Error where the tokenizer has more tokens than the model. Added tokens do not count: a checkpoint may have some
// that its model never saw, and they are refused if they come up.
void check_vocabulary(const Tokenizer& tokenizer, const Model& model);

}  // namespace reckon::cli
