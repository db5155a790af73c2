// Each prediction is read from a program; each measurement comes from the counters, the memory or the weights that
// really were used.
#include "run/verify.h"

#include <fmt/format.h>

#include "compile/compile.h"
#include "count/cache.h"
#include "count/ledger.h"
#include "count/parts.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "model/sublayers.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#endif

namespace reckon {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The workload of a run of `tokens` after `past`, as the engine asks for it: the last logits only.
Ledger headline(const Model& model, const Engine& engine, std::int64_t tokens, std::int64_t past) {
  Workload workload = workload_of(tokens == 1 ? Phase::decode : Phase::prefill);
  workload.batch = engine.options().sessions;
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

// Matrices that the backend keeps a second time in the order of its kernels, beside the files: their bytes in the
// program, and those of the copies, of which several may lie in one buffer.
void add_copies(Verification& result, const EngineCore& engine, const Program& program) {
  Count planned = 0, taken = 0;
  std::set<const Buffer*> counted;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::parameter || tensor.storage != no_tensor) continue;
    const auto found = engine.parameters().find(key_of(tensor));
    if (found == engine.parameters().end() || !found->second.stored || !found->second.buffer) continue;
    planned += bytes(tensor);
    const Buffer* buffer = found->second.buffer.get();
    if (counted.insert(buffer).second) taken += buffer->bytes();
  }
  if (taken > 0) result.checks.push_back({"interleaved copies", "B", std::nullopt, planned, taken, MeasuredBy::taken});
}

// Of the programs for so many tokens, the one that asks for the largest arena.
std::shared_ptr<const Executable> largest(const EngineCore& engine, std::int64_t tokens) {
  std::shared_ptr<const Executable> found;
  for (const auto& executable : engine.executables()) {
    if (executable->program().workload.tokens != tokens) continue;
    if (found == nullptr || executable->plan().arena > found->plan().arena) found = executable;
  }
  return found;
}

std::int64_t touched(const Executable& executable) {
  return padded(executable.arena().touched(0, executable.arena().bytes()), executable.plan().alignment);
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

void add_component_differences(Verification& result, const std::string& phase, const Components& headline,
                               const Components& lowered) {
  for (const auto& [name, component] : headline) {
    const auto found = lowered.find(name);
    const Count other = found == lowered.end() ? 0 : found->second.flops;
    if (other == component.flops) continue;
    result.differences.push_back({phase, name,
                                  !component.pairs          ? ""
                                  : other > component.flops ? "scores are made again in the backward pass"
                                                            : "blocks of keys that no query may see are skipped",
                                  component.flops, other});
  }
}

}  // namespace

bool Verification::holds() const {
  return findings.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.equal(); });
}

std::int64_t peak_resident_bytes() {
#if __has_include(<sys/resource.h>)
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) return std::int64_t{usage.ru_maxrss} * 1024;
#endif
  return 0;
}

std::vector<std::int32_t> verify_ids(const Model& model, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int32_t>((i * 7919 + seed * 104729) % static_cast<std::uint64_t>(model.vocab_size));
  }
  return ids;
}

Work work_of(const Ledger& ledger, Stage stage, const Target& target) {
  Work work;
  work.totals = stage == Stage::forward    ? ledger.forward
                : stage == Stage::backward ? ledger.backward
                                           : ledger.optimizer;
  for (const WorkEntry& entry : ledger.work) {
    if (entry.stage != stage) continue;
    const bool tiles = target.tiles && counts_bytes(*entry.operation);
    const Count count = entry.place.count;
    (tiles ? work.tile_bytes : work.other_bytes) += count * (entry.each.read + entry.each.written);
    if (tiles) work.tile_bytes_least += count * (entry.each.read_least + entry.each.written);
  }
  return work;
}

Work& operator+=(Work& sum, const Work& more) {
  sum.totals.add(more.totals);
  sum.tile_bytes += more.tile_bytes;
  sum.tile_bytes_least += more.tile_bytes_least;
  sum.other_bytes += more.other_bytes;
  return sum;
}

void add_work(Verification& result, const std::string& phase, const Work& headline, const Work& lowered,
              const Measured& measured, const Target& target) {
  if (lowered.totals.matmul != 0 || measured.matmul_flops != 0) {
    result.checks.push_back({phase + " matmul FLOPs", "FLOP", headline.totals.matmul, lowered.totals.matmul,
                             measured.matmul_flops, target.tiles ? MeasuredBy::tiles : MeasuredBy::loops,
                             lowered.totals.matmul_least});
  }
  result.checks.push_back({phase + " element-wise FLOPs", "FLOP", headline.totals.elementwise,
                           lowered.totals.elementwise, measured.elementwise_flops, MeasuredBy::loops,
                           lowered.totals.elementwise_least});
  if (lowered.tile_bytes != 0 || measured.read + measured.written != 0) {
    result.checks.push_back({phase + " bytes of tiles", "B", std::nullopt, lowered.tile_bytes,
                             measured.read + measured.written, MeasuredBy::tiles, lowered.tile_bytes_least});
  }
  result.unmeasured.emplace_back(phase + " bytes of other ops", lowered.other_bytes);
}

void add_arena(Verification& result, const std::string& phase, const Executable& executable) {
  const Buffer& arena = executable.arena();
  result.checks.push_back(
      {phase + " arena", "B", std::nullopt, executable.plan().arena, touched(executable), MeasuredBy::touched});
  if (!arena.fences_hold()) result.findings.push_back("something was written before or behind the " + phase + " arena");
}

void add_differences(Verification& result, const std::string& phase, const Ledger& headline, const Ledger& lowered) {
  add_component_differences(result, phase, components(headline), components(lowered));
}

void check_caches(const Model& model, std::int64_t texts, std::int64_t tokens, DType type) {
  Workload workload = workload_of(Phase::decode);
  workload.batch = texts;
  workload.past = tokens - 1;
  workload.precision.cache = type;
  check_memory(fmt::format("the caches of {} × {} tokens", grouped(texts), grouped(tokens)),
               cache_cost(model, workload).total);
}

Verification verify(const Model& model, Weights weights, const VerifyOptions& options) {
  Verification result;
  Inspection inspection(options.sabotage);
  const std::int64_t tokens =
      options.tokens > 0 ? options.tokens : std::min<std::int64_t>(512, std::max<std::int64_t>(1, model.context / 2));
  const std::int64_t steps = std::min(options.steps, std::max<std::int64_t>(0, model.context - tokens));
  EngineOptions engine_options;
  engine_options.device = options.device;
  engine_options.threads = options.threads;
  engine_options.sessions = options.batch;
  engine_options.capacity = tokens + steps;
  // Chunks are cut at multiples of this; what is made of a whole cache of latents is run behind other tokens too.
  engine_options.chunk = first_attention(model).latent ? tokens + steps : tokens;
  engine_options.cache = options.cache;
  engine_options.cancel = options.cancel;
  engine_options.inspection = &inspection;
  check_caches(model, options.batch, tokens + steps, options.cache);
  Engine engine(model, std::move(weights), engine_options);
  EngineCore& core = engine.core();
  const Target& target = core.backend().target();
  const std::int64_t sessions = options.batch;
  const std::vector<std::int32_t> ids = verify_ids(model, sessions * tokens, options.seed);
  const std::vector<std::int32_t> next(ids.begin(), ids.begin() + sessions);
  std::vector<Session> texts;
  for (std::int64_t i = 0; i < sessions; ++i) texts.push_back(engine.session());
  const auto prompt = [&](std::size_t i) {
    return std::span(ids).subspan(i * static_cast<std::size_t>(tokens), static_cast<std::size_t>(tokens));
  };

  // Prefill, one text after the other.
  auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].run(prompt(i), Logits::last);
  result.times.push_back({"prefill", tokens, seconds_since(begin) - inspection.seconds()});
  const double watched = inspection.seconds();
  const std::shared_ptr<const Executable> prefill = largest(core, tokens);
  const Measured prefill_done = inspection.done();
  const Ledger prefill_headline = headline(model, engine, tokens, 0);
  const Ledger prefill_lowered = read_ledger(core.lowered(1, tokens, Logits::last, 0));
  Work prefill_work;
  Components prefill_parts;
  for (std::int64_t i = 0; i < sessions; ++i) {
    prefill_work += work_of(prefill_lowered, Stage::forward, target);
    add(prefill_parts, components(prefill_lowered));
  }

  // Decode, step by step, all texts together: each costs a little more than the one before.
  Work decode_headline, decode_lowered;
  Components decode_parts, decode_lowered_parts;
  const std::int64_t group = std::min(core.together(), sessions);
  std::vector<Engine::Part> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) parts.push_back({texts[i], std::span(next).subspan(i, 1)});
  begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < steps; ++i) engine.step(parts);
  result.times.push_back({"decode", steps, seconds_since(begin) - (inspection.seconds() - watched)});
  const std::shared_ptr<const Executable> decode = steps > 0 ? largest(core, 1) : nullptr;
  const Measured decode_done = inspection.done() - prefill_done;
  for (std::int64_t i = 0; i < steps; ++i) {
    const Ledger head = headline(model, engine, 1, tokens + i);
    decode_headline += work_of(head, Stage::forward, target);
    add(decode_parts, components(head));
    for (std::int64_t first = 0; first < sessions; first += group) {
      const std::int64_t together = std::min(group, sessions - first);
      const Ledger low = read_ledger(core.lowered(together, 1, Logits::last, tokens + i));
      decode_lowered += work_of(low, Stage::forward, target);
      add(decode_lowered_parts, components(low));
    }
  }
  const std::int64_t cache_bytes = engine.cache_bytes();

  result.checks.push_back({"parameters", "", prefill_headline.parameter_totals.total,
                           prefill_lowered.parameter_totals.total, core.weights().elements(), MeasuredBy::files});
  result.checks.push_back({"weight bytes", "B", weight_bytes(model, core.weights()), prefill->plan().weights,
                           core.weights().bytes(), MeasuredBy::files});
  add_copies(result, core, prefill->program());
  add_work(result, "prefill", work_of(prefill_headline, Stage::forward, target), prefill_work, prefill_done, target);
  if (decode != nullptr) add_work(result, "decode", decode_headline, decode_lowered, decode_done, target);
  // What is made of the whole cache is planned at its capacity: where the prefill did not fill that, it runs once more,
  // behind the tokens that do.
  if (decode != nullptr && touched(*prefill) < prefill->plan().arena) {
    texts[0].reset();
    for (std::int64_t i = 0; i < steps; ++i) texts[0].run({next.data(), 1}, Logits::last);
    texts[0].run(prompt(0), Logits::last);
  }
  add_arena(result, "prefill", *prefill);
  if (decode != nullptr) add_arena(result, "decode", *decode);
  result.checks.push_back(
      {"KV cache", "B", std::nullopt, Count(core.planned_cache()) * sessions, cache_bytes, MeasuredBy::taken});
  add_component_differences(result, "prefill", components(prefill_headline), prefill_parts);
  add_component_differences(result, "decode", decode_parts, decode_lowered_parts);
  result.findings.insert(result.findings.begin(), inspection.findings().begin(), inspection.findings().end());
  result.scratch_bytes = core.backend().scratch_bytes();
  result.peak_rss = peak_resident_bytes();
  return result;
}

}  // namespace reckon
