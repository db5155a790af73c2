// What the updates of all optimizers have in common: each has a parameter and its gradient as its first inputs, changes
// what it keeps of the parameter in place, and has the wide values of a parameter that is narrower than these.
#pragma once

#include "program/builder.h"

namespace reckon {

// The inputs that every update begins with.
namespace update_input {
enum { parameter, gradient };
}

// Whether an operation is the update of a parameter, by whichever optimizer.
bool is_update(const Operation& operation);

// What an optimizer keeps of a parameter, in its shape or in another.
TensorId moment(Builder& builder, TensorId parameter, Piece piece, DType dtype);
TensorId moment(Builder& builder, TensorId parameter, Piece piece, DType dtype, const Shape& shape);

// Adds the master of a parameter, where it has one, as the last input and output of its update: an optimizer adds steps
// that a narrow weight would round away, so it changes the wide values, and makes the narrow ones of them.
void add_master(Builder& builder, TensorIds& inputs, TensorIds& outputs);

// The cost of an update: every input and output once, but of a parameter with a master the narrow values are written
// alone.
Cost update_cost(const Program& program, const Op& op, Formula elementwise, Formula matmul = {});

}  // namespace reckon
