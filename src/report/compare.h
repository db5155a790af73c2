// The report of `compare`: models side by side, component by component.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <vector>

#include "report/document.h"

namespace reckon {

struct Compared {
  Model model;
  Ledger ledger;
};

Document compare_document(const std::vector<Compared>& compared);

}  // namespace reckon
