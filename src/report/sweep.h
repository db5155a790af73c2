// The report of `sweep`: how parameters and FLOPs follow one size.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>
#include <string>
#include <vector>

#include "count/cache.h"
#include "count/parts.h"
#include "report/chart.h"
#include "report/document.h"

namespace reckon {

struct SweepPoint {
  std::int64_t value = 0;
  ParameterTotals parameters;
  WorkTotals work;
  MatmulParts parts;
  std::optional<CacheCost> cache;  // none when training
  TrainingState state;
  Count matmul_full, matmul_exact;
  bool mostly_visible = true;
};

struct Sweep {
  std::string model;   // its name
  std::string option;  // "context"
  bool doubling = false;
  Workload workload;  // of the first point
  std::vector<SweepPoint> points;
  std::size_t of_points = 0;  // that were asked for; more than there are where it was interrupted
};

SweepPoint sweep_point(std::int64_t value, const Model& model, const Ledger& ledger);
Chart sweep_chart(const Sweep& sweep);
Document sweep_document(const Sweep& sweep);

}  // namespace reckon
