// The report of a generation: its continuations, and how long they took.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/document.h"
#include "run/generation.h"
#include "text/tokenizer.h"

namespace reckon {

struct GenerationView {
  const Tokenizer* tokenizer = nullptr;  // null: ids alone
  std::vector<std::string> stops = {};   // each text ends before the first of them
  bool beams = false;                    // shows scores
};

Document generation_document(std::span<const std::int32_t> prompt, const Generated& generated,
                             const GenerationView& view);

}  // namespace reckon
