// Any bytes at all as a tokenizer.json: it must be read or refused with reckon::Error; and what is read must encode and
// decode any bytes, and be read again as it is written.
#include <reckon/error.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const reckon::Tokenizer tokenizer(reckon::parse_tokenizer_json(text, "fuzz"));
    const std::vector<reckon::TokenId> ids = tokenizer.encode(text);
    tokenizer.decode(ids);
    const reckon::Tokenizer again(reckon::parse_tokenizer_json(reckon::write_tokenizer_json(tokenizer.spec()), "written"));
    if (again.encode(text) != ids) std::abort();
  } catch (const reckon::Error&) {
  }
  return 0;
}
