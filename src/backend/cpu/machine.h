// The machine that kernels run on.
#pragma once

#include "backend/cpu/counters.h"
#include "backend/cpu/scratch.h"
#include "threads/pool.h"

#include <cstdint>

namespace reckon {

struct Machine {
  Pool& pool;
  Scratch& scratch;
  Counters& counters;
  std::int64_t left_out = -1;  // this task of every region is not run: tests see that the counters notice

  // Pool::run(), with what each task does counted.
  template <class Body>
  void run(std::int64_t tasks, const Body& body) {
    pool.run(tasks, [&](std::int64_t task, int worker) {
      if (task == left_out) return;
      const CountedTask here(counters, worker);
      body(task, worker);
    });
  }
};

}  // namespace reckon
