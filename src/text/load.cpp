#include "text/load.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cstdlib>

#include "files/gguf.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "text/gguf_tokenizer.h"
#include "text/openai_formats.h"
#include "text/tokenizer_json.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_file = std::uint64_t{1} << 28;

TokenizerSpec read_json_file(const fs::path& path) {
  return parse_tokenizer_json(read_text(path, longest_file), path.string());
}

TokenizerSpec read_vocab_merges(const fs::path& vocab) {
  const fs::path merges = vocab.parent_path() / "merges.txt";
  return parse_vocab_merges(read_text(vocab, longest_file), vocab.string(), read_text(merges, longest_file),
                            merges.string());
}

TokenizerSpec read_ranks(const fs::path& path) {
  const auto encoding = ranked_encoding(path.stem().string());
  if (!encoding) {
    throw Error(fmt::format("{}: a rank file does not say how text is split; its name must be one of: {}",
                            path.string(), ranked_encoding_names()));
  }
  return parse_ranks(read_text(path, longest_file), path.string(), *encoding);
}

TokenizerSpec read_inside_gguf(const fs::path& path) {
  return read_gguf_tokenizer(read_tensor_file(path).files.front().pairs, path.string());
}

TokenizerSpec read_folder(const fs::path& folder) {
  if (fs::exists(folder / "tokenizer.json")) return read_json_file(folder / "tokenizer.json");
  if (fs::exists(folder / "vocab.json")) return read_vocab_merges(folder / "vocab.json");
  if (is_gguf(folder)) return read_inside_gguf(folder);
  throw Error(fmt::format("{}: there is neither tokenizer.json nor vocab.json in this folder", folder.string()));
}

}  // namespace

fs::path data_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  if (fs::path folder = variable("RECKON_DATA"); !folder.empty()) return folder;
  if (const fs::path folder = variable("XDG_DATA_HOME"); !folder.empty()) return folder / "reckon";
  const fs::path home = variable("HOME");
  if (home.empty()) {
    throw Error(
        "HOME is not set, so there is no folder to look for vocabularies in; set it, or RECKON_DATA to the folder");
  }
  return home / ".local" / "share" / "reckon";
}

TokenizerSpec read_tokenizer(const std::string& name) {
  if (name == "bytes") return byte_tokenizer();
  if (ranked_encoding(name)) {
    const fs::path path = data_folder() / "tokenizers" / (name + ".tiktoken");
    if (fs::exists(path)) return read_ranks(path);
    if (std::find(fetched_encodings.begin(), fetched_encodings.end(), name) != fetched_encodings.end()) {
      throw Error(
          fmt::format("the vocabulary of {} is not in {}; scripts/fetch-tokenizers of reckon's sources puts it there",
                      name, path.parent_path().string()));
    }
  }
  const fs::path path = name;
  std::error_code none;
  if (fs::is_directory(path, none)) return read_folder(path);
  if (!fs::exists(path, none)) {
    throw Error(fmt::format("there is no tokenizer {}; expected bytes, one of the names {}, a file or a folder",
                            quote(name), fmt::join(fetched_encodings, " ")));
  }
  if (is_gguf(path)) return read_inside_gguf(path);
  if (path.extension() == ".tiktoken") return read_ranks(path);
  if (path.filename() == "vocab.json") return read_vocab_merges(path);
  return read_json_file(path);
}

Tokenizer load_tokenizer(const std::string& name) {
  TokenizerSpec spec = read_tokenizer(name);
  try {
    return Tokenizer(std::move(spec));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace reckon
