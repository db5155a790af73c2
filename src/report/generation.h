// The report of a generation: its continuations, and how long they took.
#pragma once

#include <reckon/generate.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "text/tokenizer.h"

namespace reckon {

struct GenerationView {
  const Tokenizer* tokenizer = nullptr;  // null: ids alone
  std::vector<std::string> stops = {};   // each text ends before the first of them
  bool beams = false;                    // shows scores
};

// Stands above a result where there are several: "── 1 of 3 · score -0.5120 · end of text ──", the score where there
// are beams.
std::string continuation_heading(const Continuation& one, std::size_t number, std::size_t count, bool beams);

Document generation_document(std::span<const std::int32_t> prompt, const Generated& generated,
                             const GenerationView& view);

// Of several texts: a continuation of each, in their order.
struct Prompts {
  std::vector<std::string> texts;
  std::vector<std::vector<std::int32_t>> ids;
};
Document prompts_document(const Prompts& prompts, const Generated& generated, const GenerationView& view);

}  // namespace reckon
