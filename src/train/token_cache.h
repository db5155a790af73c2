// Texts as token files that are made once: the name of the file says what it was made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "train/token_file.h"

namespace reckon {

std::uint64_t hash_of(const Tokenizer& tokenizer);

struct CachedTokens {
  std::filesystem::path path;
  bool reused;  // it was there already
};

// Text files and folders of them. They count as unchanged while path, size and time of change are the same.
CachedTokens tokenize_files(const std::vector<std::filesystem::path>& paths, const Tokenizer& tokenizer,
                            const std::filesystem::path& folder, int threads);

// One text; `name` says what it is, and the same name always is the same text.
CachedTokens tokenize_text(const std::string& text, const std::string& name, const Tokenizer& tokenizer,
                           const std::filesystem::path& folder, int threads);

}  // namespace reckon
