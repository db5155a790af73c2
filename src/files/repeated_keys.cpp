#include "files/repeated_keys.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <set>
#include <utility>
#include <vector>

#include "files/json_events.h"
#include "files/quote.h"

namespace reckon {
namespace {

class Keys final : public JsonEvents {
 public:
  explicit Keys(const std::string& where) : where_(where) {}

  void open_object() override { open_.emplace_back(); }
  void open_array() override { open_.emplace_back(); }
  void close() override { open_.pop_back(); }
  void key(std::string& name) override {
    const auto [at, is_new] = open_.back().insert(std::move(name));
    if (!is_new) throw Error(fmt::format("{}: {} is there twice; expected one value of it", where_, quote(*at)));
  }
  void scalar(const JsonScalar&) override {}

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> open_;  // the keys so far of each open object; none of an array
};

}  // namespace

void refuse_repeated_keys(std::string_view text, const std::string& where) {
  Keys keys(where);
  read_json(text, where, keys);
}

}  // namespace reckon
