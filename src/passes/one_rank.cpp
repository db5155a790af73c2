// The twin of the passes for several ranks, in the page's modules that count and run: they have one rank.
#include <reckon/error.h>

#include "passes/all_reduce.h"
#include "passes/data_parallel.h"
#include "passes/gather_again.h"
#include "passes/shard.h"

namespace reckon {

Program shard(Program forward) {
  Layout one;
  one.micro_batches = forward.workload.layout.micro_batches;
  if (forward.workload.layout != one)
    throw Error("the page counts one rank alone; reckon in the terminal counts several");
  return forward;
}

Differentiated gather_again(Differentiated differentiated) { return differentiated; }
Differentiated share_gradients(Differentiated differentiated) { return differentiated; }
Program gather_updates(Program program) { return program; }
Program sum_over_ranks(Program program, std::int64_t) { return program; }

}  // namespace reckon
