// Reports of runs: logits, verification, where the time went.
#pragma once

#include <reckon/model.h>

#include "report/document.h"
#include "backend/profile.h"
#include "run/verify.h"
#include "run/verify_reference.h"

#include <cstdint>
#include <span>
#include <string>

namespace reckon {

// A row per position: the most likely next tokens in the table, every logit in JSON and CSV.
Document logits_document(std::span<const std::int32_t> ids, std::span<const float> logits, std::int64_t vocabulary);

Document verify_document(const Model& model, const Verification& verification);
Document verify_document(const Model& model, const ReferenceComparison& comparison);

// Time, GFLOP/s and GB/s of each kind of op.
Document profile_document(const Profile& profile);
// The same event by event, as Chrome's trace viewer reads it.
std::string chrome_trace(const Profile& profile);

}  // namespace reckon
