#include "run/importance.h"

#include "backend/backend.h"
#include "backend/inspection.h"
#include "ops/project.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reckon {
namespace {

// Added to the diagonal of a correlation, as a share of its mean: columns that were hardly used stay near their values.
constexpr double damping = 0.03;

// Sums over all rows that came by; of experts one after another.
struct Columns {
  std::vector<double> squares;
  std::vector<std::int64_t> rows;
  std::vector<float> products;  // of two columns, the upper half of columns × columns; empty: not summed
};

class Collector {
 public:
  explicit Collector(Pool& pool) : pool_(pool) {}

  void add(const Executable& executable, const Op& op) {
    const bool grouped = op.operation == &grouped_project_operation;
    if (op.operation != &project_operation && !grouped) return;
    const Program& program = executable.program();
    const Tensor& weight = program[op.inputs[project_input::weight]];
    const TensorId input = op.inputs[project_input::x];
    if (weight.kind != TensorKind::parameter) return;
    // Queries, keys and values read the same: its sums are kept once, under the first.
    const TensorKey key = key_of(weight), first = first_.try_emplace({&program, input}, key).first->second;
    same_as_.try_emplace(key, first);
    if (same_as_.at(key) != key) return;
    const std::vector<double> values = executable.values(input);
    const std::vector<float> x(values.begin(), values.end());
    const std::int64_t columns = weight.shape[-1].size, experts = grouped ? weight.shape[0].size : 1;
    const std::int64_t rows = std::ssize(x) / columns;
    std::vector<double> offsets{0, static_cast<double>(rows)};
    if (grouped) offsets = executable.values(op.inputs[project_input::offsets]);
    Columns& sums = sums_[key];
    sums.squares.resize(static_cast<std::size_t>(experts * columns));
    sums.rows.resize(static_cast<std::size_t>(experts));
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      const auto begin = static_cast<std::int64_t>(offsets[static_cast<std::size_t>(expert)]);
      const auto end = static_cast<std::int64_t>(offsets[static_cast<std::size_t>(expert) + 1]);
      double* const to = sums.squares.data() + expert * columns;
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t i = 0; i < columns; ++i) {
          const double value = x[static_cast<std::size_t>(row * columns + i)];
          to[i] += value * value;
        }
      sums.rows[static_cast<std::size_t>(expert)] += end - begin;
    }
    if (!grouped && columns <= most_correlated) add_products(x, columns, sums);
  }

  Importance finish() {
    Importance importance;
    std::vector<std::pair<Columns*, Activations*>> correlated;
    for (auto& [key, sums] : sums_) {
      Activations& result = importance[key];
      const std::size_t columns = sums.squares.size() / sums.rows.size();
      for (std::size_t i = 0; i < sums.squares.size(); ++i) {
        const std::int64_t rows = sums.rows[i / columns];  // 0: an expert that the text never chose, all columns alike
        result.squares.push_back(rows > 0 ? static_cast<float>(sums.squares[i] / static_cast<double>(rows)) : 1.0f);
      }
      if (!sums.products.empty()) correlated.emplace_back(&sums, &result);
    }
    pool_.run(std::ssize(correlated), [&](std::int64_t i, int) {
      const auto& [sums, result] = correlated[static_cast<std::size_t>(i)];
      result->factor = factor_of(*sums);
    });
    for (const auto& [key, first] : same_as_)
      if (key != first) importance[key] = importance.at(first);
    return importance;
  }

 private:
  void add_products(const std::vector<float>& x, std::int64_t columns, Columns& sums) {
    sums.products.resize(static_cast<std::size_t>(columns * columns));
    const std::int64_t rows = std::ssize(x) / columns;
    pool_.run(columns, [&](std::int64_t i, int) {
      float* const to = sums.products.data() + i * columns;
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* const from = x.data() + row * columns;
        const float value = from[i];
        for (std::int64_t j = i; j < columns; ++j) to[j] += value * from[j];
      }
    });
  }

  // nullptr where nothing came by.
  static std::shared_ptr<const std::vector<float>> factor_of(const Columns& sums) {
    const std::int64_t columns = std::ssize(sums.squares);
    const auto rows = static_cast<double>(sums.rows.front());
    double total = 0;
    for (const double square : sums.squares) total += square;
    if (!(total > 0) || !std::isfinite(total)) return nullptr;
    std::vector<double> matrix(sums.products.begin(), sums.products.end());
    for (double& value : matrix) value /= rows;
    for (std::int64_t i = 0; i < columns; ++i)
      matrix[static_cast<std::size_t>(i * columns + i)] += damping * total / rows / static_cast<double>(columns);
    return std::make_shared<const std::vector<float>>(inverse_factor(std::move(matrix), columns));
  }

  Pool& pool_;
  std::map<std::pair<const Program*, TensorId>, TensorKey> first_;
  std::map<TensorKey, TensorKey> same_as_;
  std::map<TensorKey, Columns> sums_;
};

}  // namespace

std::vector<float> inverse_factor(std::vector<double> matrix, std::int64_t columns) {
  const auto row = [&](std::int64_t i) { return matrix.data() + i * columns; };
  // The matrix becomes R·Rᵀ with R upper triangular, from the last column to the first, in its own place.
  for (std::int64_t j = columns - 1; j >= 0; --j)
    for (std::int64_t i = j; i >= 0; --i) {
      double sums[4] = {0, 0, 0, 0};
      const double *a = row(i), *b = row(j);
      for (std::int64_t k = j + 1; k < columns; ++k) sums[k & 3] += a[k] * b[k];
      const double left = a[j] - ((sums[0] + sums[2]) + (sums[1] + sums[3]));
      row(i)[j] = i == j ? std::sqrt(std::max(left, 1e-30)) : left / row(j)[j];
    }
  // U is the inverse of R, from the last row to the first.
  std::vector<float> factor(matrix.size());
  std::vector<double> sum(static_cast<std::size_t>(columns));
  for (std::int64_t i = columns - 1; i >= 0; --i) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::int64_t k = i + 1; k < columns; ++k) {
      const double value = row(i)[k];
      const float* const below = factor.data() + k * columns;
      for (std::int64_t j = k; j < columns; ++j)
        sum[static_cast<std::size_t>(j)] -= value * static_cast<double>(below[j]);
    }
    float* const to = factor.data() + i * columns;
    const double diagonal = 1 / row(i)[i];
    to[i] = static_cast<float>(diagonal);
    for (std::int64_t j = i + 1; j < columns; ++j)
      to[j] = static_cast<float>(sum[static_cast<std::size_t>(j)] * diagonal);
  }
  return factor;
}

Importance measure_importance(std::shared_ptr<const LoadedModel> model, std::span<const std::int32_t> ids,
                              EngineOptions options, Pool& pool, const std::function<void(std::int64_t)>& progress) {
  Collector collector(pool);
  Inspection inspection;
  inspection.observe = [&](const Executable& executable, const Op& op) { collector.add(executable, op); };
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
  return collector.finish();
}

}  // namespace reckon
