// What each head attends to: the weights of attention, read off a program that writes them out. That is the program as
// the network is written, which the reference runs; kernels that fuse attention never have them.
#pragma once

#include <reckon/run.h>

#include <atomic>
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

  float weight(const Layer& layer, std::int64_t head, std::int64_t query, std::int64_t key) const {
    return weights[static_cast<std::size_t>(layer.from + (head * tokens + query) * tokens + key)];
  }
};

// Bytes that it takes besides the model.
std::int64_t attention_maps_bytes(const Model& model, std::int64_t tokens);

// `cancel`: as of EngineOptions.
AttentionMaps attention_maps(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids,
                             const std::atomic<bool>* cancel = nullptr);

// How much of its weight a head has on these places, on average over the queries after the first.
struct Habits {
  double itself = 0, before = 0, first = 0;  // the token, the one before it, the first of the text
};
Habits habits(const AttentionMaps& maps, const AttentionMaps::Layer& layer, std::int64_t head);

}  // namespace reckon
