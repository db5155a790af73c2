// The same derivation as data: JSON, and a table of the steps for CSV.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "count/cache.h"
#include "count/growth.h"
#include "report/document.h"
#include "report/steps.h"

namespace reckon {

nlohmann::ordered_json explain_json(const Model& model, const Ledger& ledger, const std::vector<Section>& sections,
                                    const std::vector<Growth>& doubled, const CacheCost& cache);
Table steps_table(const Ledger& ledger, const std::vector<Section>& sections);

}  // namespace reckon
