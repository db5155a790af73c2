#include "files/numbers.h"
#include "files/repeated_keys.h"
#include "model/load.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/nearest.h"
#include "model/presets.h"
#include "model/read.h"

namespace reckon {

namespace fs = std::filesystem;

// PyTorch's own formats are pickles, and reading a pickle can run any code that is in it.
bool is_pickle(const std::string& path) {
  for (const char* end : {".bin", ".pt", ".pth", ".ckpt", ".pkl"})
    if (path.ends_with(end)) return true;
  return false;
}

namespace {

struct Config {
  nlohmann::ordered_json json;
  std::string where;
};

constexpr std::uintmax_t largest_config = 64u << 20;  // bytes; real ones have a few thousand

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") || text.ends_with(".safetensors") ||
         text.ends_with(".gguf") || is_pickle(text);
}

nlohmann::ordered_json parse(const std::string& text, const std::string& where) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t byte = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    throw Error(fmt::format("{}: not JSON from line {}, byte {} of the file on", where, line, byte + 1));
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: a number in this file is too large for JSON to hold", where));
  }
}

std::string read_text(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw Error(fmt::format("{}: there is no such file", path.string()));
  if (!fs::is_regular_file(status))
    throw Error(fmt::format("{}: not a regular file; expected a config.json", path.string()));
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > largest_config)
    throw Error(fmt::format("{}: {} bytes; a config.json has at most {}", path.string(), grouped(size),
                            grouped(largest_config)));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    throw Error(fmt::format("{}: cannot be read ({})", path.string(), std::strerror(errno ? errno : EIO)));
  if (text.empty()) throw Error(fmt::format("{}: the file is empty; expected a config.json", path.string()));
  return text;
}

Config read_file(const fs::path& path) {
  const std::string text = read_text(path);
  Config config{parse(text, path.string()), path.string()};
  refuse_repeated_keys(text, path.string());
  return config;
}

Config read_path(const std::string& given) {
  const fs::path path(given);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw Error(fmt::format("{}: there is no such file or folder", given));
  if (fs::is_directory(status)) {
    const fs::path config = path / "config.json";
    if (!fs::exists(config, error)) {
      throw Error(fmt::format("{}: this folder {}", given,
                              error ? "cannot be read: " + error.message() : "has no config.json"));
    }
    return read_file(config);
  }
  if (given.ends_with(".gguf"))
    throw Error(fmt::format("{}: GGUF files are not yet read; give the folder with the model's config.json", given));
  if (is_pickle(given))
    throw Error(
        fmt::format("{}: this is a pickle, which can run code when it is read, and is refused; "
                    "give a config.json or a .safetensors file",
                    given));
  if (given.ends_with(".safetensors") || given.ends_with(".safetensors.index.json")) {
    const fs::path config = path.parent_path() / "config.json";
    if (!fs::exists(config, error))
      throw Error(fmt::format("{}: there is no config.json beside this file to say what its tensors are for", given));
    return read_file(config);
  }
  if (!given.ends_with(".json"))
    throw Error(fmt::format("{}: expected a folder with a config.json, a .json file or a .safetensors file", given));
  return read_file(path);
}

Config preset_config(const std::string& name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return {nlohmann::ordered_json::parse(preset.config), name};
    names.emplace_back(preset.name);
  }
  const std::string near = nearest(name, names);
  throw UsageError(fmt::format("there is no preset \"{}\"{}; `reckon models` lists them", name.substr(0, 100),
                               near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

Config find_config(const std::string& name_or_path) {
  if (name_or_path.empty()) throw UsageError("no model was named; expected a preset or a path");
  return is_model_path(name_or_path) ? read_path(name_or_path) : preset_config(name_or_path);
}

}  // namespace

bool is_model_path(const std::string& name_or_path) {
  if (looks_like_path(name_or_path)) return true;
  const auto& all = presets();
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const Preset& preset) { return preset.name == name_or_path; });
  std::error_code error;
  return !known && fs::exists(name_or_path, error);
}

Model find_preset(const std::string& name) { return read_config(preset_config(name).json, name); }

nlohmann::ordered_json load_config(const std::string& name_or_path) { return find_config(name_or_path).json; }

Model load_model(const std::string& name_or_path) {
  const Config config = find_config(name_or_path);
  Model model = read_config(config.json, config.where);
  model.name = name_or_path;
  return model;
}

}  // namespace reckon
