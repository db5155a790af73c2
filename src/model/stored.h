// Where each parameter of a model lies in its family's files: under which name, transposed, fused or apart.
#pragma once

#include <reckon/model.h>
#include <reckon/role.h>
#include <reckon/workload.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace reckon {

struct TensorFile;

struct StoredAxis {
  std::int64_t extent = 0, stride = 0;  // in elements
  bool operator==(const StoredAxis&) const = default;
};

// A part of a stored tensor: the element at `index` lies at offset + Σ index[i]·axes[i].stride.
struct StoredView {
  std::string tensor;
  std::int64_t offset = 0;
  std::vector<StoredAxis> axes;
  bool operator==(const StoredView&) const = default;
};

// A parameter. Its elements, row by row, are those of its views, one view after another,
// each in row-major order of its axes (which may be more than the parameter has: heads in groups).
struct StoredParameter {
  TensorKey key;
  std::vector<std::int64_t> shape;
  std::vector<StoredView> views;
};

struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

struct StoredLayout {
  std::vector<StoredTensor> tensors;  // what a file must hold, each exactly covered by the views
  std::vector<StoredParameter> parameters;
  std::vector<StoredParameter> buffers;  // the same, of what is not trained (DeepSeek's correction bias)
  std::vector<std::string> tied_heads;   // names under which a file may hold the embedding once more
};

using StoredNames = std::unordered_set<std::string>;

// The layout for a file with these names. Families have files in several forms (with or without a prefix, experts one
// by one or fused): the form is the one that the names show, or else the family's usual one.
// Throws Error for an unknown family, or where the model has a part that its family has no name for.
StoredLayout stored_layout(const Model& model, const StoredNames& present = {});
StoredLayout stored_layout(const Model& model, const TensorFile& file);

// The types that parameters of this file have when they are loaded: those of their tensors, but float32 of what kernels
// cannot read as it lies (run/weights.cpp). What the file does not hold is left out.
std::shared_ptr<const ParameterTypes> stored_types(const Model& model, const TensorFile& file);

}  // namespace reckon
