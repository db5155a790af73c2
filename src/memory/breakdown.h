// What a planned program holds, kind by kind and tensor by tensor, and how much of it op by op.
#pragma once

#include "memory/plan.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// Why memory is held. All but the last two outlive a run of the program.
enum class Held : std::uint8_t {
  weights,
  master,       // the wide values behind narrow weights
  gradients,    // of parameters
  optimizer,    // its state
  cache,        // keys and values
  tables,       // of rotary positions, and of the cache's pages
  activations,  // in training what the forward pass keeps for the backward pass; else all that is alive at the peak
  temporary,    // the rest of the arena: what lives between a few ops, gradients of activations, and the space between
};
inline constexpr std::size_t held_kinds = static_cast<std::size_t>(Held::temporary) + 1;
std::string_view held_name(Held held);  // "weights"

// All instances of one tensor that are held, those of the arena at its peak.
struct HeldTensor {
  TensorId id = no_tensor;  // none: what of the arena no tensor has at the peak; as activations, other micro-batches'
  Held held = Held::weights;
  std::int64_t instances = 1;
  std::int64_t bytes = 0;  // of all of them
};

struct Breakdown {
  std::array<std::int64_t, held_kinds> bytes{};
  std::int64_t parameters = 0;      // elements of the weights
  std::vector<HeldTensor> tensors;  // whose bytes add up to the total
  std::int64_t of(Held held) const { return bytes[static_cast<std::size_t>(held)]; }
  std::int64_t total() const;
};

// Of a pipeline's rank, with the activations of all micro-batches that are in flight.
Breakdown break_down(const Program& program, const Plan& plan);

// Engines keep the scales of plain 8-bit and 4-bit values apart, each in its own way, so no type of ours has them. Says
// of which of a program's tensors they are missing: "scales of weights in int4 and of the cache in int8 are not
// counted". Empty: of none.
std::string uncounted_scales(const Program& program);

// How many bytes of the arena are alive while an op runs.
struct LivePoint {
  std::int64_t at = 0;  // of all ops that run, the how manieth
  std::size_t op = 0;
  std::int64_t bytes = 0;
};
// Over the whole run. Of repeats that are longer than `iterations`, some between the first and the last.
struct Course {
  std::vector<LivePoint> points;
  std::int64_t ops = 0;  // that run
};
Course course_of(const Program& program, const Plan& plan, std::int64_t iterations);

}  // namespace reckon
