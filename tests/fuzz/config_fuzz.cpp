// Any bytes at all as a config.json: they give a model, whose parameters and FLOPs can be counted, or reckon::Error.
// What is tried are configs of every model type (seeds: tests/data/families, published and configs) with fields that
// are dropped, swapped, retyped or taken from elsewhere, and now and then bytes.
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>

#include "model/read.h"

namespace {

using Json = nlohmann::json;
using Random = std::minstd_rand;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

std::size_t below(Random& random, std::size_t n) { return random() % n; }

// All values inside one, itself included.
void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (value.is_structured())
    for (Json& each : value) collect(each, all);
}

Json retyped(const Json& value, Random& random) {
  const Json others[] = {nullptr,
                         true,
                         false,
                         0,
                         1,
                         -1,
                         7,
                         1 << 20,
                         std::int64_t{1} << 40,
                         std::numeric_limits<std::int64_t>::max(),
                         std::numeric_limits<std::uint64_t>::max(),
                         0.5,
                         1e300,
                         -0.25,
                         "",
                         "silu",
                         "full_attention",
                         "auto",
                         Json::array(),
                         Json::object(),
                         Json::array({value}),
                         Json::array({value, value, 3}),
                         value.dump()};
  if (value.is_number() && below(random, 3) == 0) return value.get<double>() * (below(random, 2) == 0 ? 2 : -1);
  return others[below(random, std::size(others))];
}

void change(Json& config, Random& random) {
  std::vector<Json*> all;
  collect(config, all);
  Json& one = *all[below(random, all.size())];
  Json& other = *all[below(random, all.size())];
  const std::vector<std::string>& types = reckon::model_types();
  switch (below(random, 7)) {
    case 0:
      config["model_type"] = types[below(random, types.size())];
      break;
    case 1:
      if (config.contains("text_config") && config["text_config"].is_object())
        config["text_config"]["model_type"] = types[below(random, types.size())];
      else
        config = Json{{"model_type", config.value("model_type", Json())}, {"text_config", config}};
      break;
    case 2: {
      const Json copy = other;
      one = copy;
      break;
    }
    case 3:
      if (!one.is_structured() && !other.is_structured()) std::swap(one, other);
      break;
    case 4:
      if (one.is_structured() && !one.empty())
        one.erase(std::next(one.begin(), static_cast<std::ptrdiff_t>(below(random, one.size()))));
      break;
    case 5:
      if (one.is_array() && one.size() < 200) one.push_back(other);
      break;
    default:
      one = retyped(one, random);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  Random random(seed);
  Json config = Json::parse(data, data + size, nullptr, false);
  if (!config.is_object() || below(random, 16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (std::size_t n = 1 + below(random, 3); n > 0 && config.is_object(); --n) change(config, random);
  const std::string text = config.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Json config = Json::parse(data, data + size, nullptr, false);
  try {
    const reckon::Model model = reckon::read_config(config, "fuzz");
    if (model.layers.size() > 64) return 0;
    reckon::count_parameters(model);
    // One phase of three, by what the input happens to be; few tokens, as sizes alone are counted.
    constexpr reckon::Phase phases[] = {reckon::Phase::forward, reckon::Phase::decode, reckon::Phase::train};
    reckon::Workload workload = reckon::workload_of(phases[size % std::size(phases)]);
    if (workload.phase == reckon::Phase::decode)
      workload.past = 5;
    else
      workload.tokens = 3;
    reckon::count(model, workload);
  } catch (const reckon::Error&) {
  }
  return 0;
}
