#include "text/json_tree.h"

#include "files/json_events.h"
#include "files/quote.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest = 32;

class TreeBuilder final : public JsonEvents {
 public:
  TreeBuilder(TokenizerTree& to, bool vocabulary_alone) : to_(to) {
    if (!vocabulary_alone) return;
    // As if the text were the value of model.vocab.
    to_.rest = {{"model", Json::object()}};
    stack_ = {&to_.rest, &to_.rest["model"]};
    key_ = "vocab";
    in_model_ = true;
  }

  void open_object() override { open(Json::object()); }
  void open_array() override { open(Json::array()); }
  void close() override {
    if (at_pair_ && stack_.size() == 3) {
      at_pair_ = false;
      if (pair_.size() != 2) {
        throw Error(fmt::format("{}: model.merges: merge {} has {} parts; expected 2", to_.listed.file,
                                to_.listed.merges.size(), pair_.size()));
      }
      to_.listed.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
      return;
    }
    stack_.pop_back();
    if (stack_.size() < 3) list_ = List::none;
  }
  void key(std::string& name) override {
    key_ = std::move(name);
    if (list_ == List::none && stack_.back()->contains(key_)) {
      throw Error(fmt::format("{}: {} is given twice", to_.listed.file, quote(key_)));
    }
    if (stack_.size() == 1) in_model_ = key_ == "model";
  }
  void scalar(const JsonScalar& value) override {
    if (list_ == List::vocabulary) return add_token(value);
    if (list_ == List::merges) return add_merge(value);
    place(std::visit([](const auto& each) { return Json(each); }, value));
  }

 private:
  enum class List { none, vocabulary, merges };

  void open(Json container) {
    if (list_ == List::merges && stack_.size() == 3 && !at_pair_ && container.is_array()) {
      at_pair_ = true;
      pair_.clear();
      return;
    }
    if (list_ != List::none)
      throw Error(fmt::format("{}: model.{} holds a list or an object", to_.listed.file, list_name()));
    if (stack_.size() >= deepest) throw Error(fmt::format("{}: nested more than {} deep", to_.listed.file, deepest));
    if (in_model_ && stack_.size() == 2 && key_ == "vocab" && container.is_object()) list_ = List::vocabulary;
    if (in_model_ && stack_.size() == 2 && key_ == "merges" && container.is_array()) list_ = List::merges;
    stack_.push_back(&place(std::move(container)));
  }

  Json& place(Json value) {
    if (stack_.empty()) return to_.rest = std::move(value);
    if (stack_.back()->is_array()) return stack_.back()->emplace_back(std::move(value));
    return (*stack_.back())[key_] = std::move(value);
  }

  void add_token(const JsonScalar& value) {
    const auto* id = std::get_if<std::uint64_t>(&value);
    if (!id || *id > 0x7FFFFFFF) {
      throw Error(fmt::format("{}: model.vocab: the id of token {} is {}; expected a whole number from 0 on",
                              to_.listed.file, quote(key_), describe(value)));
    }
    to_.listed.tokens.emplace_back(std::move(key_), static_cast<std::int64_t>(*id));
  }

  void add_merge(const JsonScalar& value) {
    const auto* text = std::get_if<std::string_view>(&value);
    if (text && at_pair_) {
      if (pair_.size() < 3) pair_.emplace_back(*text);
      return;
    }
    const std::size_t space = text ? text->find(' ') : std::string_view::npos;
    if (space == std::string_view::npos || text->find(' ', space + 1) != std::string_view::npos) {
      throw Error(fmt::format("{}: model.merges: merge {} is {}; expected two tokens with a space between them",
                              to_.listed.file, to_.listed.merges.size(), describe(value)));
    }
    to_.listed.merges.emplace_back(text->substr(0, space), text->substr(space + 1));
  }

  const char* list_name() const { return list_ == List::vocabulary ? "vocab" : "merges"; }

  TokenizerTree& to_;
  std::vector<Json*> stack_;  // the open objects and arrays
  std::string key_;
  bool in_model_ = false, at_pair_ = false;
  List list_ = List::none;
  std::vector<std::string> pair_;
};

TokenizerTree read_tree(std::string_view text, const std::string& file, bool vocabulary_alone) {
  TokenizerTree tree;
  tree.listed.file = file;
  TreeBuilder builder(tree, vocabulary_alone);
  read_json(text, file, builder);
  return tree;
}

}  // namespace

TokenizerTree read_tokenizer_tree(std::string_view text, const std::string& file) {
  return read_tree(text, file, false);
}

ListedVocabulary read_vocabulary(std::string_view text, const std::string& file) {
  TokenizerTree tree = read_tree(text, file, true);
  const Json& vocabulary = tree.rest["model"]["vocab"];
  if (!vocabulary.is_object()) JsonPart(vocabulary, file + ": the whole").refuse("an object of tokens and their ids");
  return std::move(tree.listed);
}

JsonPart JsonPart::operator[](const char* key) const {
  if (!value_.is_object()) refuse("an object");
  const std::string where = fmt::format("{}{}{}", where_, where_.ends_with(':') ? " " : ".", key);
  if (!value_.contains(key)) throw Error(where + " is missing");
  return {value_[key], where};
}

std::vector<JsonPart> JsonPart::list() const {
  if (!value_.is_array()) refuse("a list");
  std::vector<JsonPart> parts;
  for (std::size_t i = 0; i < value_.size(); ++i) parts.emplace_back(value_[i], fmt::format("{}[{}]", where_, i));
  return parts;
}

std::string JsonPart::text() const {
  if (!value_.is_string()) refuse("a string");
  return value_.get<std::string>();
}

std::int64_t JsonPart::integer() const {
  if (!value_.is_number_integer() || (value_.is_number_unsigned() && value_.get<std::uint64_t>() > 0x7FFFFFFF)) {
    refuse("a whole number");
  }
  return value_.get<std::int64_t>();
}

bool JsonPart::truth() const {
  if (!value_.is_boolean()) refuse("true or false");
  return value_.get<bool>();
}

void JsonPart::refuse(const std::string& expected) const {
  const std::string found = value_.is_string()       ? quote(value_.get<std::string>())
                            : value_.is_structured() ? (value_.is_array() ? "a list" : "an object")
                                                     : value_.dump();
  throw Error(fmt::format("{} is {}; expected {}", where_, found, expected));
}

}  // namespace reckon
