// What a model became in other encodings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/document.h"
#include "run/export_model.h"

namespace reckon {

// A row for each encoding in the table; every tensor in JSON and CSV. `bytes` are those of the whole file.
Document quantise_document(const std::string& model, const std::string& file, std::int64_t bytes,
                           const std::vector<WrittenTensor>& tensors);

}  // namespace reckon
