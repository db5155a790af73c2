// A file's header held against what the model says the file should hold.
#pragma once

#include <reckon/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "files/tensor_file.h"
#include "model/stored.h"

namespace reckon {

struct FileReport {
  struct Share {
    std::int64_t tensors = 0, elements = 0, bytes = 0;
  };
  // A tensor that is no parameter of the model, and what is known about why it is there (else empty).
  struct Unexpected {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t elements = 0;
    std::string why;
    bool may_be_left_out = false;  // files of such a model have it, and nothing is computed with it
  };
  using Missing = StoredTensor;
  struct Misshapen {
    std::string name;
    std::vector<std::int64_t> found, expected;
  };
  struct Held {
    std::string name;
    DType dtype = DType::float32;
    std::vector<std::int64_t> shape;
    std::int64_t bytes = 0;
  };
  // A tensor that the file holds in a packed form, under other names or with scales beside it.
  struct Quantized {
    std::string name;
    std::string format;  // "MXFP4", "FP8", "GPTQ", …: by the config.json beside the file, or else by names of tensors
  };

  std::int64_t elements = 0;      // of every tensor in the file, packed ones as they are stored
  std::int64_t bytes = 0;         // of the data, without headers
  std::int64_t weight_bytes = 0;  // …of what holds the model's parameters and buffers, scales of packed ones included
  std::vector<Held> tensors;      // all of them
  std::map<DType, Share> types;
  std::int64_t expected_elements = 0;  // of the model's parameters, buffers apart
  std::int64_t buffer_elements = 0;    // …and of its buffers
  std::vector<Unexpected> unexpected;
  std::vector<Missing> missing;
  std::vector<Misshapen> misshapen;
  std::vector<Quantized> quantized;
  std::array<std::int64_t, 2> fp8_block = {128, 128};  // rows and columns that share a scale in FP8
  double bits_per_weight() const {
    return 8 * static_cast<double>(weight_bytes) / static_cast<double>(expected_elements + buffer_elements);
  }
  bool complete = false;  // nothing missing or misshapen; quantized tensors are there, but not as plain numbers
};

FileReport inspect_file(const Model& model, const TensorFile& file);

// The types that parameters have in this file, whoever reads it (stored_types() has those that they are loaded in): of
// parts in several types the one with the most bits.
std::shared_ptr<const ParameterTypes> file_types(const Model& model, const TensorFile& file);

// Whether it holds weights in a packed form that nothing here reads.
inline bool packed_otherwise(const FileReport& report) {
  return std::any_of(report.quantized.begin(), report.quantized.end(),
                     [](const FileReport::Quantized& each) { return each.format != "MXFP4" && each.format != "FP8"; });
}

}  // namespace reckon
