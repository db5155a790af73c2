#include "model/load.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "files/json_document.h"
#include "files/read_text.h"
#include "files/tensor_file.h"
#include "model/presets.h"
#include "model/read.h"
#include "model/read_gguf.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Ordered = nlohmann::ordered_json;

constexpr std::uint64_t largest_config = 64u << 20;  // bytes; real ones have a few thousand

// Python writes a number without limit as the bare word Infinity, which is no JSON; transformers itself has come to
// write it as the object below.
std::string without_infinities(const std::string& text) {
  constexpr std::string_view word = "Infinity", object = R"({"__float__": "Infinity"})";
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!quoted && text.compare(i, word.size(), word) == 0) {
      out += object;
      i += word.size() - 1;
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    out += text[i];
    if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[++i];
  }
  return out;
}

Ordered preset_config(const std::string& name) {
  const Preset* preset = preset_named(name);
  if (preset == nullptr) throw UsageError(fmt::format("there is no preset \"{}\"", name.substr(0, 100)));
  return parse_json(preset->config, name);
}

}  // namespace

Ordered read_json_file(const fs::path& path, const std::string& where, const std::string& expected) {
  std::error_code none;
  if (fs::is_directory(path, none)) throw Error(fmt::format("{}: not a regular file; expected {}", where, expected));
  std::string text = read_text(path, largest_config, [&](std::string_view start) {
    if (start.starts_with("GGUF"))
      throw Error(fmt::format("{}: this is a GGUF file, which cannot be read from there; give its name", where));
  });
  if (text.find("Infinity") != std::string::npos) text = without_infinities(text);
  if (text.empty()) throw Error(fmt::format("{}: is empty; expected {}", where, expected));
  return parse_json(text, where);
}

Model find_preset(const std::string& name) { return read_config(preset_config(name), name); }

Described load_described(const std::string& name_or_path) {
  const ModelLocation location = locate_model(name_or_path);
  Described described;
  if (location.gguf) {
    GgufModel read = read_gguf_model(read_tensor_file(location.weights), location.where);
    described = {std::move(read.model), std::move(read.config)};
    described.model.name = name_or_path;
    return described;
  }
  described.config = location.preset.empty() ? read_json_file(location.config, location.where, "a config.json")
                                             : preset_config(location.preset);
  described.model = read_config(described.config, location.where);
  described.model.name = name_or_path == "-" ? location.where : name_or_path;
  if (!location.note.empty()) described.model.notes.insert(described.model.notes.begin(), location.note);
  return described;
}

Model load_model(const std::string& name_or_path) { return load_described(name_or_path).model; }

}  // namespace reckon
