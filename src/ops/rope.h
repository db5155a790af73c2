// Rotary positions (Su et al., arXiv 2104.09864): each pair of a head's first elements (or last
// ones) is rotated by its angle.
#pragma once

#include "program/builder.h"

namespace reckon {

struct RopeAttributes {
  bool interleaved;
  bool inverse = false;   // the rotation back
  bool trailing = false;  // of a head's last elements
  bool operator==(const RopeAttributes&) const = default;
};

extern const OperationOf<RopeAttributes> rope_operation;

// x (B × T × heads × d_head), table (positions × dims: the cosines and sines of each pair)
TensorId rope(Builder& builder, TensorId x, TensorId table, bool interleaved, Label label, bool trailing = false,
              bool inverse = false);

}  // namespace reckon
