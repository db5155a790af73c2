// Before Emscripten's own code in run-threads.js: the memory that all threads share, as much as the browser gives. It
// never grows: browsers have failed at growing memory that is shared. Most of it is room alone: what is never touched
// takes none of the machine's.
if (!Module['wasmMemory']) {
  // Of 64 KiB each: a page less than 4 GiB, which is 0 in the module's 32 bits; or half as much …
  for (let pages = 2 ** 16 - 1; !Module['wasmMemory']; pages >>= 1) {
    try {
      Module['wasmMemory'] = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch (error) {
      if (pages < 2 ** 12) throw error;
    }
  }
}
