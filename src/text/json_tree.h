// A tokenizer.json apart: its vocabulary and merges, which are long, as plain lists, and everything else as a tree.
#pragma once

#include <fmt/core.h>
#include <reckon/error.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/vocabulary.h"

namespace reckon {

struct TokenizerTree {
  nlohmann::json rest;  // model.vocab and model.merges are empty here
  ListedVocabulary listed;
};

TokenizerTree read_tokenizer_tree(std::string_view text, const std::string& file);

// A vocabulary alone, without merges: one object, from token to id.
ListedVocabulary read_vocabulary(std::string_view text, const std::string& file);

// A value in the tree and where it is; asking it for something else than it is gives an Error that says so.
class JsonPart {
 public:
  JsonPart(const nlohmann::json& value, std::string where) : value_(value), where_(std::move(where)) {}

  bool is_null() const { return value_.is_null(); }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key) && !value_[key].is_null(); }
  JsonPart operator[](const char* key) const;  // must be there
  std::vector<JsonPart> list() const;
  std::string text() const;
  std::int64_t integer() const;
  bool truth() const;
  bool truth(const char* key, bool otherwise) const { return has(key) ? (*this)[key].truth() : otherwise; }
  const std::string& where() const { return where_; }

  // "x.json: pre_tokenizer.type is 'Whitespace'; expected one of: …"
  [[noreturn]] void refuse(const std::string& expected) const;

 private:
  const nlohmann::json& value_;
  std::string where_;
};

}  // namespace reckon
