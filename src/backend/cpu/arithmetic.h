// What decides the last bits of a result, besides the program that is run: the kernels of this machine.
#pragma once

#include <string>

namespace reckon {

struct Arithmetic {
  std::string instruction_set;  // as Highway names it: "AVX2"
  std::string openblas;         // where products use it, as it describes itself; empty: they do not
  bool operator==(const Arithmetic&) const = default;
};

Arithmetic this_arithmetic();

// "AVX2 and OpenBLAS 0.3.21 …", "AVX3 without OpenBLAS"
std::string to_string(const Arithmetic& arithmetic);

}  // namespace reckon
