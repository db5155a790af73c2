// Layouts that were found, as a report.
#pragma once

#include <optional>
#include <string>

#include "report/document.h"
#include "time/estimate.h"
#include "time/search.h"
#include "time/serving.h"

namespace reckon {

// `price`: of a device, where one is known. `engine`: the one that they are limited to; empty: none.
Document plan_document(const Search& search, const Plans& plans, const std::optional<DevicePrice>& price,
                       const std::string& engine);
Document serving_document(const Search& search, const ServingPlans& plans, const std::optional<double>& token_seconds,
                          const std::optional<DevicePrice>& price, const std::string& engine);

}  // namespace reckon
