// The sentence of a shape error: which operation, what it got, what it expected.
#pragma once

#include <reckon/error.h>

#include <string>

namespace reckon {

inline void check(bool good, const char* operation, const std::string& found, const std::string& expected) {
  if (!good) throw Error(std::string("[") + operation + "] got " + found + ", expected " + expected);
}

}  // namespace reckon
