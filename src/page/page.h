// The running engine behind the page: requests in JSON, replies in JSON, and an array of numbers where a reply has one.
// web/src/engine/run.ts lists every request and reply. What a browser does with this, a test can do without one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

namespace reckon {
class Tokenizer;
}

namespace reckon::page {

using Json = nlohmann::ordered_json;

struct Reply {
  Json json;                      // {"error": sentence} where it could not be done
  std::vector<float> array = {};  // of requests that have one
};

struct Training;    // a run with its folder
struct Generating;  // a model with the text that it continues

class Page {
 public:
  // Its handles begin with that one: those of two pages can be told apart.
  explicit Page(std::int64_t first_handle = 1);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  // Never throws.
  Reply ask(const Json& request);

  // What requests call by a number, which is never used again.
  using Kept = std::variant<std::shared_ptr<const Tokenizer>, std::shared_ptr<Training>, std::shared_ptr<Generating>>;
  std::int64_t keep(Kept kept);
  const Kept& kept(std::int64_t handle) const;  // an Error where it was forgotten, or never was
  void forget(std::int64_t handle);
  std::size_t size() const { return kept_.size(); }

 private:
  std::map<std::int64_t, Kept> kept_;
  std::int64_t next_;
};

}  // namespace reckon::page
