// How much to train a model, as a part of a report.
#pragma once

#include <vector>

#include "count/training_amounts.h"
#include "report/document.h"
#include "time/estimate.h"

namespace reckon {

// Appends tables to the document, and "compute_optimal" to its JSON. `runs` are the trainings of the amounts, and then
// those of what is served, each in their order.
void add_training_amounts(Document& document, const TrainingAmounts& amounts, const std::vector<TrainingRun>& runs);

}  // namespace reckon
