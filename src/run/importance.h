// How much each column of a model's matrices counts, measured on a text: for encoders that keep what matters.
#pragma once

#include <reckon/run.h>

#include "run/export_model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace reckon {

// The mean squares of what each matrix is multiplied with while the text runs, window after window of options.capacity
// tokens. `progress` is told how many tokens are done.
Importance measure_importance(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids,
                              EngineOptions options, const std::function<void(std::int64_t)>& progress);

}  // namespace reckon
