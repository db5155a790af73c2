// Reports of looking inside a model: what may come next, where its heads look, which tokens it keeps close.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/document.h"
#include "run/attention_maps.h"
#include "run/neighbours.h"
#include "run/next_tokens.h"

namespace reckon {

// `u`: the number that draws, where one was given.
Document next_document(std::span<const std::int32_t> ids, const NextTokens& next, std::optional<double> u);

// A line for each head: its habits, and where the last token looks. All weights in JSON and CSV.
Document attention_document(std::span<const std::int32_t> ids, const AttentionMaps& maps);

Document nearest_document(std::int32_t id, const std::vector<Neighbour>& nearest);

}  // namespace reckon
