// The report of `compare`: models side by side, component by component.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>
#include <string>
#include <vector>

#include "count/cache.h"
#include "model/file_report.h"
#include "report/document.h"

namespace reckon {

struct Compared {
  Model model;
  Ledger ledger;
  std::optional<CacheCost> cache;  // none when training
  std::optional<FileReport> file;  // where the model's weights, unchanged, are in one that has all of them
};

// `note`: a sentence about what was compared; empty: none.
Document compare_document(const std::vector<Compared>& compared, const std::string& note = "");

}  // namespace reckon
