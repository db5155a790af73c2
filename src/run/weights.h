// The values of a model's parameters on the host: in mapped files, read where they lie, random, or of a trainer.
// Backends load from them.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "files/mapped_file.h"
#include "files/parameter_data.h"
#include "program/program.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace reckon {

enum class Initialisation : std::uint8_t { gpt2, scaled };

class Weights {
 public:
  // From a file of tensors, an index of such files or a folder. Throws where tensors are missing, have other shapes
  // than the model's, or are there that nothing in the model explains.
  static Weights load(const Model& model, const std::filesystem::path& path);

  // Matrices and biases uniform with a standard deviation of 0.02, norms 1. The same seed gives the same values.
  // `cancel`: set by another thread or a signal handler, it throws Cancelled within milliseconds.
  static Weights random(const Model& model, std::uint64_t seed, DType dtype, const std::atomic<bool>* cancel = nullptr);

  // What training begins with, in float32: norms are 1, biases 0, matrices normal, of deviation 0.02 (GPT-2) or
  // 1/√fan_in (scaled; tables still 0.02), and in both those that add to the residual stream divided by √(2L).
  static Weights initial(const Model& model, Initialisation initialisation, std::uint64_t seed);

  // The values of others in memory of their own, in float32.
  static Weights copy(const Model& model, const Weights& from);

  // The values of others where they lie: these must not outlive those.
  static Weights shared(const Weights& from);
  // Other values of matrices that are there, row-major in a float type.
  void replace(const TensorKey& key, DType dtype, std::vector<std::byte> values);

  // Of all parameters of an expanded program; `fill` writes the elements of each from `first` on.
  using Fill = std::function<void(const Tensor& tensor, std::int64_t first, std::span<float> to)>;
  static Weights filled(const Program& program, DType dtype, const Fill& fill,
                        const std::atomic<bool>* cancel = nullptr);

  // A parameter that lies row-major in `memory`; `owner` keeps that as long as these weights, nullptr: somebody else
  // does.
  void add(const Tensor& tensor, DType dtype, std::span<const std::byte> memory, std::shared_ptr<const void> owner);

  // Throws Error for one that is not there.
  const ParameterData& operator[](const TensorKey& key) const;
  const Parameters& parameters() const { return parameters_; }  // and buffers

  std::int64_t elements() const { return elements_; }  // of all parameters
  std::int64_t bytes() const { return bytes_; }        // of them, in the encodings that they have here
  std::int64_t copied() const { return copied_; }      // bytes of tensors that could not be read in place

  std::shared_ptr<const ParameterTypes> types() const;  // that they are stored in

 private:
  Parameters parameters_;
  std::vector<MappedFile> files_;
  std::vector<std::shared_ptr<const void>> owned_;
  std::int64_t elements_ = 0, bytes_ = 0, copied_ = 0;

  friend class WeightReader;
};

}  // namespace reckon
