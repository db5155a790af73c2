// Lets node start a module with threads, for whose threads it has no workers: they are never there, and the pool's caller
// does all the work (src/threads/pool.h).
globalThis.Worker = class {
  postMessage({ cmd }) {
    if (cmd === 'load') queueMicrotask(() => this.onmessage({ data: { cmd: 'loaded' } }));
  }
  terminate() {}
};
