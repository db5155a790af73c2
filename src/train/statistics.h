// What goes on inside a network in training, read off the activations that its last forward pass left in memory.
#pragma once

#include "train/trainer.h"

#include <cstdint>
#include <vector>

namespace reckon {

struct LayerStatistics {
  std::int32_t layer = 0;
  double rms = 0, largest = 0;       // of what leaves the block
  std::vector<double> head_entropy;  // of each head's attention weights: the mean over queries, in nats
};

// After trainer.loss(). What the backward pass computes again is no longer there, nor are queries and keys in float32
// where training is in bfloat16: such a layer lacks them.
std::vector<LayerStatistics> layer_statistics(const Trainer& trainer);

}  // namespace reckon
