#include "model/end_of_text.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "files/read_text.h"
#include "model/load.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

std::vector<std::int32_t> ids_in(const fs::path& path) {
  constexpr std::uint64_t largest = std::uint64_t{64} << 20;
  const nlohmann::json config = nlohmann::json::parse(read_text(path, largest), nullptr, false);
  if (!config.is_object()) throw Error(fmt::format("{}: not a JSON object", path.string()));
  const auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null()) return {};
  std::vector<std::int32_t> ids;
  for (const nlohmann::json& id : found->is_array() ? *found : nlohmann::json::array({*found})) {
    if (id.is_number_integer() && id.get<std::int64_t>() == -1) continue;  // which some configs write for none
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      throw Error(
          fmt::format("{}: eos_token_id holds {}; expected ids of tokens", path.string(), id.dump().substr(0, 40)));
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

}  // namespace

std::vector<std::int32_t> end_of_text_ids(const std::string& name_or_path) {
  if (!is_model_path(name_or_path)) return {};
  const fs::path path = name_or_path;
  std::error_code none;
  const fs::path folder = fs::is_directory(path, none) ? path : path.parent_path();
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!fs::exists(folder / name, none)) continue;
    if (std::vector<std::int32_t> ids = ids_in(folder / name); !ids.empty()) return ids;
  }
  return {};
}

}  // namespace reckon
