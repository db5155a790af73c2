// The list of presets.
#pragma once

#include <reckon/model.h>

#include <vector>

#include "report/document.h"

namespace reckon {

Document models_document(const std::vector<Model>& models);

}  // namespace reckon
