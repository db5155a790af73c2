// What each head attends to: the weights of attention, read off a program that writes them out. That is the program as
// the network is written, which the reference runs; kernels that fuse attention never have them.
#pragma once

#include <reckon/run.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace reckon {

struct AttentionMaps {
  struct Layer {
    std::int32_t layer = 0;
    std::int64_t heads = 0;
    std::int64_t from = 0;  // where its weights begin: heads × tokens × tokens, a row for each query
  };
  std::int64_t tokens = 0;
  std::vector<Layer> layers;   // as they run
  std::vector<float> weights;  // of all of them
};

// Bytes that it takes besides the model.
std::int64_t attention_maps_bytes(const Model& model, std::int64_t tokens);

AttentionMaps attention_maps(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids);

}  // namespace reckon
