// What a GGUF file says of one architecture: its key-value pairs, asked for by their names without the architecture's
// prefix, and its tensors. For the readers of such files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/tensor_file.h"
#include "model/fields.h"

namespace reckon {

class GgufPairs {
 public:
  // `file` must outlive this. Reads the sizes that everything else needs.
  GgufPairs(const TensorFile& file, const std::string& where, const std::string& architecture);

  std::string key(const std::string& name) const { return prefix_ + name; }
  bool has(const std::string& name) const { return fields_.has(key(name)); }
  std::int64_t size(const std::string& name) { return fields_.size(key(name)); }
  std::int64_t size(const std::string& name, std::int64_t fallback) { return fields_.size(key(name), fallback); }
  std::int64_t size_up_to(const std::string& name, std::int64_t most) { return fields_.size_up_to(key(name), most); }
  std::int64_t count(const std::string& name, std::int64_t fallback) { return fields_.count(key(name), fallback); }
  double number(const std::string& name, double fallback);
  double positive(const std::string& name, double fallback);
  double positive(const std::string& name);  // required
  bool flag(const std::string& name, bool fallback) { return fields_.flag(key(name), fallback); }
  std::string word(const std::string& name, const std::string& fallback) { return fields_.word(key(name), fallback); }
  const nlohmann::json* value(const std::string& name) const { return fields_.value(key(name)); }
  void ignore(const std::string& name) { fields_.ignore({key(name)}); }

  // One for all layers, or an array of one for each. Without a fallback it is required.
  std::vector<std::int64_t> per_layer(const std::string& name, const std::vector<std::int64_t>& fallback = {});

  const TensorInfo* tensor(const std::string& name) const;  // nullptr: there is none
  bool holds(const std::string& name) const { return tensor(name) != nullptr; }
  bool layer_holds(std::size_t layer, const char* name) const;

  // The values, all above zero, of a tensor that belongs to the description and has so many.
  std::vector<double> values(const std::string& name, std::int64_t expected) const;

  // The first pair of this architecture that nobody asked for, and that says something; nullptr: there is none.
  const Fields::Unread* unread();

  // Throws "where: key is (what was found); expected …", and "where: sentence".
  [[noreturn]] void fail(const std::string& name, const std::string& expected) const {
    fields_.fail(key(name), expected);
  }
  [[noreturn]] void refuse(const std::string& sentence) const { fields_.refuse(sentence); }

  std::int64_t layers = 0;      // without those that predict further tokens
  std::int64_t predicting = 0;  // …which come last
  std::int64_t d_model = 0;
  std::vector<std::int64_t> heads, kv_heads;  // of each layer
  std::int64_t d_head = 0, rotated = 0;       // elements of a head, and those that RoPE rotates

 private:
  const TensorFile& file_;
  Fields fields_;
  std::string prefix_;
  std::unordered_map<std::string_view, const TensorInfo*> tensors_;
  std::vector<Fields::Unread> unread_;
};

// A config.json's rope_scaling; null where nothing is scaled.
nlohmann::json gguf_rope_scaling(GgufPairs& pairs, double theta, std::int64_t context);

}  // namespace reckon
