// Finding and reading a tokenizer, whatever its format.
#pragma once

#include <filesystem>
#include <string>

#include "text/tokenizer.h"

namespace reckon {

// One of
//   bytes                                     the 256 bytes themselves
//   gpt2, cl100k_base, o200k_base, …          a published encoding, from tokenizers/NAME.tiktoken in data_folder()
//   a folder                                  with tokenizer.json, or with vocab.json and merges.txt
//   tokenizer.json, or any other *.json       in Hugging Face's form
//   vocab.json                                with merges.txt beside it
//   NAME.tiktoken                             a rank file; NAME says the encoding
//   NAME.gguf                                 a model's file, which holds its tokenizer; or a folder with only such
// A name goes before a file of the same name; ./gpt2 is the file.
Tokenizer load_tokenizer(const std::string& name_or_path);

TokenizerSpec read_tokenizer(const std::string& name_or_path);

// $RECKON_DATA; else reckon under $XDG_DATA_HOME, which is ~/.local/share unless set. scripts/fetch-tokenizers fills
// it. An Error where HOME is wanted and not set.
std::filesystem::path data_folder();

}  // namespace reckon
