// How long it takes to count: the model read, its program written, the ledger added up; and to plan: lowered, and its
// tensors given their places.
#include <benchmark/benchmark.h>
#include <reckon/reckon.h>

#include "compile/compile.h"
#include "count/ledger.h"
#include "lowering/lower.h"
#include "memory/plan.h"
#include "model/modify.h"
#include "network/forward.h"
#include "passes/gradient.h"
#include "passes/optimizer.h"

namespace {

using namespace reckon;

const char* const name = "llama-3.1-405b";

void load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(load_model(name));
}
BENCHMARK(load)->Name("read the model")->Unit(benchmark::kMicrosecond);

void parameters(benchmark::State& state) {
  const Model model = load_model(name);
  for (auto _ : state) benchmark::DoNotOptimize(count_parameters(model));
}
BENCHMARK(parameters)->Name("count its parameters")->Unit(benchmark::kMicrosecond);

void ledger(benchmark::State& state, Phase phase) {
  const Model model = load_model(name);
  const Workload workload = workload_of(phase);
  for (auto _ : state) benchmark::DoNotOptimize(count(model, workload));
}
BENCHMARK_CAPTURE(ledger, forward, Phase::forward)->Name("forward ledger")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(ledger, train, Phase::train)->Name("training ledger")->Unit(benchmark::kMicrosecond);

// The parts of the training ledger.
void write_forward(benchmark::State& state) {
  const Model model = load_model(name);
  for (auto _ : state) benchmark::DoNotOptimize(forward(model, workload_of(Phase::train)));
}
BENCHMARK(write_forward)->Name("… of it: writing the forward program")->Unit(benchmark::kMicrosecond);

void write_backward(benchmark::State& state) {
  const Program program = forward(load_model(name), workload_of(Phase::train));
  for (auto _ : state) benchmark::DoNotOptimize(optimizer_step(gradient(program)));
}
BENCHMARK(write_backward)->Name("… differentiating and the optimizer's step")->Unit(benchmark::kMicrosecond);

void read(benchmark::State& state) {
  const Program program = logical_program(load_model(name), workload_of(Phase::train));
  for (auto _ : state) benchmark::DoNotOptimize(read_ledger(program));
}
BENCHMARK(read)->Name("… adding up")->Unit(benchmark::kMicrosecond);

Model with_layers(std::int64_t layers) {
  Changes changes;
  changes.layers = layers;
  return modify(load_model(name), changes);
}

void plan(benchmark::State& state) {
  const Model model = load_model(name);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        plan_memory(lower(logical_program(model, workload_of(Phase::train)), cpu_target), cpu_target));
}
BENCHMARK(plan)->Name("training step planned")->Unit(benchmark::kMicrosecond);

void lower_and_plan(benchmark::State& state, std::int64_t layers) {
  const Program program = logical_program(with_layers(layers), workload_of(Phase::train));
  for (auto _ : state) benchmark::DoNotOptimize(plan_memory(lower(program, cpu_target), cpu_target));
}
BENCHMARK_CAPTURE(lower_and_plan, as_is, 126)->Name("… of it: lowering and planning")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lower_and_plan, deep, 100'000)->Name("… the same with 100000 layers")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
