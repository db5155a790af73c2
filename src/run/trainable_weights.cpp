// Weights that the optimizer changes: where they lie, and what they begin as.
#include "files/checked.h"
#include "compile/compile.h"
#include "passes/expand.h"
#include "backend/cpu/random.h"
#include "run/elements.h"
#include "run/weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reckon {

class TrainableWeights {
 public:
  TrainableWeights(Program program, DType dtype) : program_(std::move(program)), dtype_(dtype) {
    std::int64_t elements = 0;
    for (const Tensor& tensor : program_.tensors) {
      if (tensor.kind != TensorKind::parameter) continue;
      elements = checked_add(elements, padded(tensor.shape.elements()), "the weights");
      weights_.elements_ += tensor.shape.elements();
      weights_.bytes_ += row_bytes(type_of(tensor), tensor.shape.elements());
    }
    masters_ = take(row_bytes(DType::float32, elements));
    if (dtype != DType::float32) copies_ = take(row_bytes(dtype, elements));
  }

  Weights fill(const Weights::Fill& value) {
    std::int64_t next = 0;
    for (const Tensor& tensor : program_.tensors) {
      const bool correction = tensor.kind == TensorKind::constant && tensor.scope.role.part == Part::correction;
      if (tensor.kind != TensorKind::parameter && !correction) continue;
      const TensorKey key = key_of(tensor);
      const std::int64_t n = tensor.shape.elements();
      ParameterData& data = weights_.parameters_[key];
      data.dtype = type_of(tensor);
      if (is_vector(key, static_cast<std::size_t>(tensor.shape.rank())) || correction) {
        data.values.resize(memory_size(n, "the elements of a vector"));
        data.master = data.values.data();
        value(tensor, data.master);
        if (correction) data.master = nullptr;
        continue;
      }
      data.master = reinterpret_cast<float*>(masters_) + next;
      std::byte* stored = (copies_ != nullptr ? copies_ : masters_) + row_bytes(dtype_, next);
      next += padded(n);
      const std::int64_t cols = tensor.shape[-1].size, rows = tensor.shape[tensor.shape.rank() - 2].size;
      for (std::int64_t e = 0; e < n / (rows * cols); ++e) {
        data.matrices.push_back({stored + row_bytes(dtype_, e * rows * cols), dtype_, rows, cols, cols, 1, 0, 0});
      }
      value(tensor, data.master);
    }
    weights_.refresh();
    return std::move(weights_);
  }

 private:
  DType type_of(const Tensor& tensor) const {
    return is_vector(key_of(tensor), static_cast<std::size_t>(tensor.shape.rank())) ? DType::float32 : dtype_;
  }
  // Each begins at a line of cache.
  static std::int64_t padded(std::int64_t elements) { return (elements + 31) / 32 * 32; }
  std::byte* take(std::int64_t bytes) {
    weights_.arenas_.push_back(std::make_unique<Arena>(bytes));
    return weights_.arenas_.back()->take(0, bytes);
  }

  Program program_;
  DType dtype_;  // of matrices
  Weights weights_;
  std::byte *masters_ = nullptr, *copies_ = nullptr;
};

namespace {

// All parameters of a model are there whatever the workload.
Program parameters_of(const Model& model) {
  Workload one;
  one.tokens = 1;
  return expand(logical_program(model, one));
}

bool adds_to_residual(Role role) { return role.part == Part::output || role.part == Part::down; }

// Normal numbers by the method of Box and Muller, a pair for every two places.
void fill_normal(std::uint64_t state, double deviation, std::int64_t n, float* to) {
  const auto uniform = [&](std::uint64_t i) { return (static_cast<double>(mixed(state + i) >> 11) + 0.5) * 0x1p-53; };
  for (std::int64_t i = 0; i < n; i += 2) {
    const double radius = deviation * std::sqrt(-2.0 * std::log(uniform(static_cast<std::uint64_t>(i))));
    const double angle = 2.0 * std::numbers::pi * uniform(static_cast<std::uint64_t>(i) + 1);
    to[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < n) to[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

Weights Weights::trainable(Program program, DType dtype, const Fill& fill) {
  return TrainableWeights(std::move(program), dtype).fill(fill);
}

Weights Weights::trainable(const Model& model, Initialisation initialisation, std::uint64_t seed, DType dtype) {
  std::size_t sublayers = 0;
  for (const Layer& layer : model.layers) sublayers += layer.sublayers.size();
  const double residual = 1.0 / std::sqrt(static_cast<double>(sublayers));      // of each that adds to the stream
  const bool plus_one = model.final_norm && model.final_norm->weight_plus_one;  // Gemma's norms multiply by 1 + w
  return trainable(parameters_of(model), dtype, [&](const Tensor& tensor, float* to) {
    const std::int64_t n = tensor.shape.elements();
    const TensorKey key = key_of(tensor);
    if (is_vector(key, static_cast<std::size_t>(tensor.shape.rank()))) {
      const bool norm = is_norm(key.scope.role) && key.piece == Piece::weight;
      std::fill_n(to, n, norm && !plus_one ? 1.0f : 0.0f);
      return;
    }
    const bool table = key.scope.role.block == Block::embedding;
    double deviation = 0.02;
    if (initialisation == Initialisation::scaled && !table) {
      deviation = 1.0 / std::sqrt(static_cast<double>(tensor.shape[-1].size));
    }
    if (adds_to_residual(key.scope.role)) deviation *= residual;
    std::uint64_t state = mixed(seed);
    for (char c : full_name(tensor)) state = mixed(state ^ static_cast<unsigned char>(c));
    fill_normal(state, deviation, n, to);
  });
}

Weights Weights::trainable(const Model& model, const Weights& from, DType dtype) {
  return trainable(parameters_of(model), dtype, [&](const Tensor& tensor, float* to) {
    Elements elements(from[key_of(tensor)]);
    std::generate_n(to, tensor.shape.elements(), [&] { return elements.next(); });
  });
}

Weights Weights::borrowed() const {
  Weights other;
  other.parameters_ = parameters_;
  other.elements_ = elements_;
  other.bytes_ = bytes_;
  for (auto& [key, data] : other.parameters_) {
    data.master = nullptr;
    data.squares = nullptr;
  }
  return other;
}

void Weights::keep_squares(const TensorKey& key, Squares* squares) { parameters_.at(key).squares = squares; }

void Weights::refresh() {
  for (auto& [key, data] : parameters_) {
    if (data.matrices.empty() || data.dtype == DType::float32) continue;
    const Weight& first = data.matrices[0];
    const std::int64_t n = first.rows * first.cols * static_cast<std::int64_t>(data.matrices.size());
    encoding_of(data.dtype).encode(data.master, n, static_cast<std::byte*>(const_cast<void*>(first.data)));
  }
}

}  // namespace reckon
