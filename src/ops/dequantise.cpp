#include "ops/dequantise.h"

#include "ops/rules.h"

namespace reckon {

// An element is its code's entry in a table times the block's largest value.
const OperationOf<> dequantise_operation{{"dequantise", output_cost<1>, nullptr}};

}  // namespace reckon
