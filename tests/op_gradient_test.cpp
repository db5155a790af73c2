// Every operation's gradient, as the kernels compute it, against central differences of the same program in float64.
#include <gtest/gtest.h>

#include "files/random.h"
#include "backend/cpu/backend.h"
#include "backend/reference/evaluate.h"
#include "gradient_cases.h"
#include "compile/compile.h"
#include "ops/adamw.h"
#include "ops/table.h"
#include "passes/expand.h"
#include "passes/gradient.h"
#include "passes/optimizer.h"
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

using Values = std::vector<std::vector<double>>;  // of each tensor

Values given_values(const Program& program) {
  Values values;
  for (const Tensor& tensor : program.tensors) {
    std::vector<double>& all = values.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
    const bool given = tensor.kind == TensorKind::input || tensor.kind == TensorKind::constant;
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
      double& value = all[static_cast<std::size_t>(i)];
      if (given) value = static_cast<double>(static_cast<float>(given_element(tensor, i)));
      if (tensor.kind == TensorKind::parameter) value = static_cast<double>(parameter_element(full_name(tensor), i));
    }
  }
  return values;
}

double reference_loss(const Program& program, Values& values) {
  ReferenceOptions options;
  options.step.drops = true;  // from the seed 0
  evaluate(program, ReferenceValues(values.begin(), values.end()), options);
  return values[static_cast<std::size_t>(program.output)][0];
}

Gradients central_differences(const Program& program) {
  constexpr double step = 1e-5;
  Gradients all;
  Values values = given_values(program);
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
  const Program program = expand(compiled.lowered);
  CpuBackend backend(2, nullptr);
  const auto bytes_of_tensor = [](const Tensor& tensor) { return static_cast<std::int64_t>(bytes(tensor)); };
  const auto resident = [&](const Program& p, TensorId id) {
    const Tensor& tensor = p[id];
    std::vector<float> values;
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
      values.push_back(tensor.kind == TensorKind::parameter  ? parameter_element(full_name(tensor), i)
                       : tensor.kind == TensorKind::constant ? static_cast<float>(given_element(tensor, i))
                                                             : std::nanf(""));
    }
    const Address address{backend.allocate(bytes_of_tensor(tensor), Fill::zeros)};
    write<float>(backend, address, values);
    return address;
  };
  const auto executable = backend.bind(compiled, resident, backend.allocate(compiled.plan.arena, Fill::zeros));
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind != TensorKind::input) continue;
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i)
      numbers.push_back(static_cast<std::int32_t>(given_element(tensor, i)));
    write<std::int32_t>(backend, executable->place(static_cast<TensorId>(id)), numbers);
  }
  TrainingStep step;
  step.drops = true;  // from the seed 0
  executable->run(&step, {Stage::forward, Stage::backward});

  Computed result;
  result.loss = executable->values(program.output)[0];
  for (const Op& op : program.ops) {
    if (op.operation == &adamw_operation)
      result.gradients[full_name(program[op.inputs[0]])] = executable->values(op.inputs[1]);
  }
  return result;
}

class OpGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(OpGradient, IsThatOfFiniteDifferencesInFloat64) {
  const Program program = build(GetParam());
  Values values = given_values(program);
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
