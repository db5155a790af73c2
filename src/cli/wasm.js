// Behind Emscripten's own code in count.js: report(["count", "gpt2"]) is `reckon count gpt2`.
Module['report'] = function (words) {
  const text = words.map((word) => word + '\0').join('');
  const bytes = lengthBytesUTF8(text);
  const at = _malloc(bytes + 1);
  stringToUTF8(text, at, bytes + 1);
  const answer = _report(at, bytes) >> 2;
  _free(at);
  return { code: HEAP32[answer], out: UTF8ToString(HEAP32[answer + 1]), err: UTF8ToString(HEAP32[answer + 2]) };
};
