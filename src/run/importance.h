// What a model's matrices are multiplied with, measured on a text: for encoders that keep what matters.
#pragma once

#include <reckon/run.h>

#include "run/export_model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace reckon {

// The mean squares of the columns of what each matrix is multiplied with while the text runs, window after window of
// options.capacity tokens; and how they are correlated, of matrices with at most so many columns (a square of them is
// kept for each). `progress` is told how many tokens are done.
inline constexpr std::int64_t most_correlated = 2048;
Importance measure_importance(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids,
                              EngineOptions options, Pool& pool, const std::function<void(std::int64_t)>& progress);

// The upper triangular U with UᵀU the inverse of a positive definite matrix (columns × columns, of which the upper half
// is read).
std::vector<float> inverse_factor(std::vector<double> matrix, std::int64_t columns);

}  // namespace reckon
