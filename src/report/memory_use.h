// What a workload holds on a device: by kind, tensor by tensor, over its course, and what fits.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "count/adapters.h"
#include "count/cache.h"
#include "memory/breakdown.h"
#include "report/describe.h"
#include "report/document.h"
#include "time/fit.h"
#include "time/profile.h"

namespace reckon {

// What one device of the hardware has room for.
struct RoomOn {
  Hardware hardware;
  std::int64_t reserve = 0;  // bytes that are kept free
  std::int64_t bytes() const { return hardware.profile.memory_bytes - reserve; }
  Largest batch, context;
};

// What the points of a grid do not have in common, so that it is not said of all of them.
struct Varying {
  VaryingSizes sizes;
  bool parameters = false;  // how many there are
  bool stored = false;      // whether weights have the types of their file
  bool stage = false;       // of each point, the fullest of its pipeline
};

struct MemoryUse {
  Model model;
  std::int64_t made_for = 0;  // tokens: the model's own context
  Workload workload;          // resolved
  Target target;
  Compiled compiled;
  Breakdown held;
  std::int64_t whole_parameters = 0;  // that the rank computes with; held.parameters are its own part with ZeRO 3
  std::optional<CacheCost> cache;     // of one rank
  std::optional<DType> quantised;     // the layers' matrices
  bool stored = false;                // weights have the types of their file
  std::optional<AdapterCount> adapters;
  std::optional<RoomOn> room;
  bool laid_out = false;  // over several ranks, of which this is one
  Varying varying;        // where this stands for all points of a grid
};

enum class MemoryBy { kind, tensor };
Document memory_document(const MemoryUse& use, MemoryBy by);
MemoryPicture memory_picture(const MemoryUse& use);

// One workload of several.
struct MemoryPoint {
  std::int64_t row = 0, column = 0;  // values of the two sizes; column is 0 where there is one
  Breakdown held;
};
struct MemoryGrid {
  MemoryUse first;                    // its first point; the room is without the largest batch and context
  std::string row_name, column_name;  // of the sizes: "batch"; empty: there is no second
  std::vector<MemoryPoint> points;    // row by row
};
Document memory_grid_document(const MemoryGrid& grid);

}  // namespace reckon
