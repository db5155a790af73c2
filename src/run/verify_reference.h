// What each op of the cpu computes, beside what the reference does: a short prefill on both.
#pragma once

#include <reckon/model.h>

#include "run/verify.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace reckon {

// How far one op's output is off: max |a − b| / max |b| over its elements, b being the reference's; of activations that
// are rounded to 8 bits, beyond half a step of theirs.
struct Distance {
  std::string op, tensor;  // "rms_norm of layers.0.attention", and the output, of several the furthest
  double relative = 0;
};

struct ReferenceComparison {
  // Sums in float32 differ by less, in whichever order they are added; where products round what they multiply to
  // bfloat16, by 2⁻⁹ of each, layers add that up.
  static constexpr double in_float32 = 1e-4, in_bfloat16 = 0.03;
  double tolerance = in_float32;

  std::int64_t tokens = 0;
  struct Kind {
    std::int64_t ops = 0;
    Distance largest;
  };
  std::map<std::string, Kind> kinds;  // of ops, by their names
  std::optional<Distance> first;      // beyond the tolerance, in the order of the program

  std::int64_t ops() const;
  const Distance& largest() const;
  bool holds() const { return !first; }
};

// The reference runs in float64, from the same stored weights; where the cpu's products read activations in 8 bits, its
// own read the same, and its routers choose by the cpu's scores.
ReferenceComparison compare_with_reference(const Model& model, Weights weights, const VerifyOptions& options);

}  // namespace reckon
