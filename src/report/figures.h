// The figures of a report one by one, as CSV holds them: each on a line of its own, and no sums among their parts.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>
#include <string>
#include <vector>

#include "count/cache.h"
#include "count/rules.h"
#include "model/file_report.h"
#include "report/document.h"

namespace reckon {

struct Figure {
  std::string component;  // "attention: scores", or "model" for what belongs to all of it
  std::string quantity;   // "matmul FLOPs"; adding up one quantity over its components never counts anything twice
  std::string value;      // plain digits, or a word of the workload: "prefill"
  std::string unit;       // "FLOP"; "word"
};

// Sizes, parameters, FLOPs, bytes: what `count` and `compare` both know of a model. Parts are grouped by `by`.
std::vector<Figure> model_figures(const Model& model, const Ledger& ledger, By by,
                                  const std::optional<CacheCost>& cache);
std::vector<Figure> rule_figures(const std::vector<Rule>& rules);
std::vector<Figure> file_figures(const FileReport& file);

Table figures_table(const std::vector<Figure>& figures);  // component, quantity, value, unit

}  // namespace reckon
