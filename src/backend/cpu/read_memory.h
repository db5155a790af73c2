// The limit of whatever must read all weights: a loop that only reads.
#pragma once

#include <cstddef>

namespace reckon {

// Reads so many bytes (float32 by type) in `streams` places side by side, on the calling thread, and returns their sum,
// so that no read can be left out. What is left over by whole vectors and streams is not read.
float read_memory(const void* from, std::size_t bytes, std::size_t streams);

}  // namespace reckon
