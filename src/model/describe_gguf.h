// A Model as a GGUF file describes it: what read_gguf.h reads, the other way round.
#pragma once

#include <reckon/model.h>

#include <string>
#include <vector>

#include "files/write_gguf.h"
#include "model/stored.h"

namespace reckon {

struct GgufDescription {
  std::string architecture;
  std::vector<GgufPair> pairs;  // all that tells what the network is
  Model form;                   // the network as read from such a file
  StoredLayout layout;          // its tensors; views lead from the given model's parameters to their places in them
  float norm_shift = 0;         // added to the weight of every norm
  struct Constant {
    std::string name;
    std::vector<float> values;
  };
  std::vector<Constant> constants;  // small tensors that belong to the description: RoPE's divisors
};

// An Error says where GGUF has no architecture for it, or none that would give this network again.
GgufDescription describe_gguf(const Model& model);

// The places of parameters that lie as `from` has them, where `layout` is of `to`: pairs of RoPE as neighbours in one
// of them and as halves in the other.
StoredLayout reordered(StoredLayout layout, const Model& from, const Model& to);
// For a folder, of a model from a GGUF file: the network as its config.json has it, and that config.json: the one that
// the file's pairs carry (as our own files do) where that is of this network, or else `config`, what the file says by
// itself. UsageError where a config.json cannot say what is different.
struct FolderForm {
  Model model;
  nlohmann::ordered_json config;
};
FolderForm folder_form(const Model& model, const nlohmann::ordered_json& config, const nlohmann::json& pairs);
inline constexpr const char* config_key = "reckon.config";

// Whether they are the same but for what converters change, and for numbers that are rounded to float32.
bool same_network(Model a, Model b);

// What to add to the weights of norms that are multiplied as w in one of them and as 1 + w in the other.
float norm_shift(const Model& from, const Model& to);

}  // namespace reckon
