// Rotary positions as a config.json gives them: the older `rope_theta` + `rope_scaling`, and the newer
// `rope_parameters`, which may hold one set for each type of layer.
#pragma once

#include <reckon/model.h>

#include "model/fields.h"

namespace reckon {

struct RopeDefaults {
  double theta = 10000.0;
  double fraction = 1.0;       // of a head that is rotated
  double sliding_theta = 0.0;  // of the sliding layers; 0 = the same
  bool interleaved = false;
};

struct Ropes {
  Rope full, sliding;
};

// `d_head` is what a fraction is taken of; `context` stands in where the scaling does not say what it starts from.
Ropes read_rope(Fields& config, const RopeDefaults& defaults, std::int64_t d_head, std::int64_t context);

// YaRN's factor on what the rotation yields: 0.1·m·ln(factor) + 1 (Peng et al. 2023, eq. 22).
double yarn_mscale(double factor, double mscale);

}  // namespace reckon
