// Hands buckets of gradients to the communicator, on the last micro-step only.
#include "ops/collectives.h"

#include <reckon/error.h>

#include "backend/cpu/kernels.h"
#include "lowering/target.h"
#include "processes/communicator.h"

namespace reckon {
namespace {

static_assert(bucket_alignment % cpu_target.alignment == 0, "gradients lie in buckets where kernels write them");

std::int64_t elements(const View& view) { return view.rank == 0 ? 1 : view.rows() * view.width(); }

// From the first element of the first tensor to the last of the last.
std::span<float> bucket(const Launch& launch) {
  constexpr std::int64_t size = sizeof(float);
  float* begin = launch.inputs.front().floats();
  float* end = begin;
  for (const View& view : launch.inputs) {
    if (view.floats() != end) throw Error("[all_reduce_start] got gradients that do not follow each other");
    end += padded(elements(view) * size, bucket_alignment) / size;
  }
  return {begin, end};
}

}  // namespace

void run_all_reduce_start(const Launch& launch) {
  if (launch.training->ranks != nullptr) launch.training->ranks->start_sum(bucket(launch));
}

void run_all_reduce_wait(const Launch& launch) { launch.training->ranks->finish_sum(); }

}  // namespace reckon
