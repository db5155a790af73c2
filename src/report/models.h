// The list of presets.
#pragma once

#include <reckon/model.h>

#include <string>
#include <vector>

#include "report/document.h"

namespace reckon {

Document models_document(const std::vector<Model>& models);

// Names that a config.json may have beside those of types: of wrappers, whose language model is read, and of makers'
// own, for a type that transformers calls otherwise.
std::vector<std::string> further_names();

// The model types that are read, of which these names are a part: what each adds, and what it is held against. And of
// further names, what is read.
Document types_document(const std::vector<std::string>& types, const std::vector<std::string>& further);

}  // namespace reckon
