// What a WebAssembly module exports of the page's engine: one function that answers, and where its answer lies.
#include "page/page.h"

#include <string>

namespace {

reckon::page::Page& the_page() {
  static reckon::page::Page page;
  return page;
}

struct {
  std::string text;
  std::vector<float> array;
} answer;  // until the next one

}  // namespace

extern "C" {

// A request and its reply as JSON, in UTF-8, ending with a zero. The reply, and the array that came with it, stay until
// the next call.
const char* reckon_ask(const char* request) {
  using reckon::page::Json;
  reckon::page::Reply reply = the_page().ask(Json::parse(request, nullptr, false));
  answer.text = reply.json.dump(-1, ' ', false, Json::error_handler_t::replace);
  answer.array = std::move(reply.array);
  return answer.text.c_str();
}
const float* reckon_array() { return answer.array.data(); }
int reckon_array_length() { return static_cast<int>(answer.array.size()); }

}  // extern "C"
