// Reports of runs: logits, scores, verification, where the time went.
#pragma once

#include <reckon/model.h>

#include "backend/run_profile.h"
#include "report/document.h"
#include "run/score.h"
#include "run/verify.h"
#include "run/verify_reference.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace reckon {

// A row per position: the most likely next tokens in the table, every logit in JSON and CSV.
Document logits_document(std::span<const std::int32_t> ids, std::span<const float> logits, std::int64_t vocabulary);

// Loss, perplexity, bits per byte. `bytes` of the text that the scored tokens stand for, where there is a text;
// `context` is the length of a window.
Document score_document(const std::string& model, const Score& score, std::optional<std::int64_t> bytes,
                        std::int64_t context);

// Both models' scores, how far the first is from the second, and where it is farthest. `piece` gives the text of
// a token; empty without a tokenizer.
struct DivergenceNames {
  std::string model, other;
  std::function<std::string(std::int32_t)> piece;
};
Document divergence_document(const DivergenceNames& names, std::span<const std::int32_t> ids,
                             const Divergence& divergence, std::optional<std::int64_t> bytes, std::int64_t context);

Document verify_document(const Model& model, const Verification& verification);
Document verify_document(const Model& model, const ReferenceComparison& comparison);

// Time, GFLOP/s and GB/s of each kind of op.
Document profile_document(const RunProfile& profile);
// The same event by event, as Chrome's trace viewer reads it.
std::string chrome_trace(const RunProfile& profile);

}  // namespace reckon
