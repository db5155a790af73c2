#include "files/json_document.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "files/json_events.h"
#include "files/quote.h"

namespace reckon {
namespace {

using Ordered = nlohmann::ordered_json;

class Tree final : public JsonEvents {
 public:
  Tree(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Ordered root;

  void open_object() override { open(Ordered::object()); }
  void open_array() override { open(Ordered::array()); }
  void close() override { open_.pop_back(); }
  void key(std::string& name) override { key_ = std::move(name); }
  void scalar(const JsonScalar& value) override {
    add(std::visit([](auto one) { return Ordered(one); }, value));
  }
  void broken(std::size_t byte, bool too_large) override {
    if (too_large) throw Error(fmt::format("{}: a number in this file is too large for JSON to hold", where_));
    byte = std::min(byte == 0 ? 0 : byte - 1, text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    throw Error(fmt::format("{}: not JSON from line {}, byte {} of the file on", where_, line, byte + 1));
  }

 private:
  // Whoever goes through a document goes down by recursion.
  static constexpr std::size_t most_levels = 256;

  void open(Ordered value) {
    if (open_.size() == most_levels) throw Error(fmt::format("{}: nested more than {} deep", where_, most_levels));
    open_.push_back(&add(std::move(value)));
  }

  Ordered& add(Ordered value) {
    if (open_.empty()) return root = std::move(value);
    Ordered& parent = *open_.back();
    if (parent.is_array()) return parent.emplace_back(std::move(value));
    const auto [at, is_new] = parent.emplace(key_, std::move(value));
    if (!is_new) throw Error(fmt::format("{}: {} is there twice; expected one value of it", where_, quote(key_)));
    return *at;
  }

  std::string_view text_;
  const std::string& where_;
  std::string key_;
  std::vector<Ordered*> open_;  // objects and arrays, each in the one before it, which does not grow while it is open
};

}  // namespace

Ordered parse_json(std::string_view text, const std::string& where) {
  Tree tree(text, where);
  read_json(text, where, tree);
  return std::move(tree.root);
}

}  // namespace reckon
