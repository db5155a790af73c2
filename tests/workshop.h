// What products run on, for tests of them alone.
#pragma once

#include <span>

#include "backend/cpu/dense.h"
#include "backend/cpu/machine.h"

namespace reckon::testing_products {

struct Workshop {
  Pool pool;
  Scratch scratch;
  Counters counters;
  Machine machine{pool, scratch, counters};
  explicit Workshop(int threads) : pool(threads), scratch(threads), counters(threads) {}
  void run(std::span<const Product> products) { run_products(machine, products); }
};

}  // namespace reckon::testing_products
