// The limits of whatever must read all weights, or write all results: loops that do nothing else.
#pragma once

#include <cstddef>

namespace reckon {

// Reads so many bytes (float32 by type) in `streams` places side by side, on the calling thread, and returns their sum,
// so that no read can be left out. What is left over by whole vectors and streams is not read.
float read_memory(const void* from, std::size_t bytes, std::size_t streams);

// Writes so many bytes, on the calling thread, as kernels write: past no cache. What is left over by whole vectors is
// not written.
void write_memory(void* to, std::size_t bytes);

}  // namespace reckon
