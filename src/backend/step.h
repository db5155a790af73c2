// What a run of a program is told, and what it tells.
#pragma once

#include <cstdint>

namespace reckon {

class Communicator;

// What changes from step to step of a training.
struct TrainingStep {
  bool add = false;       // to the gradients of earlier micro-steps
  double loss_scale = 1;  // of gradients: this micro-step's share of the labels of all micro-steps and ranks
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, decay = 0, clip = 0;
  std::int64_t step = 0;          // counted from 1
  bool drops = false;             // dropout; evaluation has none
  std::uint64_t seed = 0;         // of dropout, different for every micro-step
  std::int64_t rank = 0;          // whose rows of the batch these are
  Communicator* ranks = nullptr;  // that sum their gradients: on the last micro-step and in the update
};

// What an update saw of a parameter: sums of squares of its gradient before clipping, of the change and of the values.
struct Squares {
  double gradient = 0, update = 0, weight = 0;
  Squares& operator+=(const Squares& other) {
    gradient += other.gradient;
    update += other.update;
    weight += other.weight;
    return *this;
  }
};

// What the ops really did.
struct Measured {
  std::int64_t matmul_flops = 0;       // 2·m·n·k of each block that a tile's kernel multiplied
  std::int64_t elementwise_flops = 0;  // of each loop: its elements times the operations on one
  std::int64_t read = 0, written = 0;  // bytes: the operands of tiles, each with the tile that first has it
  Measured& operator+=(const Measured& other) {
    matmul_flops += other.matmul_flops;
    elementwise_flops += other.elementwise_flops;
    read += other.read;
    written += other.written;
    return *this;
  }
  Measured operator-(const Measured& other) const {
    return {matmul_flops - other.matmul_flops, elementwise_flops - other.elementwise_flops, read - other.read,
            written - other.written};
  }
  bool operator==(const Measured&) const = default;
};

}  // namespace reckon
