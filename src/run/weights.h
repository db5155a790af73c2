// The values of a model's parameters: in mapped files, read where they lie, or random.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "backend/cpu/launch.h"
#include "files/mapped_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reckon {

class Weights {
 public:
  // From the safetensors of a folder, an index or a file. Throws where tensors are missing, have other shapes than the
  // model's, or are there that nothing in the model explains.
  static Weights load(const Model& model, const std::filesystem::path& path);

  // Matrices and biases uniform with a standard deviation of 0.02, norms 1. The same seed gives the same values.
  static Weights random(const Model& model, std::uint64_t seed, DType dtype);

  // By the program's name; throws Error for one that is not there.
  const ParameterData& operator[](const std::string& name) const;

  std::vector<const Weight*> matrices() const;  // all of them

  std::int64_t elements() const { return elements_; }  // of all parameters
  std::int64_t bytes() const { return bytes_; }        // as stored
  std::int64_t copied() const { return copied_; }      // bytes of matrices whose layout no kernel reads in place
  DType dtype() const { return dtype_; }               // of the matrices

 private:
  std::map<std::string, ParameterData> parameters_;
  std::vector<MappedFile> files_;
  std::vector<std::unique_ptr<std::byte[]>> owned_;
  std::int64_t elements_ = 0, bytes_ = 0, copied_ = 0;
  DType dtype_ = DType::float32;

  friend class WeightReader;
};

}  // namespace reckon
