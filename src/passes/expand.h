// Every repeated block written out: what is bound to memory and run.
#pragma once

#include "program/program.h"

#include <vector>

namespace reckon {

// What a tensor or op of the expanded program is in the folded one.
struct Origin {
  std::int32_t index;
  std::int64_t iteration;  // 0 outside of repeats
};

struct Origins {
  std::vector<Origin> tensors, ops;
};

Program expand(const Program& program, Origins* origins = nullptr);

}  // namespace reckon
