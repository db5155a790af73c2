// The twin of what reads GGUF files, in the page's modules: it would be 24 kB of each.
#include <fmt/format.h>
#include <reckon/error.h>

#include "files/gguf.h"
#include "model/read_gguf.h"
#include "model/stored_names.h"
#include "text/gguf_tokenizer.h"

namespace reckon {
namespace {

[[noreturn]] void refuse(const std::string& file) {
  throw Error(fmt::format("{}: the page reads no GGUF files; reckon in the terminal does", file));
}

}  // namespace

bool is_gguf(const std::filesystem::path& path) { return path.extension() == ".gguf"; }
TensorFile read_gguf(const std::filesystem::path& path) { refuse(path.string()); }
GgufModel read_gguf_model(const TensorFile&, const std::string& where) { refuse(where); }
TokenizerSpec read_gguf_tokenizer(const nlohmann::json&, const std::string& file) { refuse(file); }
FamilyNames gguf_names(std::string_view family) { refuse(std::string(family)); }

}  // namespace reckon
