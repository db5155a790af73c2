// Weights that no file has: random ones to run, those that training begins with, and copies of those of a trainer.
#include <reckon/error.h>

#include "backend/host_buffer.h"
#include "compile/compile.h"
#include "files/checked.h"
#include "files/random.h"
#include "passes/expand.h"
#include "run/weights.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>

namespace reckon {
namespace {

// All parameters of a model are there whatever the workload.
Program parameters_of(const Model& model) {
  Workload one;
  one.tokens = 1;
  return expand(logical_program(model, one));
}

// xIELU starts with slopes of 0.8 and 0.3 behind their softplus, and keeps β and ε (Huang & Schlag).
bool starts_as_xielu(const Tensor& tensor, std::span<float> to) {
  const Role role = tensor.scope.role;
  if (role.block != Block::feed_forward || role.part != Part::activation || to.size() != 2) return false;
  const bool slopes = tensor.kind == TensorKind::parameter;
  to[0] = slopes ? std::log(std::expm1(0.8f)) : 0.5f;
  to[1] = slopes ? std::log(std::expm1(0.3f)) : -1e-6f;
  return true;
}

bool is_norm_weight(const Tensor& tensor) { return is_norm(tensor.scope.role) && tensor.label.piece == Piece::weight; }

// Factors that begin at 1: of a stream, or of an expert. (AltUp's begin at 0, as all vectors.)
bool is_factor(const Tensor& tensor) {
  const Role role = tensor.scope.role;
  return role.part == Part::expert_scale || (role.part == Part::stream_scale && role.block != Block::streams);
}

std::uint64_t seed_of(const Tensor& tensor, std::uint64_t seed) {
  std::uint64_t state = mixed(seed);
  for (char c : full_name(tensor)) state = mixed(state ^ static_cast<unsigned char>(c));
  return state;
}

// What the parts of a recurrence's own begin with, as transformers has it: decays of 1, 2, 3 …, steps from 0.001 to
// 0.1, the values passing. Also slopes of lightning attention, which no file of random weights would make stable.
// False: none of these.
bool fill_recurrence(const Model& model, const Tensor& tensor, std::int64_t first, std::span<float> to) {
  const Role role = tensor.scope.role;
  if (role.block != Block::recurrence || (role.part != Part::decay && role.part != Part::skip)) return false;
  const auto each = [&](const auto& value) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(value(first + static_cast<std::int64_t>(i)));
    return true;
  };
  const double count = static_cast<double>(tensor.shape.elements());
  if (role.part == Part::skip) return each([](std::int64_t) { return 1.0; });
  if (tensor.kind == TensorKind::constant) {  // MiniMax: a geometric series, flatter in every layer
    const double last = static_cast<double>(model.layers.size()) - 1.0 + 1e-5;
    const double factor = 1.0 - static_cast<double>(tensor.scope.layer) / last + 1e-5;
    return each([=](std::int64_t i) { return factor * std::exp2(-8.0 * static_cast<double>(i + 1) / count); });
  }
  if (tensor.label.piece == Piece::bias) {
    return each([=](std::int64_t i) {  // softplus of it is the step
      const double step = 0.001 * std::pow(100.0, static_cast<double>(i) / count);
      return step + std::log(-std::expm1(-step));
    });
  }
  const std::int64_t states = tensor.shape.rank() == 2 ? tensor.shape[1].size : tensor.shape.elements();
  return each([=](std::int64_t i) { return std::log(1.0 + static_cast<double>(i % states)); });
}

bool adds_to_residual(Role role) { return role.part == Part::output || role.part == Part::down; }

// Normal numbers by the method of Box and Muller, a pair for every two places; `first` is even.
void fill_normal(std::uint64_t state, double deviation, std::int64_t first, std::span<float> to) {
  const auto uniform = [&](std::size_t i) {
    return (static_cast<double>(mixed(state + static_cast<std::uint64_t>(first) + i) >> 11) + 0.5) * 0x1p-53;
  };
  for (std::size_t i = 0; i < to.size(); i += 2) {
    const double radius = deviation * std::sqrt(-2.0 * std::log(uniform(i)));
    const double angle = 2.0 * std::numbers::pi * uniform(i + 1);
    to[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < to.size()) to[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

}  // namespace

Weights Weights::filled(const Program& program, DType dtype, const Fill& fill, const std::atomic<bool>* cancel) {
  constexpr std::int64_t block = std::int64_t{1} << 20;  // elements between looks at `cancel`: a few milliseconds
  const Encoding& encoding = encoding_of(dtype);
  Weights weights;
  std::vector<float> values;
  const auto wanted = [](const Tensor& tensor) {
    return tensor.kind == TensorKind::parameter ||
           (tensor.kind == TensorKind::constant &&
            (tensor.label.piece == Piece::bias || tensor.scope.role.part == Part::decay ||
             tensor.scope.role.part == Part::stream_scale));
  };
  const auto size_of = [&](const Tensor& tensor) {
    return memory_size(row_bytes(encoding, tensor.shape.elements()), "the size of a parameter");
  };
  // All in one piece of memory, in huge pages, each from a line of the cache on.
  const auto room = [&](const Tensor& tensor) { return (size_of(tensor) + 63) / 64 * 64; };
  std::size_t all = 0;
  for (const Tensor& tensor : program.tensors)
    if (wanted(tensor)) all = checked_add(all, room(tensor), "the size of all parameters");
  const auto whole = std::make_shared<HostBuffer>(static_cast<std::int64_t>(all), reckon::Fill::nothing);
  std::byte* next = whole->at(0, static_cast<std::int64_t>(all));
  for (const Tensor& tensor : program.tensors) {
    if (!wanted(tensor)) continue;
    const std::int64_t elements = tensor.shape.elements();
    const std::size_t size = size_of(tensor);
    const std::shared_ptr<std::byte> memory(whole, next);
    next += room(tensor);
    for (std::int64_t first = 0; first < elements; first += block) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) throw Cancelled();
      const auto count = static_cast<std::size_t>(std::min(block, elements - first));
      if (dtype == DType::float32) {
        fill(tensor, first, {reinterpret_cast<float*>(memory.get()) + first, count});
        continue;
      }
      values.resize(count);
      fill(tensor, first, values);
      encoding.encode(values.data(), static_cast<std::int64_t>(count), memory.get() + row_bytes(encoding, first));
    }
    weights.add(tensor, dtype, {memory.get(), size}, memory);
  }
  return weights;
}

Weights Weights::random(const Model& model, std::uint64_t seed, DType dtype, const std::atomic<bool>* cancel) {
  const auto fill = [&](const Tensor& tensor, std::int64_t first, std::span<float> to) {
    if (is_norm_weight(tensor) || is_factor(tensor)) return std::fill(to.begin(), to.end(), 1.0f);
    if (fill_recurrence(model, tensor, first, to)) return;
    if (starts_as_xielu(tensor, to)) return;
    constexpr float deviation = 0.02f;
    // Uniform on ±deviation·√3.
    std::uint64_t at = seed_of(tensor, seed) + static_cast<std::uint64_t>(first);
    for (float& value : to) {
      const float unit = static_cast<float>(mixed(at++) >> 40) * 0x1p-24f;
      value = (unit - 0.5f) * (2.0f * 1.7320508f * deviation);
    }
  };
  return filled(parameters_of(model), dtype, fill, cancel);
}

Weights Weights::copy(const Model& model, const Weights& from) {
  std::optional<Elements> elements;  // of the tensor at hand, which is filled from its beginning to its end
  return filled(parameters_of(model), DType::float32,
                [&](const Tensor& tensor, std::int64_t first, std::span<float> to) {
                  if (first == 0) elements.emplace(from[key_of(tensor)]);
                  std::generate(to.begin(), to.end(), [&] { return elements->next(); });
                });
}

Weights Weights::initial(const Model& model, Initialisation initialisation, std::uint64_t seed) {
  std::size_t sublayers = 0;
  for (const Layer& layer : model.layers) sublayers += layer.sublayers.size();
  const double residual = 1.0 / std::sqrt(static_cast<double>(sublayers));      // of each that adds to the stream
  const bool plus_one = model.final_norm && model.final_norm->weight_plus_one;  // Gemma's norms multiply by 1 + w
  return filled(
      parameters_of(model), DType::float32, [&](const Tensor& tensor, std::int64_t first, std::span<float> to) {
        const TensorKey key = key_of(tensor);
        if (starts_as_xielu(tensor, to)) return;
        if (fill_recurrence(model, tensor, first, to)) return;
        if (is_factor(tensor)) return std::fill(to.begin(), to.end(), 1.0f);
        if (key.scope.role.part == Part::difference) return fill_normal(seed_of(tensor, seed), 0.1, first, to);
        const bool convolution = is_convolution(key.scope.role) && key.piece == Piece::weight;
        if (!convolution && is_vector(key, static_cast<std::size_t>(tensor.shape.rank())))
          return std::fill(to.begin(), to.end(), is_norm_weight(tensor) && !plus_one ? 1.0f : 0.0f);
        const bool table =
            key.scope.role.block == Block::embedding || key.scope.role == Role{Block::layer_input, Part::token};
        double deviation = 0.02;
        if (initialisation == Initialisation::scaled && !table)
          deviation = 1.0 / std::sqrt(static_cast<double>(tensor.shape[-1].size));
        if (convolution) deviation = 1.0 / std::sqrt(3.0 * static_cast<double>(tensor.shape[-1].size));
        if (adds_to_residual(key.scope.role)) deviation *= residual;
        fill_normal(seed_of(tensor, seed), deviation, first, to);
      });
}

}  // namespace reckon
