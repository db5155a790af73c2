// Positions as numbers and as sinusoids, and which rotary table is which.
#include "run/inputs.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <cmath>

namespace reckon {
namespace {

// Vaswani et al., section 3.5: sines at even, cosines at odd places.
void fill_sinusoids(float* row, std::int64_t position, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    const double exponent = -static_cast<double>(i - i % 2) / static_cast<double>(width);
    const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
    row[i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

bool is_rope_table(const Tensor& tensor) { return tensor.label.piece == Piece::table; }

}  // namespace

void check_no_encoder(const Model& model) {
  if (find<CrossAttention>(model) == nullptr) return;
  throw UsageError(
      fmt::format("{} attends to an encoder's output; only models without an encoder run, or train", model.name));
}

void fill_positions(const Model& model, const Tensor& tensor, std::int64_t past, std::int64_t tokens,
                    std::byte* memory) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (tensor.label.piece == Piece::positions) {
      reinterpret_cast<std::int32_t*>(memory)[t] = static_cast<std::int32_t>(past + t + model.positions.extra_rows);
    }
    if (tensor.label.piece == Piece::sinusoids) {
      fill_sinusoids(reinterpret_cast<float*>(memory) + t * model.d_model, past + t, model.d_model);
    }
  }
}

std::int64_t rope_table_index(const Program& program, TensorId id) {
  if (!is_rope_table(program[id])) return -1;
  std::int64_t index = 0;
  for (TensorId i = 0; i < id; ++i) index += is_rope_table(program[i]) ? 1 : 0;
  return index;
}

}  // namespace reckon
