// What training a tokenizer gave.
#pragma once

#include <string>

#include "report/document.h"
#include "text/train.h"

namespace reckon {

struct TrainedReport {
  std::string file;              // that was written
  std::int64_t vocab_asked = 0;  // more than there are tokens: the text was too small
  double seconds = 0;
};
Document trained_tokenizer_document(const TrainedTokenizer& trained, const TrainedReport& report);

}  // namespace reckon
