// The derivation of a network as a page: every step in the order of the data, then where it all goes and how it grows.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>
#include <reckon/workload.h>

#include <vector>

#include "count/cache.h"
#include "count/growth.h"
#include "report/document.h"
#include "report/steps.h"

namespace reckon {

Document explain(const Model& model, const Workload& workload);

// The same as data: JSON, and a table of the steps for CSV.
OrderedJson explain_json(const Model& model, const Ledger& ledger, const std::vector<Section>& sections,
                         const std::vector<Growth>& doubled, const CacheCost& cache);
Table steps_table(const Ledger& ledger, const std::vector<Section>& sections);

}  // namespace reckon
