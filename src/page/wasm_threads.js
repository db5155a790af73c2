// Before Emscripten's own code in run-threads.js: the memory that all threads share, as much as the browser gives. It
// never grows: browsers have failed at growing memory that is shared.
if (!Module['wasmMemory']) {
  for (let pages = 2 ** 15; !Module['wasmMemory']; pages /= 2) {  // of 64 KiB: 2 GiB, or half as much …
    try {
      Module['wasmMemory'] = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch (error) {
      if (pages <= 2 ** 12) throw error;
    }
  }
}
