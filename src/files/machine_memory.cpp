#include "files/machine_memory.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/numbers.h"

namespace reckon {

void check_memory(const std::string& what, Count bytes, std::int64_t left) {
  const Count room = left > 0 ? left : machine_memory();
  if (bytes <= room) return;
  throw Error(fmt::format("{} take {}, but {} {} of memory{}", what, binary_bytes(bytes),
                          left > 0 ? "there are" : "this machine has", binary_bytes(room), left > 0 ? " left" : ""));
}

}  // namespace reckon
