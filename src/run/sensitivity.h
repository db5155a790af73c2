// How much of what matrices lose is lost by the predictions.
#pragma once

#include <reckon/run.h>

#include "run/export_model.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace reckon {

// What goes on, and how far it is.
using OnSensitivity = std::function<void(std::string_view what, std::int64_t done, std::int64_t all)>;

// For each tensor, the divergence of the predictions, in nats per token, for each unit of EncodedTensor::loss: matrices
// of one name are rounded to four bits in all layers at once, and the text is read with these and with the model as it
// is. (A divergence grows with the squares of small changes, as the loss does.) 0 for what is not encoded. Without
// `ids` the text is what the model writes itself. Throws Cancelled.
std::vector<double> measure_sensitivity(const std::shared_ptr<const LoadedModel>& loaded, const ModelExport& model,
                                        const Importance& importance, std::span<const std::int32_t> ids,
                                        const EngineOptions& options, Pool& pool, const OnSensitivity& progress);

}  // namespace reckon
