#include "count/adapters.h"

#include <reckon/reckon.h>

namespace reckon {

std::optional<AdapterCount> count_adapters(const Model& model, const Workload& workload) {
  if (workload.lora.rank == 0) return std::nullopt;
  Workload one;  // the parameters are the same in any phase
  one.tokens = 1;
  one.lora = workload.lora;
  const Ledger ledger = count(model, one);
  AdapterCount found;
  found.all = ledger.parameter_totals.total;
  for (const ParameterEntry& entry : ledger.parameters)
    if (entry.piece == Piece::lora_a || entry.piece == Piece::lora_b) found.adapters += entry.each * entry.place.count;
  found.share = static_cast<double>(found.adapters) / static_cast<double>(found.all);
  return found;
}

}  // namespace reckon
