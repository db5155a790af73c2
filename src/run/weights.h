// The values of a model's parameters: in mapped files, read where they lie, or random.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "backend/cpu/launch.h"
#include "files/mapped_file.h"
#include "program/program.h"
#include "run/arena.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
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

  // To be trained: float32 in memory of its own, and beside it a copy in `dtype`, which products read. Norms are 1,
  // biases 0, matrices normal: of deviation 0.02 (GPT-2) or 1/√fan_in (scaled; tables still 0.02), and in both those
  // that add to the residual stream divided by √(2L).
  static Weights trainable(const Model& model, Initialisation initialisation, std::uint64_t seed, DType dtype);
  // The same, from values that are there.
  static Weights trainable(const Model& model, const Weights& from, DType dtype);
  // The same, for the parameters of any expanded program; `fill` writes the values of each.
  using Fill = std::function<void(const Tensor& tensor, float* to)>;
  static Weights trainable(Program program, DType dtype, const Fill& fill);
  // The same matrices under another owner, and copies of the vectors. Must not outlive these.
  Weights borrowed() const;
  // After `master` values were written from outside: brings what products read up to date.
  void refresh();
  // Updates of this parameter write there what they saw.
  void keep_squares(const TensorKey& key, Squares* squares);

  // Throws Error for one that is not there.
  const ParameterData& operator[](const TensorKey& key) const;

  std::vector<TensorKey> keys() const;          // of all parameters and buffers
  std::vector<const Weight*> matrices() const;  // all of them

  std::int64_t elements() const { return elements_; }  // of all parameters
  std::int64_t bytes() const { return bytes_; }        // as stored
  std::int64_t copied() const { return copied_; }      // bytes of tensors that no kernel could read in place

  std::shared_ptr<const ParameterTypes> types() const;  // that they are stored in

 private:
  std::map<TensorKey, ParameterData> parameters_;
  std::vector<MappedFile> files_;
  std::vector<std::unique_ptr<std::byte[]>> owned_;
  std::int64_t elements_ = 0, bytes_ = 0, copied_ = 0;

  std::vector<std::unique_ptr<Arena>> arenas_;  // of what is trained

  friend class WeightReader;
  friend class TrainableWeights;
};

// Vectors, and what is used like them: kept as float32, for they are small and read element by element.
bool is_vector(const TensorKey& key, std::size_t rank);

}  // namespace reckon
