// The table of requests.
#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>

#include "files/lacking.h"
#include "files/quote.h"
#include "model/nearest.h"
#include "page/answers.h"
#include "page/generation.h"
#include "page/memory.h"
#include "page/training.h"
#include "text/tokenizer.h"

namespace reckon::page {
namespace {

Reply forget(Page& page, const Fields& fields) {
  page.forget(fields.whole("handle", 0));
  return {Json::object()};
}

Reply memory(Page&, const Fields&) { return {{{"bytes", memory_bytes()}, {"used", memory_used()}}}; }

struct Request {
  const char* name;
  Reply (*answer)(Page&, const Fields&);
  std::vector<std::string> fields;
};

const std::vector<Request>& requests() {
  static const std::vector<Request> all = {
      {"tokenizer", tokenizer, {"name"}},
      {"train_tokenizer", train_tokenizer, {"text", "vocab"}},
      {"save_tokenizer", save_tokenizer, {"tokenizer", "path"}},
      {"tokens", tokens, {"tokenizer", "first", "count"}},
      {"encode", encode, {"tokenizer", "text", "most", "special"}},
      {"decode", decode, {"tokenizer", "ids"}},
      {"train", train, {"out", "settings", "changes"}},
      {"resume", resume, {"out", "settings"}},
      {"advance", advance, {"run", "milliseconds", "profile"}},
      {"rate", rate, {"run", "lr"}},
      {"evaluate", evaluate, {"run"}},
      {"sample", sample, {"run", "prompt", "tokens", "sampling"}},
      {"save", save, {"run"}},
      {"limit", limit, {}},
      {"attention", attention, {"of", "text", "ids"}},
      {"neighbours", neighbours, {"of", "token", "count"}},
      {"write_model", write_model, {"of", "path"}},
      {"model", model, {"path", "run"}},
      {"prefill", prefill, {"model", "text", "ids"}},
      {"append", append, {"model", "id"}},
      {"rewind", rewind, {"model", "length"}},
      {"distribution", distribution, {"model", "sampling", "count", "u", "array"}},
      {"beams", beams, {"model", "beams", "tokens", "length_penalty", "stop"}},
      {"memory", memory, {}},
      {"forget", forget, {"handle"}},
  };
  return all;
}

const Request& find_request(const std::string& name) {
  const auto& all = requests();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Request& one) { return one.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> known;
  known.reserve(all.size());
  for (const Request& one : all) known.emplace_back(one.name);
  const std::string near = nearest(name, known);
  throw UsageError(fmt::format("there is no request {}{}", quote(name),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

}  // namespace

Page::Page(std::int64_t first_handle) : next_(first_handle) {}
Page::~Page() = default;

Reply Page::ask(const Json& json) {
  const auto too_much = [] {
    return Reply{{{"error", "the memory is not enough for this; a smaller model, batch or context needs less"}}};
  };
  try {
    const std::string name = Fields(json, "the request").text("ask");
    const Request& request = find_request(name);
    const Fields fields(json, name);
    std::vector<std::string> known = request.fields;
    known.emplace_back("ask");
    fields.expect(known);
    return request.answer(*this, fields);
  } catch (const Lacking& lacking) {
    return {{{"error", lacking.what()}, {"lacking", true}}};
  } catch (const std::bad_alloc&) {
    return too_much();
  } catch (const std::length_error&) {
    return too_much();
  } catch (const std::exception& error) {
    return {{{"error", error.what()}}};
  }
}

std::int64_t Page::keep(Kept kept) {
  kept_.emplace(next_, std::move(kept));
  return next_++;
}

const Page::Kept& Page::kept(std::int64_t handle) const {
  const auto found = kept_.find(handle);
  if (found == kept_.end()) throw UsageError(fmt::format("there is nothing with the handle {}", handle));
  return found->second;
}

void Page::forget(std::int64_t handle) {
  kept(handle);
  kept_.erase(handle);
}

}  // namespace reckon::page
