#include "model/location.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "files/gguf.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "files/tensor_file.h"
#include "model/checkpoints.h"
#include "model/presets.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

enum class Content { config, weights, pickle, gguf, unknown };

Content content_by_name(const std::string& name) {
  if (name.ends_with(".gguf")) return Content::gguf;
  if (is_tensor_file_name(name)) return Content::weights;
  if (name.ends_with(".json")) return Content::config;
  return is_pickle(name) ? Content::pickle : Content::unknown;
}

// By the ending of the name, or else by the first bytes: .bin and .pt may be anything.
Content content_of(const fs::path& path) {
  const Content named = content_by_name(path.string());
  if (named != Content::unknown && named != Content::pickle) return named;
  std::error_code error;
  if (!fs::is_regular_file(path, error))  // a pipe can be read only once
    return named == Content::pickle ? named : Content::config;
  const std::optional<std::string> text = read_start(path, 512);
  if (!text) return Content::config;  // whose reader says why
  std::string_view start = *text;
  if (start.starts_with("GGUF")) return Content::gguf;
  if (begins_like_tensor_file(start)) return Content::weights;
  // A zip of PyTorch's, or a bare pickle of protocol 2 or later.
  if (start.starts_with("PK\x03\x04") || start.starts_with("\x80")) return Content::pickle;
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{' ? Content::config : Content::unknown;
}

// Those that belong to a config.json: a GGUF file has a description of its own, and may be of another model.
bool has_weights_inside(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  return !error && std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
    return content_by_name(entry.path().string()) == Content::weights;
  });
}

ModelLocation in_gguf(const fs::path& path, const std::string& given) {
  ModelLocation found;
  found.config = found.weights = path;
  found.where = given;
  found.gguf = true;
  return found;
}

ModelLocation in_folder(const fs::path& folder, const std::string& given) {
  std::error_code error;
  ModelLocation found;
  found.config = folder / "config.json";
  found.where = found.config.string();
  found.folder = folder.has_parent_path() ? folder : fs::path(".") / folder;
  if (fs::exists(found.config, error)) {
    if (has_weights_inside(folder)) found.weights = folder;
    return found;
  }
  if (error) throw Error(fmt::format("{}: this folder cannot be read: {}", given, error.message()));
  if (is_gguf(folder)) return in_gguf(folder, given);
  const std::vector<SavedStep> steps = saved_steps(folder);
  if (!steps.empty()) {
    const fs::path& newest = steps.back().folder;
    found = in_folder(newest, newest.string());
    found.note = fmt::format("the newest checkpoint of this run, {}, is taken", newest.filename().string());
    return found;
  }
  const bool run = fs::exists(folder / "metrics.jsonl", error) || fs::exists(folder / "checkpoints", error);
  throw Error(fmt::format("{}: this folder {}", given, run ? "of a run has no checkpoint yet" : "has no config.json"));
}

ModelLocation at_path(const std::string& given) {
  const fs::path path(given);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw Error(fmt::format("{}: there is no such file or folder", given));
  if (fs::is_directory(status)) return in_folder(path, given);
  ModelLocation found;
  found.where = given;
  found.config = path;
  switch (content_of(path)) {
    case Content::gguf:
      return in_gguf(path, given);
    case Content::pickle:
      throw Error(
          fmt::format("{}: this is a pickle, which can run code when it is read, and is refused; "
                      "give a config.json, a .safetensors or a GGUF file",
                      given));
    case Content::unknown:
      throw Error(
          fmt::format("{}: neither JSON nor safetensors nor GGUF; expected a folder with a config.json, a config.json, "
                      "a .safetensors or a GGUF file",
                      given));
    case Content::weights:
      found.weights = path;
      found.config = path.parent_path() / "config.json";
      found.where = found.config.string();
      if (!fs::exists(found.config, error))
        throw Error(fmt::format("{}: there is no config.json beside this file to say what its tensors are for", given));
      break;
    case Content::config:
      break;
  }
  if (fs::is_regular_file(status)) found.folder = path.has_parent_path() ? path.parent_path() : fs::path("./");
  return found;
}

// A folder whose weights are there, but in a form that is not read.
void refuse_pickles(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_pickle(entry.path().string())) continue;
    throw Error(
        fmt::format("{}: its weights are in {}, a pickle, which can run code when it is read, and is refused; "
                    "expected .safetensors",
                    folder.string(), entry.path().filename().string()));
  }
}

}  // namespace

bool is_pickle(const std::string& path) {
  for (const char* end : {".bin", ".pt", ".pth", ".ckpt", ".pkl"})
    if (path.ends_with(end)) return true;
  return false;
}

bool is_model_path(const std::string& name_or_path) {
  if (name_or_path == "-" || name_or_path.find('/') != std::string::npos) return true;
  if (content_by_name(name_or_path) != Content::unknown) return true;
  std::error_code error;
  return preset_named(name_or_path) == nullptr && fs::exists(name_or_path, error);
}

ModelLocation locate_model(const std::string& name_or_path) {
  ModelLocation found;
  if (name_or_path.empty()) throw UsageError("no model was named; expected a preset or a path");
  if (name_or_path == "-") {
    found.config = "/dev/stdin";
    found.where = "standard input";
    return found;
  }
  if (is_model_path(name_or_path)) return at_path(name_or_path);
  if (preset_named(name_or_path) == nullptr) refuse_preset(name_or_path);
  found.preset = found.where = name_or_path;
  return found;
}

std::filesystem::path locate_weights(const std::string& name_or_path) {
  const ModelLocation location = locate_model(name_or_path);
  if (!location.weights.empty()) return location.weights;
  if (!location.folder.empty()) refuse_pickles(location.folder);
  throw UsageError(
      fmt::format("{} is a description without weights; name a folder that has them, or give `random` a seed",
                  quote(name_or_path)));
}

}  // namespace reckon
