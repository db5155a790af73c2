#include "model/boundary_ids.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "files/json_document.h"
#include "files/read_text.h"
#include "files/tensor_file.h"
#include "model/fields.h"
#include "model/location.h"
#include "model/nested.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

std::vector<std::int32_t> ids_in(const nlohmann::json& config, const std::string& field, const fs::path& path) {
  const auto found = config.find(field);
  if (found == config.end() || found->is_null()) return {};
  std::vector<std::int32_t> ids;
  for (const nlohmann::json& id : found->is_array() ? *found : nlohmann::json::array({*found})) {
    if (id.is_number_integer() && id.get<std::int64_t>() == -1) continue;  // which some configs write for none
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) {
      throw Error(fmt::format("{}: {} holds {}; expected ids of tokens", path.string(), field, describe(id)));
    }
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

// Its own, or else those of the language model that is nested in it.
std::vector<std::int32_t> ids_in(const fs::path& path, const std::string& field) {
  constexpr std::uint64_t largest = std::uint64_t{64} << 20;
  const nlohmann::json config = parse_json(read_text(path, largest), path.string());
  if (!config.is_object()) throw Error(fmt::format("{}: not a JSON object", path.string()));
  std::vector<std::int32_t> ids = ids_in(config, field, path);
  const char* nested = nested_language_model(config);
  return ids.empty() && nested != nullptr ? ids_in(config[nested], field, path) : ids;
}

// A GGUF file has further tokens that end a text: those of turns and of messages.
std::vector<std::int32_t> ids_in_gguf(const fs::path& path, const std::string& field) {
  const TensorFile file = read_tensor_file(path);
  const std::vector<const char*> names = field == "bos_token_id"
                                             ? std::vector{"bos_token_id"}
                                             : std::vector{"eos_token_id", "eot_token_id", "eom_token_id"};
  std::vector<std::int32_t> all;
  for (const char* name : names)
    for (const std::int32_t id : ids_in(file.files.front().pairs, fmt::format("tokenizer.ggml.{}", name), path))
      if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
  return all;
}

std::vector<std::int32_t> ids_of(const std::string& name_or_path, const std::string& field) {
  const ModelLocation location = locate_model(name_or_path);
  if (location.gguf) return ids_in_gguf(location.weights, field);
  if (location.folder.empty()) return {};  // a preset, or a pipe that has been read
  const fs::path generation = location.folder / "generation_config.json";
  std::error_code none;
  if (location.config.filename() == "config.json" && fs::exists(generation, none)) {
    if (std::vector<std::int32_t> ids = ids_in(generation, field); !ids.empty()) return ids;
  }
  return ids_in(location.config, field);
}

}  // namespace

std::optional<std::int32_t> begin_of_text_id(const std::string& name_or_path) {
  const std::vector<std::int32_t> ids = ids_of(name_or_path, "bos_token_id");
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

std::vector<std::int32_t> end_of_text_ids(const std::string& name_or_path) {
  return ids_of(name_or_path, "eos_token_id");
}

}  // namespace reckon
