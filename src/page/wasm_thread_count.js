// In place of Emscripten's: the engine takes as many threads as it is told when it is started, `threads` of run-threads.js
// (web/src/engine/module.ts), and not one for each processor.
mergeInto(LibraryManager.library, {
  emscripten_num_logical_cores: function () {
    return Module['threads'];
  },
});
