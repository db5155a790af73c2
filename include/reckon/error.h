// The exceptions of the library, all of one type: a sentence that says what, where, what was found, what was expected.
#pragma once

#include <stdexcept>

namespace reckon {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong use, as opposed to bad data. It names fields in backticks, `kv_heads`; a command says --kv-heads instead.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A number that is past its type: the sizes that were asked for are too large.
class Overflow : public Error {
 public:
  using Error::Error;
};

// Thrown out of work that was told to stop before it was done.
class Cancelled : public Error {
 public:
  Cancelled() : Error("interrupted before it was done") {}
};

}  // namespace reckon
