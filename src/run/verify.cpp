// Each prediction is read from a program; each measurement comes from the counter, the arena or the weights that
// really were used.
#include "run/verify.h"

#include "count/ledger.h"
#include "count/parts.h"
#include "compile/compile.h"

#include <algorithm>
#include <chrono>
#include <map>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace reckon {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::int64_t peak_resident_bytes() {
#if __has_include(<sys/resource.h>)
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) return std::int64_t{usage.ru_maxrss} * 1024;
#endif
  return 0;
}

// The workload of a run of `tokens` after `past`, as the engine asks for it: the last logits only.
Ledger headline(const Model& model, const Engine& engine, std::int64_t tokens, std::int64_t past) {
  Workload workload = workload_of(tokens == 1 ? Phase::decode : Phase::prefill);
  workload.batch = engine.options().batch;
  workload.tokens = tokens;
  workload.past = past;
  return read_ledger(logical_program(model, workload));
}

// Of all parameters, each in the type that it is stored in.
Count weight_bytes(const Model& model, const Weights& weights) {
  Workload one;
  one.tokens = 1;
  one.parameter_types = weights.types();
  return parameter_bytes(logical_program(model, one));
}

Ledger lowered_at(const Executor& executor, std::int64_t past) {
  Program program = executor.program();
  program.workload.past = past;
  return read_ledger(program);
}

struct Component {
  Count flops;
  bool pairs = false;  // of queries and keys
};
using Components = std::map<std::string, Component>;

// Matrix products by what they are for; attention's two are one in the lowered program.
Components components(const Ledger& ledger) {
  Components sums;
  for (const Row& row : rows(ledger, Quantity::matmul, By::component)) {
    const bool pairs = pairs_tokens(row.role);
    Component& sum = sums[pairs ? "scores and mixing" : row.name];
    sum.flops += row.value;
    sum.pairs = pairs;
  }
  return sums;
}

void add(Components& sums, const Components& more) {
  for (const auto& [name, component] : more) {
    sums[name].flops += component.flops;
    sums[name].pairs = component.pairs;
  }
}

void add_differences(Verification& result, const std::string& phase, const Components& headline,
                     const Components& lowered) {
  for (const auto& [name, component] : headline) {
    const auto found = lowered.find(name);
    const Count other = found == lowered.end() ? 0 : found->second.flops;
    if (other == component.flops) continue;
    result.differences.push_back({phase, name,
                                  component.pairs ? "blocks of keys that no query may see are skipped" : "",
                                  component.flops, other});
  }
}

}  // namespace

bool Verification::holds() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.equal(); });
}

Verification verify(const Model& model, Weights weights, const VerifyOptions& options) {
  Verification result;
  result.prefill_tokens =
      options.tokens > 0 ? options.tokens : std::min<std::int64_t>(512, std::max<std::int64_t>(1, model.context / 2));
  result.decode_tokens = std::min(options.steps, std::max<std::int64_t>(0, model.context - result.prefill_tokens));
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.batch = options.batch;
  engine_options.capacity = result.prefill_tokens + result.decode_tokens;
  engine_options.chunk = result.prefill_tokens;
  engine_options.cancel = options.cancel;
  Engine engine(model, std::move(weights), engine_options);

  std::vector<std::int32_t> ids(static_cast<std::size_t>(options.batch * result.prefill_tokens));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] =
        static_cast<std::int32_t>((i * 7919 + options.seed * 104729) % static_cast<std::uint64_t>(model.vocab_size));
  }
  const std::vector<std::int32_t> next(ids.begin(), ids.begin() + options.batch);

  // Prefill.
  const Executor& prefill = engine.executor(result.prefill_tokens, Logits::last);
  engine.counters().reset();
  auto begin = std::chrono::steady_clock::now();
  engine.run(ids, Logits::last);
  result.prefill_seconds = seconds_since(begin);
  const std::int64_t prefill_flops = engine.counters().total().matmul_flops;
  const Ledger prefill_headline = headline(model, engine, result.prefill_tokens, 0);
  const Ledger prefill_lowered = lowered_at(prefill, 0);

  // Decode, step by step: each costs a little more than the one before.
  Count decode_headline, decode_lowered;
  Components decode_parts, decode_lowered_parts;
  engine.counters().reset();
  const Executor* decode = result.decode_tokens > 0 ? &engine.executor(1, Logits::last) : nullptr;
  begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < result.decode_tokens; ++i) engine.run(next, Logits::last);
  result.decode_seconds = seconds_since(begin);
  const std::int64_t decode_flops = engine.counters().total().matmul_flops;
  for (std::int64_t i = 0; i < result.decode_tokens; ++i) {
    const Ledger head = headline(model, engine, 1, result.prefill_tokens + i);
    const Ledger low = lowered_at(*decode, result.prefill_tokens + i);
    decode_headline += head.total().matmul;
    decode_lowered += low.total().matmul;
    add(decode_parts, components(head));
    add(decode_lowered_parts, components(low));
  }

  result.checks.push_back({"parameters", "", prefill_headline.parameter_totals.total,
                           prefill_lowered.parameter_totals.total, engine.weights().elements()});
  result.checks.push_back(
      {"weight bytes", "B", weight_bytes(model, engine.weights()), prefill.plan().weights, engine.weights().bytes()});
  result.checks.push_back(
      {"prefill matmul FLOPs", "FLOP", prefill_headline.total().matmul, prefill_lowered.total().matmul, prefill_flops});
  if (decode != nullptr) {
    result.checks.push_back({"decode matmul FLOPs", "FLOP", decode_headline, decode_lowered, decode_flops});
  }
  result.checks.push_back({"prefill arena", "B", std::nullopt, prefill.plan().arena, prefill.arena().high_water()});
  if (decode != nullptr) {
    result.checks.push_back({"decode arena", "B", std::nullopt, decode->plan().arena, decode->arena().high_water()});
  }
  result.checks.push_back({"KV cache", "B", std::nullopt, prefill.plan().cache, engine.cache_bytes()});
  add_differences(result, "prefill", components(prefill_headline), components(prefill_lowered));
  add_differences(result, "decode", decode_parts, decode_lowered_parts);
  result.scratch_bytes = static_cast<std::int64_t>(scratch_bytes(engine.options().threads));
  result.peak_rss = peak_resident_bytes();
  return result;
}

}  // namespace reckon
