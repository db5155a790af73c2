// The one function that writes every network as a program.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "program/program.h"

namespace reckon {

// The workload with its open choices filled in for this model; throws UsageError where it makes no sense.
Workload resolve(const Model& model, Workload workload);

// The forward pass; when training, with the loss at its end.
Program forward(const Model& model, const Workload& workload);

}  // namespace reckon
