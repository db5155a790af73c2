// Behind Emscripten's own code in run.js: ask('{"ask": …}') is Page::ask(). The array is the module's memory, until the
// next call.
Module['ask'] = function (request) {
  const bytes = lengthBytesUTF8(request) + 1;
  const at = _malloc(bytes);
  stringToUTF8(request, at, bytes);
  const reply = UTF8ToString(_ask(at));
  _free(at);
  const array = _array_data() >>> 2;
  return { reply, array: HEAPF32.subarray(array, array + _array_size()) };
};
