// Positions as numbers and as sinusoids, and which rotary table is which.
#include "run/inputs.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/numbers.h"
#include "network/forward.h"

#include <cmath>

namespace reckon {
namespace {

// Vaswani et al., section 3.5: sines at even, cosines at odd places.
void add_sinusoids(std::vector<float>& rows, std::int64_t position, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    const double exponent = -static_cast<double>(i - i % 2) / static_cast<double>(width);
    const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
    rows.push_back(static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
  }
}

// fairseq: all sines, then all cosines.
void add_sinusoid_halves(std::vector<float>& rows, std::int64_t position, std::int64_t width) {
  const std::int64_t half = width / 2;
  const auto angle = [&](std::int64_t i) {
    return static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half - 1));
  };
  for (std::int64_t i = 0; i < half; ++i) rows.push_back(static_cast<float>(std::sin(angle(i))));
  for (std::int64_t i = 0; i < half; ++i) rows.push_back(static_cast<float>(std::cos(angle(i))));
  if (width % 2 != 0) rows.push_back(0.0f);
}

bool is_rope_table(const Tensor& tensor) { return tensor.label.piece == Piece::table; }

}  // namespace

void check_no_encoder(const Model& model) {
  if (find<CrossAttention>(model) == nullptr) return;
  throw UsageError(
      fmt::format("{} attends to an encoder's output; only models without an encoder run, or train", model.name));
}

void check_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < vocab_size) continue;
    throw UsageError(fmt::format("id {} is outside the vocabulary of {} tokens", id, grouped(vocab_size)));
  }
}

void write_inputs(Backend& backend, const Executable& executable, const Model& model, std::span<const PartInputs> parts,
                  std::int64_t tokens) {
  const Program& program = executable.program();
  std::vector<std::int32_t> integers;
  std::vector<float> sinusoids;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.kind != TensorKind::input) continue;
    integers.clear();
    sinusoids.clear();
    for (const PartInputs& part : parts) {
      if (tensor.label.piece == Piece::ids) integers.insert(integers.end(), part.ids.begin(), part.ids.end());
      if (tensor.label.piece == Piece::labels) integers.insert(integers.end(), part.labels.begin(), part.labels.end());
      for (std::int64_t position = part.past; position < part.past + tokens; ++position) {
        if (tensor.label.piece == Piece::positions)
          integers.push_back(static_cast<std::int32_t>(position + model.positions.extra_rows));
        if (tensor.label.piece != Piece::sinusoids) continue;
        const std::int64_t row = position + model.positions.extra_rows;
        model.positions.kind == Positions::Kind::sinusoidal ? add_sinusoids(sinusoids, row, model.d_model)
                                                            : add_sinusoid_halves(sinusoids, row, model.d_model);
      }
    }
    const Address to = executable.place(static_cast<TensorId>(i));
    if (to.buffer == nullptr) continue;  // nothing reads it
    tensor.dtype == DType::int32 ? write<std::int32_t>(backend, to, integers) : write<float>(backend, to, sinusoids);
  }
}

std::int64_t rope_table_index(const Program& program, TensorId id) {
  if (!is_rope_table(program[id])) return -1;
  std::int64_t index = 0;
  for (TensorId i = 0; i < id; ++i) index += is_rope_table(program[i]) ? 1 : 0;
  return index;
}

namespace {

// What queries are multiplied by, of so many positions.
std::vector<float> scale_rows(const PositionScale& scale, std::int64_t count) {
  std::vector<float> rows;
  for (std::int64_t p = 0; p < count; ++p) {
    const double lengths = static_cast<double>(p + scale.offset) / scale.length;
    const double steps = scale.smooth ? std::max(lengths, 1.0) - 1.0 : std::floor(lengths);
    rows.push_back(static_cast<float>(1.0 + scale.beta * std::log1p(steps)));
  }
  return rows;
}

}  // namespace

std::vector<float> constant_values(const Program& program, TensorId id, const Model& model, std::int64_t rows,
                                   const Parameters& parameters) {
  if (const std::int64_t table = rope_table_index(program, id); table >= 0)
    return rope_rows(distinct_ropes(model).at(static_cast<std::size_t>(table)), 0, rows, rows);
  if (program[id].label.piece == Piece::positions) {
    std::size_t index = 0;
    for (TensorId i = 0; i < id; ++i)
      index += program[i].kind == TensorKind::constant && program[i].label.piece == Piece::positions ? 1 : 0;
    return scale_rows(distinct_position_scales(model).at(index), rows);
  }
  const auto found = parameters.find(key_of(program[id]));
  if (found == parameters.end()) throw Error("the weights have no parameter '" + full_name(program[id]) + "'");
  return found->second.values;
}

std::shared_ptr<Buffer> buffer_of(Backend& backend, std::span<const float> values) {
  std::shared_ptr<Buffer> buffer = backend.allocate(std::ssize(values) * std::int64_t{sizeof(float)}, Fill::nothing);
  write(backend, {buffer}, values);
  return buffer;
}

}  // namespace reckon
