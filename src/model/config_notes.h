// What a config.json says beyond the network that is read from it, a sentence each: another head, further layers,
// quantized weights, parts that are left out.
#pragma once

#include <string>
#include <vector>

#include "model/fields.h"

namespace reckon {

// `file` is the whole of it, `nest` the field that holds the language model, or null. Marks what it reads.
std::vector<std::string> config_notes(const char* nest, Fields& file, Fields& network);

}  // namespace reckon
