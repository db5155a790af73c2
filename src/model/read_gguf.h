// A Model from the header of a GGUF file: its key-value pairs, and the names and shapes of its tensors.
//
// The pairs are written as the config.json that Hugging Face's family of the same network has, which its reader reads.
// What converters to GGUF change is then changed in the Model, never in the data: the rows of LLaMA's queries and keys
// are in an order that makes rotary pairs neighbours, and Gemma's norms hold 1 + w.
#pragma once

#include <reckon/model.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/tensor_file.h"

namespace reckon {

struct GgufModel {
  Model model;
  nlohmann::ordered_json config;  // the network as far as a config.json can say it
};

// `where` names the file in errors and becomes the model's name. The values of small tensors that belong to the
// description (RoPE's divisors) are read from the file. Unknown architectures, pairs that could change the network and
// are not understood, and values that no network can have are an Error.
GgufModel read_gguf_model(const TensorFile& file, const std::string& where);

// What such a file calls the architecture of a family; empty where there is none.
std::string gguf_architecture(const Model& model);

// The supported values of general.architecture, sorted.
const std::vector<std::string>& gguf_architectures();

}  // namespace reckon
