// Where a model lies: what a text on the command line names.
//
// Standard input is "-". A path is a text with a slash, or with the ending of a model's file (.json, .safetensors,
// .gguf, .bin, …). Any other text is the name of a preset if there is one of that name, and else a path if something
// is there. So a folder called gpt2 does not hide the preset: ask for ./gpt2.
//
// A path may be a folder with a config.json, or without one but with a GGUF file; the folder of a training run, which
// stands for its newest checkpoint; a .safetensors file or index with a config.json beside it; a GGUF file, or the
// first of its shards; or a config.json. Files may have any name: what is in them tells which they are.
#pragma once

#include <filesystem>
#include <string>

namespace reckon {

struct ModelLocation {
  std::string preset;             // its name; empty for a path
  std::filesystem::path config;   // the file of the description
  std::filesystem::path weights;  // the file, index or folder that holds them; empty: there is a description only
  // Where a tokenizer and further files may lie; empty: nowhere. It has a slash, and so is no tokenizer's name.
  std::filesystem::path folder;
  bool gguf = false;  // the file of the weights says it all: description, tokenizer and further facts
  std::string where;  // what errors call the description
  std::string note;   // of a run: which checkpoint it is

  // Where a tokenizer may be: a folder or a file; empty: nowhere.
  std::string tokenizer() const { return gguf ? weights.string() : folder.string(); }
};

// An Error or UsageError says what is missing, or why a file is refused. PyTorch's own files are: they are pickles, and
// reading a pickle can run any code that is in it.
ModelLocation locate_model(const std::string& name_or_path);

// Where its weights are; throws too where there is a description only.
std::filesystem::path locate_weights(const std::string& name_or_path);

// Whether the text is a path (or standard input) by that rule.
bool is_model_path(const std::string& name_or_path);

bool is_pickle(const std::string& path);

}  // namespace reckon
