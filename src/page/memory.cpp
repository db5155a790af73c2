#include "page/memory.h"

#ifdef __EMSCRIPTEN__
#include <emscripten/heap.h>
#include <malloc.h>
#else
#include "files/machine_memory.h"
#endif

namespace reckon::page {

#ifdef __EMSCRIPTEN__
#ifdef __EMSCRIPTEN_PTHREADS__  // what threads share does not grow (wasm_threads.js)
std::int64_t memory_bytes() { return static_cast<std::int64_t>(emscripten_get_heap_size()); }
#else
std::int64_t memory_bytes() { return static_cast<std::int64_t>(emscripten_get_heap_max()); }
#endif
std::int64_t memory_used() { return static_cast<std::int64_t>(static_cast<unsigned>(mallinfo().uordblks)); }
#else
std::int64_t memory_bytes() { return machine_memory(); }
std::int64_t memory_used() { return 0; }
#endif

}  // namespace reckon::page
