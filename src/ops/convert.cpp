#include "ops/convert.h"

namespace reckon {
namespace {

// Copies: rounding is no arithmetic of the network.
Cost cost(const Program& program, const Op& op) {
  Cost cost;
  add_traffic(cost, program, op);
  return cost;
}

}  // namespace

const OperationOf<> narrow_operation{{"narrow", cost, nullptr}};
const OperationOf<> widen_operation{{"widen", cost, nullptr}};

}  // namespace reckon
