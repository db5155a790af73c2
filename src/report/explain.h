// The derivation of a network as a page: every step in the order of the data, then where it all goes and how it grows.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "report/document.h"

namespace reckon {

Document explain(const Model& model, const Workload& workload);

}  // namespace reckon
