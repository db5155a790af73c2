// How much to train a model, as a part of a report.
#pragma once

#include <optional>
#include <vector>

#include "count/training_amounts.h"
#include "report/document.h"

namespace reckon {

// What a number of tokens takes on the devices; what is not known of them is left out.
struct TrainingPace {
  double tokens_per_second = 0;
  std::optional<double> watts;         // of all devices
  std::optional<double> usd_per_hour;  // …
};

// Appends tables to the document, and "training" to its JSON.
void add_training_amounts(Document& document, const TrainingAmounts& amounts, const TrainingPace& pace);

}  // namespace reckon
