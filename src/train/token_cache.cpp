#include "train/token_cache.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <span>
#include <string_view>

#include "files/stable_hash.h"
#include "text/text_files.h"
#include "text/tokenizer_json.h"
#include "threads/pool.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;

// A file of this name and of this tokenizer, whole.
bool is_usable(const fs::path& path, const Tokenizer& tokenizer) {
  if (!is_token_file(path)) return false;
  try {
    const TokenFile file(path);
    return file.tokenizer_hash() == hash_of(tokenizer) &&
           file.vocab_size() == static_cast<std::int64_t>(tokenizer.size());
  } catch (const Error&) {
    return false;
  }
}

CachedTokens tokenize(std::span<const std::string_view> texts, const std::string& key, const Tokenizer& tokenizer,
                      const fs::path& folder, int threads) {
  const std::uint64_t hash = hash_of(tokenizer);
  const fs::path path = folder / fmt::format("{:016x}-{:016x}.tokens", stable_hash(key), hash);
  if (is_usable(path, tokenizer)) return {path, true};
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  TokenFileWriter writer(path, static_cast<std::int64_t>(tokenizer.size()), hash);
  Pool pool(threads);
  EncodeOptions options;
  options.add_special = false;
  for (const std::string_view text : texts) writer.add(tokenizer.encode(text, options, &pool));
  writer.commit();
  return {path, false};
}

// What a file is known by: when it changed, or if that means nothing (a pipe), what it holds.
std::string key_of(const fs::path& path, std::string_view text) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error || !fs::is_regular_file(whole, error)) return fmt::format("{} {:016x}\n", text.size(), stable_hash(text));
  const auto changed = fs::last_write_time(whole, error).time_since_epoch().count();
  return fmt::format("{} {} {}\n", whole.string(), text.size(), static_cast<std::int64_t>(changed));
}

}  // namespace

std::uint64_t hash_of(const Tokenizer& tokenizer) { return stable_hash(write_tokenizer_json(tokenizer.spec())); }

CachedTokens tokenize_files(const std::vector<fs::path>& paths, const Tokenizer& tokenizer, const fs::path& folder,
                            int threads) {
  const TextFiles files(paths);
  if (files.bytes() == 0) {
    throw Error(fmt::format("{}: is empty; expected text to train on", paths.empty() ? "" : paths.front().string()));
  }
  std::string key;
  for (std::size_t i = 0; i < files.texts().size(); ++i) key += key_of(files.paths()[i], files.texts()[i]);
  return tokenize(files.texts(), key, tokenizer, folder, threads);
}

CachedTokens tokenize_text(const std::string& text, const std::string& name, const Tokenizer& tokenizer,
                           const fs::path& folder, int threads) {
  const std::string_view view = text;
  return tokenize({&view, 1}, name, tokenizer, folder, threads);
}

}  // namespace reckon
