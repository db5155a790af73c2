// What is known of each model_type: what it adds to the common form, and what its reading is held against.
#pragma once

#include <reckon/model.h>

#include <string_view>
#include <vector>

namespace reckon {

struct TypeReference {
  std::string_view type;
  int configs;     // random ones, whose parameters and FLOPs are transformers'
  int models;      // small ones, whose logits and tokens are
  bool gradients;  // …and gradients
};

// Of the files under tests/data, written by scripts/type-references; tests/types_test.cpp holds them against each
// other.
const std::vector<TypeReference>& type_references();
// All 0 where there is none.
TypeReference type_reference(std::string_view type);

// Whether its networks can be trained: not all new forms have a backward pass yet.
bool is_trainable(std::string_view type);
// Which of its parts cannot be trained yet, as the end of a sentence; empty where all can.
std::string_view why_not_trained(std::string_view type);
std::string_view why_not_trained(const Model& model);
// Throws UsageError where some cannot.
void check_trainable(const Model& model);
// What training leaves as it is, in a sentence; empty where that is nothing.
std::string_view what_stays_frozen(const Model& model);

// What sets the type apart, in a few words; empty where nobody has said it.
std::string_view what_it_adds(std::string_view type);

// The model_type of a config.json that nests its language model as text_config, llm_config or language_config, beside
// what sees or hears; and the types that these have. Others are read as well, where their language model's type is.
struct Wrapper {
  std::string_view type;
  std::vector<std::string_view> reads;
};
const std::vector<Wrapper>& wrappers();
// nullptr where there is none.
const Wrapper* find_wrapper(std::string_view type);

// Of a type that is known and not read: why, in a sentence; empty of others.
std::string_view why_not_read(std::string_view type);

}  // namespace reckon
