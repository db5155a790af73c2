// A model of the page and the text that it continues.
#pragma once

#include <reckon/run.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "page/fields.h"
#include "text/tokenizer.h"

namespace reckon::page {

struct Generating {
  std::shared_ptr<const LoadedModel> loaded;
  std::string config;                          // the text of its config.json
  std::shared_ptr<const Tokenizer> tokenizer;  // nullptr: none lies beside it
  std::optional<std::int32_t> begin_of_text;   // what an empty text begins with
  std::vector<std::int32_t> end_of_text;
  std::unique_ptr<Engine> engine;
  std::optional<Session> session;
  std::vector<std::int32_t> ids;  // the text so far
  std::size_t prompt = 0;         // of these, those that were not drawn
  std::vector<float> logits;      // of the token to come; empty: there is no text yet
};

// `ids`, or those of `text`; `begin`: of an empty text.
std::vector<std::int32_t> ids_of(const Fields& fields, const Tokenizer* tokenizer,
                                 std::optional<std::int32_t> begin = {});

}  // namespace reckon::page
