// What the page's running module exports of its engine: one function that answers, and the array that came with it.
// wasm.js makes one function of JavaScript of them.
#include <reckon/error.h>

#include <cstddef>
#include <string>
#include <utility>

#include "files/json_document.h"
#include "page/page.h"

namespace {

struct {
  std::string text;
  std::vector<float> array;
} answer;  // until the next one

}  // namespace

extern "C" {

// A request and its reply: JSON in UTF-8, up to a zero byte.
const char* ask(const char* request) {
  using reckon::page::Json;
  static reckon::page::Page page(RECKON_FIRST_HANDLE);
  Json asked;
  try {
    asked = reckon::parse_json(request, "the request");
  } catch (const reckon::Error&) {  // null is no request
  }
  reckon::page::Reply reply = page.ask(asked);
  answer.text = reply.json.dump(-1, ' ', false, Json::error_handler_t::replace);
  answer.array = std::move(reply.array);
  return answer.text.c_str();
}

const float* array_data() { return answer.array.data(); }
std::size_t array_size() { return answer.array.size(); }

}  // extern "C"
