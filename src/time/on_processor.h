// How long a program takes on a processor: one region of ops after another, each as fast as its kernels were measured,
// or as the bytes come from the caches and the memory.
#pragma once

#include "time/roofline.h"

namespace reckon {

Timing time_on_processor(const Program& lowered, const Hardware& hardware);

}  // namespace reckon
