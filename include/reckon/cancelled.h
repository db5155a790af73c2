// What running and training throw when they are cancelled.
#pragma once

#include <reckon/error.h>

namespace reckon {

// Thrown out of work that was told to stop before it was done.
class Cancelled : public Error {
 public:
  Cancelled() : Error("interrupted before it was done") {}
};

}  // namespace reckon
