// The products that ops are made of.
#pragma once

#include "program/program.h"
#include "time/products.h"

namespace reckon {

bool is_weight_gradient(const Op& op);
// One with a matrix, or with one for each expert.
bool is_dense_product(const Op& op);

// Of so many FLOPs; experts take even shares of the rows.
ProductShape shape_of(const Program& program, const Op& op, double flops);

}  // namespace reckon
