// The report of a score: loss, perplexity, bits per byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/document.h"
#include "run/score.h"

namespace reckon {

// `bytes` of the text that the scored tokens stand for, where there is a text; `context` is the length of a window.
Document score_document(const std::string& model, const Score& score, std::optional<std::int64_t> bytes,
                        std::int64_t context);

}  // namespace reckon
