// What a model becomes in each encoding, as a report and as a picture of size against loss.
#pragma once

#include <string>

#include "measure/encoding_table.h"
#include "report/document.h"

namespace reckon {

Document encoding_table_document(const std::string& model, const EncodingTable& table);

// The table must have losses.
std::string encoding_table_svg(const std::string& model, const EncodingTable& table);

}  // namespace reckon
