#include "run/importance.h"

#include "backend/backend.h"
#include "backend/inspection.h"
#include "ops/project.h"

#include <algorithm>
#include <utility>

namespace reckon {
namespace {

// Sums of squares of the columns, and how many rows they are of; of experts one after another.
struct Columns {
  std::vector<double> squares;
  std::vector<std::int64_t> rows;
};

void add(const Executable& executable, const Op& op, std::map<TensorKey, Columns>& all) {
  const bool grouped = op.operation == &grouped_project_operation;
  if (op.operation != &project_operation && !grouped) return;
  const Program& program = executable.program();
  const Tensor& weight = program[op.inputs[project_input::weight]];
  if (weight.kind != TensorKind::parameter) return;
  const std::vector<double> x = executable.values(op.inputs[project_input::x]);
  const std::int64_t columns = weight.shape[-1].size, experts = grouped ? weight.shape[0].size : 1;
  std::vector<double> offsets{0, static_cast<double>(std::ssize(x) / columns)};
  if (grouped) offsets = executable.values(op.inputs[project_input::offsets]);
  Columns& sums = all[key_of(weight)];
  sums.squares.resize(static_cast<std::size_t>(experts * columns));
  sums.rows.resize(static_cast<std::size_t>(experts));
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto first = static_cast<std::int64_t>(offsets[static_cast<std::size_t>(expert)]);
    const auto end = static_cast<std::int64_t>(offsets[static_cast<std::size_t>(expert) + 1]);
    double* const to = sums.squares.data() + expert * columns;
    for (std::int64_t row = first; row < end; ++row)
      for (std::int64_t i = 0; i < columns; ++i) {
        const double value = x[static_cast<std::size_t>(row * columns + i)];
        to[i] += value * value;
      }
    sums.rows[static_cast<std::size_t>(expert)] += end - first;
  }
}

}  // namespace

Importance measure_importance(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids,
                              EngineOptions options, const std::function<void(std::int64_t)>& progress) {
  std::map<TensorKey, Columns> all;
  Inspection inspection;
  inspection.observe = [&](const Executable& executable, const Op& op) { add(executable, op, all); };
  options.inspection = &inspection;
  Engine engine(std::move(model), options);
  Session session = engine.session();
  const std::int64_t window = engine.options().capacity;
  for (std::int64_t first = 0; first < std::ssize(ids); first += window) {
    const std::int64_t count = std::min(window, std::ssize(ids) - first);
    session.reset();
    session.run(ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), Logits::all);
    progress(first + count);
  }
  Importance importance;
  for (const auto& [key, sums] : all) {
    std::vector<float>& means = importance[key];
    const std::size_t columns = sums.squares.size() / sums.rows.size();
    for (std::size_t i = 0; i < sums.squares.size(); ++i) {
      const std::int64_t rows = sums.rows[i / columns];  // 0: an expert that the text never chose, all columns alike
      means.push_back(rows > 0 ? static_cast<float>(sums.squares[i] / static_cast<double>(rows)) : 1.0f);
    }
  }
  return importance;
}

}  // namespace reckon
