// Every operation's gradient, as the kernels compute it, against central differences of the same program in float64.
#include <gtest/gtest.h>

#include "backend/cpu/random.h"
#include "backend/reference/evaluate.h"
#include "gradient_cases.h"
#include "compile/compile.h"
#include "ops/adamw.h"
#include "ops/table.h"
#include "passes/expand.h"
#include "passes/gradient.h"
#include "passes/optimizer.h"
#include "run/executor.h"
#include "run/weights.h"

#include <cmath>
#include <map>
#include <set>

namespace reckon {
namespace {

using Gradients = std::map<std::string, std::vector<double>>;  // by the name of the parameter

// Uniform in ±1.5, exact in float32.
float parameter_element(const std::string& name, std::int64_t i) {
  std::uint64_t state = 1;
  for (char c : name) state = mixed(state ^ static_cast<unsigned char>(c));
  return static_cast<float>(static_cast<double>(mixed(state + static_cast<std::uint64_t>(i)) >> 40) * 0x1p-24 * 3.0 -
                            1.5);
}

ReferenceValues given_values(const Program& program) {
  ReferenceValues values;
  for (const Tensor& tensor : program.tensors) {
    std::vector<double> all;
    const bool given = tensor.kind == TensorKind::input || tensor.kind == TensorKind::constant;
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
      if (given) all.push_back(static_cast<float>(given_element(tensor, i)));
      if (tensor.kind == TensorKind::parameter) all.push_back(parameter_element(full_name(tensor), i));
    }
    values.push_back(std::move(all));
  }
  return values;
}

double reference_loss(const Program& program, ReferenceValues& values) {
  evaluate(program, values);
  return values[static_cast<std::size_t>(program.output)][0];
}

Gradients central_differences(const Program& program) {
  constexpr double step = 1e-5;
  Gradients all;
  ReferenceValues values = given_values(program);
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].kind != TensorKind::parameter) continue;
    std::vector<double>& gradient = all[full_name(program.tensors[id])];
    for (std::size_t i = 0; i < values[id].size(); ++i) {
      const double value = values[id][i];
      values[id][i] = value + step;
      const double above = reference_loss(program, values);
      values[id][i] = value - step;
      const double below = reference_loss(program, values);
      values[id][i] = value;
      gradient.push_back((above - below) / (2 * step));
    }
  }
  return all;
}

struct Computed {
  double loss = 0;
  Gradients gradients;
};

// Differentiated, lowered and run as a trainer does it.
Computed computed(const Program& forward) {
  const Compiled compiled = compile(optimizer_step(gradient(forward)), cpu_target);
  const Program& program = compiled.lowered;
  const Weights weights = Weights::trainable(forward, DType::float32, [](const Tensor& tensor, float* to) {
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) to[i] = parameter_element(full_name(tensor), i);
  });
  std::map<TensorId, std::vector<float>> lasting;
  const auto resident = [&](const Program& p, TensorId id) {
    std::vector<float>& memory = lasting[id];
    for (std::int64_t i = 0; i < p[id].shape.elements(); ++i) {
      const bool constant = p[id].kind == TensorKind::constant;
      memory.push_back(constant ? static_cast<float>(given_element(p[id], i)) : std::nanf(""));
    }
    return Address{reinterpret_cast<std::byte*>(memory.data())};
  };
  Executor executor(expand(program, compiled.plan), compiled.plan, weights, resident,
                    std::make_shared<Arena>(compiled.plan.arena));
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind != TensorKind::input) continue;
    auto* to = reinterpret_cast<std::int32_t*>(executor.data(static_cast<TensorId>(id)));
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
      to[i] = static_cast<std::int32_t>(given_element(tensor, i));
    }
  }
  Pool pool(2);
  Scratch scratch(2);
  Counters counters(2);
  Machine machine{pool, scratch, counters};
  TrainingStep step;
  step.drops = true;  // from the seed 0
  executor.run(machine, nullptr, &step, {Stage::forward, Stage::backward});

  Computed result;
  const auto floats = [&](TensorId id) { return reinterpret_cast<const float*>(executor.data(id)); };
  result.loss = static_cast<double>(*floats(program.output));
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    const float* values = floats(op.inputs[1]);
    result.gradients[full_name(program[op.inputs[0]])] = {values, values + program[op.inputs[1]].shape.elements()};
  }
  return result;
}

class OpGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(OpGradient, IsThatOfFiniteDifferencesInFloat64) {
  const Program program = build(GetParam());
  ReferenceValues values = given_values(program);
  const Computed found = computed(program);
  EXPECT_NEAR(found.loss, reference_loss(program, values), 1e-5);
  const Gradients expected = central_differences(program);
  ASSERT_EQ(found.gradients.size(), expected.size());
  for (const auto& [name, reference] : expected) {
    ASSERT_TRUE(found.gradients.contains(name)) << name;
    const std::vector<double>& gradient = found.gradients.at(name);
    ASSERT_EQ(gradient.size(), reference.size());
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      difference += std::pow(gradient[i] - reference[i], 2);
      norm += reference[i] * reference[i];
    }
    EXPECT_GT(norm, 0.0) << name << " does not reach the loss";
    EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(norm)) << name << " of norm " << std::sqrt(norm);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpGradient, testing::ValuesIn(gradient_cases()),
                         [](const auto& one) { return one.param.name; });

TEST(OpGradientCases, AreThereForEveryOperationThatHasAGradient) {
  std::set<const Operation*> differentiated;
  for (const GradientCase& row : gradient_cases()) {
    for (const Op& op : build(row).ops) differentiated.insert(op.operation);
  }
  for (const Operation* operation : all_operations()) {
    if (operation->gradient == nullptr) continue;
    EXPECT_TRUE(differentiated.contains(operation)) << operation->name;
  }
}

}  // namespace
}  // namespace reckon
