// What a smaller module of the page leaves to a larger one, which has everything.
#pragma once

#include <exception>

namespace reckon {

// Thrown by the twins of what is left out. No Error: nobody is to make another sentence of it on the way.
struct Lacking : std::exception {
  const char* what() const noexcept override { return "the larger module has this"; }
};

[[noreturn]] inline void leave() { throw Lacking(); }

}  // namespace reckon
