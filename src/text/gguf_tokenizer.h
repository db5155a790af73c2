// The tokenizer that a GGUF file holds among its key-value pairs: byte-level BPE ("gpt2"), whose splitter it names, or
// SentencePiece's BPE ("llama"), which has scores in place of merges.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/spec.h"

namespace reckon {

// `file` names it in errors. A file without a tokenizer, one of another kind, or with a splitter that is not known for
// certain is an Error.
TokenizerSpec read_gguf_tokenizer(const nlohmann::json& pairs, const std::string& file);

// The names of splitters (tokenizer.ggml.pre) that are known.
std::vector<std::string> gguf_splitters();

}  // namespace reckon
