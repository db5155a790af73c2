// One row or more for every operation: a tiny program that holds it, and what it must cost, worked out by hand.
// The test of the operations and the test of docs/counting.md go through the same rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "program/builder.h"

namespace reckon {

struct OpCase {
  std::string operation;
  std::string variant;                             // as docs/counting.md calls it; empty where it has none
  Stage stage = Stage::forward;                    // backward: the op is one that the gradient of the program emits
  int nth = 0;                                     // which of the ops of that name and stage
  TensorId (*build)(Builder&);                     // returns what is differentiated
  std::vector<std::vector<std::int64_t>> outputs;  // their sizes, absent ones left out
  std::int64_t matmul = 0, elementwise = 0, read = 0, written = 0;
  std::map<std::string, std::int64_t> symbols;  // of the formulas in docs/counting.md
  Workload workload = {};
  std::int64_t read_least = -1;
  std::int64_t sent = 0;
};

const std::vector<OpCase>& op_cases();

// The program of a case, and its op.
struct BuiltCase {
  Program program;
  Op op;
};
BuiltCase build(const OpCase& row);

}  // namespace reckon
