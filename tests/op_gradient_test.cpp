// Every operation's gradient, as the kernels of each backend compute it, against central differences of the same
// program in float64; and what they count against the cost rules.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include "files/random.h"
#include "backend/backend.h"
#include "backend/inspection.h"
#include "backend/reference/evaluate.h"
#include "gradient_cases.h"
#include "compile/compile.h"
#include "ops/chosen.h"
#include "ops/convolved_heads.h"
#include "ops/entries.h"
#include "ops/hyper.h"
#include "ops/adamw.h"
#include "ops/append.h"
#include "ops/collectives.h"
#include "ops/dequantise.h"
#include "ops/elementwise.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/multiply.h"
#include "ops/optimizers.h"
#include "ops/quantise.h"
#include "ops/table.h"
#include "passes/gradient.h"
#include "passes/optimizer.h"
#include "run/weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
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
  std::vector<std::string> findings;  // what ops did otherwise than their cost rules say
};

// Differentiated, lowered and run as a trainer does it.
Computed computed(const Program& forward, Device device) {
  Inspection inspection;
  const std::unique_ptr<Backend> made = make_backend(device, 2, &inspection);
  Backend& backend = *made;
  const Compiled compiled = compile(optimizer_step(gradient(forward)), backend.target());
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
  const Program& program = executable->program();
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
  result.findings = inspection.findings();
  return result;
}

constexpr Device devices[] = {Device::cpu, Device::reference64};

void expect_gradients(const Computed& found, const Gradients& expected) {
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

class OpGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(OpGradient, IsThatOfFiniteDifferencesInFloat64OnEachBackend) {
  const Program program = build(GetParam());
  Values values = given_values(program);
  const double loss = reference_loss(program, values);
  const Gradients expected = central_differences(program);
  for (const Device device : devices) {
    SCOPED_TRACE(device == Device::cpu ? "cpu" : "reference");
    if (device == Device::cpu && !GetParam().on_cpu) {
      EXPECT_THROW(computed(program, device), Error);
      continue;
    }
    const Computed found = computed(program, device);
    EXPECT_NEAR(found.loss, loss, 1e-5);
    expect_gradients(found, expected);
  }
}

TEST_P(OpGradient, IsCountedAsTheCostRulesSayOnEachBackend) {
  const Program program = build(GetParam());
  const bool left_out = std::any_of(program.tensors.begin(), program.tensors.end(),
                                    [](const Tensor& t) { return t.label.name == "labels_left_out"; });
  for (const Device device : devices) {
    if (left_out && device == Device::cpu) continue;  // it skips rows without a label; the rule is for all rows
    if (device == Device::cpu && !GetParam().on_cpu) continue;
    for (const std::string& finding : computed(program, device).findings)
      ADD_FAILURE() << (device == Device::cpu ? "cpu: " : "reference: ") << finding;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpGradient, testing::ValuesIn(gradient_cases()),
                         [](const auto& one) { return one.param.name; });

TEST(OpGradientCases, OfOtherOptimizersThanAdamWAreRefusedByASentence) {
  const auto said = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Program program = build(gradient_cases().front());
  program.workload.optimizer = Optimizer::sgd;
  EXPECT_EQ(said([&] { computed(program, Device::cpu); }), "[sgd] has no kernel on the CPU");
  const Program step = optimizer_step(gradient(program));
  Values values = given_values(step);
  EXPECT_EQ(said([&] { reference_loss(step, values); }), "[sgd] has no kernel on the reference");
}
// What the ranks of a layout exchange is predicted and never run; tests/shard_test.cpp holds the gradients of these.
const std::set<const Operation*> predicted = {
    &all_reduce_operation, &all_gather_operation,    &reduce_scatter_operation, &all_to_all_operation, &send_operation,
    &receive_operation,    &copy_to_group_operation, &own_part_operation,       &keep_alike_operation,
};

TEST(OpGradientCases, AreThereForEveryOperationThatHasAGradient) {
  std::set<const Operation*> differentiated = predicted;
  for (const GradientCase& row : gradient_cases()) {
    for (const Op& op : build(row).ops) differentiated.insert(op.operation);
  }
  for (const Operation* operation : all_operations()) {
    if (operation->gradient == nullptr) continue;
    EXPECT_TRUE(differentiated.contains(operation)) << operation->name;
  }
}

TEST(OpGradientCases, RunEveryOperationButThoseThatOtherTestsRun) {
  std::set<const Operation*> run = predicted;
  run.insert({
      &append_operation, &head_matmul_operation, &last_operation,  // decoding: the tiny models
      &multiply_operation, &take_operation,                        // of what cannot be trained yet: the tiny models
      &head_convolution_operation, &delay_operation, &average_heads_operation, &scale_heads_operation,
      &open_streams_operation, &hyper_weights_operation, &collapse_operation, &connect_operation, &entries_operation,
      &attend_entries_operation, &squared_norm_operation, &adamw_operation,  // the optimizer: training
      &narrow_operation, &widen_operation,                                   // training in bfloat16
      &all_reduce_start_operation, &all_reduce_wait_operation,               // training on several ranks
      // Never run: other optimizers than AdamW are counted and planned, and no backend has kernels for them.
      &sgd_operation, &adafactor_operation, &muon_operation, &newton_schulz_operation, &muon_step_operation,
      &adam8bit_operation,
      &dequantise_operation,  // nor for nf4
      &quantise_operation,    // weights of which nothing is trained (quantised_lowering_test.cpp)
  });
  for (const GradientCase& row : gradient_cases()) {
    const Program logical = optimizer_step(gradient(build(row)));
    for (const Target& target : {cpu_target, reference_target}) {
      for (const Op& op : compile(logical, target).lowered.ops) {
        if (op.stage != Stage::optimizer) run.insert(op.operation);
      }
    }
  }
  for (const Operation* operation : all_operations()) EXPECT_TRUE(run.contains(operation)) << operation->name;
}

}  // namespace
}  // namespace reckon
