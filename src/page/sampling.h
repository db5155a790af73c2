// How tokens are drawn, as a field of requests.
#pragma once

#include <reckon/generate.h>

#include "page/fields.h"

namespace reckon::page {

// Left out: the model's own distribution. A UsageError where it makes no sense.
Sampling sampling_of(const Fields& fields);

}  // namespace reckon::page
