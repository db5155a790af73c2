// The report of `count`: where every parameter, FLOP and weight byte of a model goes.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>

#include "count/cache.h"
#include "count/rules.h"
#include "model/file_report.h"
#include "report/document.h"

namespace reckon {

struct CountView {
  By by = By::component;
  Convention convention = Convention::exact;
  double train_tokens = 0;  // 0: none
  std::optional<FileReport> file;
  bool of_file = false;     // its tensors are the model's, which was not changed
  bool json_alone = false;  // tables that nobody reads are not made
};

Document count_document(const Model& model, const Ledger& ledger, const CountView& view);

// The parts that have files of their own.
OrderedJson count_json(const Model& model, const Ledger& ledger, const CountView& view, const std::vector<Rule>& rules,
                       const std::optional<CacheCost>& cache);
void add_file_parts(Document& document, const Model& model, const FileReport& file);
// The model's own weights in it, as a line and as data.
std::string in_file_text(const FileReport& file);
OrderedJson in_file_json(const FileReport& file);
OrderedJson file_json(const FileReport& file, bool tensors);  // `tensors`: one by one, too

std::vector<Dim> dimensions(const Ledger& ledger);  // of all its formulas
Table symbols_table(const std::vector<Dim>& dimensions);
// A quantity's rows with formula, value, share and bar.
Table quantity_table(const Ledger& ledger, Quantity quantity, By by, const std::string& title);

}  // namespace reckon
