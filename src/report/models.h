// The list of presets.
#pragma once

#include <reckon/model.h>

#include <string>
#include <vector>

#include "report/document.h"

namespace reckon {

Document models_document(const std::vector<Model>& models);

// The model types that are read, of which these names are a part: what each adds, and what it is held against.
Document types_document(const std::vector<std::string>& types);

}  // namespace reckon
