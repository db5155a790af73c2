// What a config.json says of layers behind the stack that predict further tokens.
#pragma once

#include <reckon/model.h>

#include <cstdint>
#include <string>

#include "model/fields.h"

namespace reckon {

// How many there are, and the field that says so.
struct FurtherLayers {
  std::string field;
  std::int64_t layers = 0;
  std::int64_t drafts = 0;  // where they draft so many tokens at once, from states of several layers (DSpark)
};

// Of the language model's own fields, or, beside it, of the file's; 0 where neither says that there are any.
FurtherLayers read_further_layers(Fields& file, Fields& network);

// Builds them of the stack's layers, where the structure of a family's is public, and returns the sentence that says
// what became of them.
std::string add_predictors(Fields& file, Fields& network, const FurtherLayers& further, Model& model);

}  // namespace reckon
