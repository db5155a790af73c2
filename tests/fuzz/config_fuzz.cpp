// Any bytes at all as a config.json: they give a model, whose parameters can be counted, or reckon::Error. The first
// byte chooses a model type, whose name then stands in the place of the config's own.
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  if (config.is_object() && data[0] != 0) {
    const std::vector<std::string>& types = reckon::model_types();
    config["model_type"] = types[data[0] % types.size()];
  }
  try {
    const reckon::Model model = reckon::read_config(config, "fuzz");
    if (model.layers.size() <= 64) reckon::count_parameters(model);
  } catch (const reckon::Error&) {
  }
  return 0;
}
