// Programs are written for each number of tokens at the full capacity of the cache, and run at any past below it.
#include "run/engine.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/checked.h"
#include "files/numbers.h"
#include "network/forward.h"
#include "run/ids.h"
#include "run/inputs.h"
#include "run/rope_table.h"
#include "threads/thread_count.h"

#include <algorithm>
#include <cstring>

namespace reckon {
namespace {

EngineOptions filled(EngineOptions options, const Model& model) {
  options.threads = thread_count(options.threads);
  if (options.capacity == 0) options.capacity = model.context;
  options.chunk = std::min(options.chunk, options.capacity);
  return options;
}

}  // namespace

Engine::Engine(Model model, Weights weights, const EngineOptions& options)
    : model_(std::move(model)),
      ropes_(distinct_ropes(model_)),
      weights_(std::move(weights)),
      parameter_types_(weights_.types()),
      options_(filled(options, model_)),
      pool_(options_.threads),
      scratch_(options_.threads),
      counters_(options_.threads),
      machine_{pool_, scratch_, counters_} {
  if (options_.inspection != nullptr) options_.inspection->prepare(machine_);
  pool_.cancel_on(options_.cancel);
  check_no_encoder(model_);
}

Compiled Engine::compiled(const Form& form) const {
  Workload workload = workload_of(form.tokens == 1 ? Phase::decode : Phase::prefill);
  workload.batch = form.batch;
  workload.tokens = form.tokens;
  workload.past = options_.capacity - form.tokens;
  workload.logits = form.logits;
  workload.capacity = options_.capacity;
  workload.chunk = options_.chunk;
  workload.parameter_types = parameter_types_;
  return compile(model_, workload, cpu_target);
}

Executor& Engine::prepare(Form form) {
  // One token's logits are the last ones too.
  if (form.tokens == 1 && form.logits == Logits::all) form.logits = Logits::last;
  std::unique_ptr<Executor>& found = executors_[form];
  if (found == nullptr) {
    Compiled program = compiled(form);
    found = std::make_unique<Executor>(
        expand(program.lowered, program.plan), std::move(program.plan), weights_,
        [this](const Program& p, TensorId id) { return resident(p, id); }, options_.inspection);
  }
  return *found;
}

std::byte* Engine::resident(const Program& program, TensorId id) {
  const Tensor& tensor = program[id];
  const std::int64_t rope_index = rope_table_index(program, id);
  std::unique_ptr<Arena>& memory = rope_index >= 0 ? rope_tables_[rope_index] : residents_[key_of(tensor)];
  if (memory != nullptr) return memory->take(0, 0);
  std::vector<float> values;
  if (tensor.kind == TensorKind::cache) {
    // Of all sequences, even when this program runs one.
    const auto size = static_cast<std::int64_t>(bytes(tensor) / tensor.shape[0].size * options_.batch);
    cache_sizes_[key_of(tensor)] = {tensor.shape[1].size, tensor.shape[2].size};
    memory = std::make_unique<Arena>(size, options_.inspection != nullptr);
    return memory->take(0, size);
  }
  if (rope_index >= 0) {
    values = rope_rows(ropes_.at(static_cast<std::size_t>(rope_index)), 0, options_.capacity, options_.capacity);
  } else {
    values = weights_[key_of(tensor)].values;
  }
  const auto size = static_cast<std::int64_t>(values.size() * sizeof(float));
  memory = std::make_unique<Arena>(size);
  std::byte* data = memory->take(0, size);
  std::memcpy(data, values.data(), static_cast<std::size_t>(size));
  return data;
}

std::int64_t Engine::cache_bytes() const {
  std::int64_t sum = 0;
  for (const auto& [key, memory] : residents_) {
    if (!cache_sizes_.contains(key)) continue;
    sum += options_.inspection != nullptr ? memory->touched() : memory->high_water();
  }
  return sum;
}

void Engine::fill_inputs(const Executor& executor, std::span<const std::int32_t> ids, std::int64_t tokens) {
  const Program& program = executor.program();
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.kind != TensorKind::input) continue;
    std::byte* memory = executor.data(static_cast<TensorId>(i));
    if (tensor.label.piece == Piece::ids) std::copy(ids.begin(), ids.end(), reinterpret_cast<std::int32_t*>(memory));
    fill_positions(model_, tensor, past_, tokens, memory);
  }
}

// New tokens are rotated by the frequencies of the length so far; those in the cache stay as they were.
void Engine::renew_rope(std::int64_t tokens, std::int64_t length) {
  for (std::size_t i = 0; i < ropes_.size(); ++i) {
    if (!depends_on_length(ropes_[i])) continue;
    const std::vector<float> rows = rope_rows(ropes_[i], past_, tokens, length);
    const auto size = static_cast<std::int64_t>(rows.size() * sizeof(float));
    const std::int64_t offset = past_ * ropes_[i].dims * static_cast<std::int64_t>(sizeof(float));
    std::memcpy(rope_tables_.at(static_cast<std::int64_t>(i))->take(offset, size), rows.data(),
                static_cast<std::size_t>(size));
  }
}

bool Engine::outgrown(std::int64_t length) const {
  const auto cached = static_cast<double>(std::max(past_, length_));
  return past_ > 0 && std::any_of(ropes_.begin(), ropes_.end(), [&](const Rope& rope) {
           return rope.scaling == Rope::Scaling::longrope && cached <= rope.original_context &&
                  static_cast<double>(length) > rope.original_context;
         });
}

std::span<const float> Engine::run_chunk(std::span<const std::int32_t> ids, const Form& form, std::int64_t length) {
  Executor& executor = prepare(form);
  fill_inputs(executor, ids, form.tokens);
  renew_rope(form.tokens, length);
  executor.run(machine_, past_, profile_);
  past_ += form.tokens;
  if (form.logits == Logits::none) return {};
  const TensorId output = executor.program().output;
  return {reinterpret_cast<const float*>(executor.data(output)),
          static_cast<std::size_t>(executor.program()[output].shape.elements())};
}

std::span<const float> Engine::run(std::span<const std::int32_t> ids, Logits logits) {
  return run(ids, options_.batch, logits);
}

std::span<const float> Engine::run_shared(std::span<const std::int32_t> ids, Logits logits) {
  if (past_ != 0) throw Error(fmt::format("a shared beginning after {} tokens; expected an empty cache", past_));
  const std::span<const float> result = run(ids, 1, logits);
  reorder(std::vector<int>(static_cast<std::size_t>(options_.batch), 0));
  return result;
}

std::span<const float> Engine::run(std::span<const std::int32_t> ids, std::int64_t batch, Logits logits) {
  const std::int64_t tokens = static_cast<std::int64_t>(ids.size()) / batch;
  if (tokens < 1 || tokens * batch != static_cast<std::int64_t>(ids.size())) {
    throw UsageError(
        fmt::format("{} ids for {} sequences; expected as many for each, and at least one", ids.size(), batch));
  }
  check_ids(ids, model_.vocab_size);
  if (past_ + tokens > options_.capacity) {
    throw UsageError(fmt::format("{} tokens after {} do not fit a context of {}", grouped(tokens), grouped(past_),
                                 grouped(options_.capacity)));
  }
  const std::int64_t length = std::max(past_ + tokens, length_);
  if (tokens <= options_.chunk) return run_chunk(ids, {batch, tokens, logits}, length);

  // In pieces; with every logit asked for, they are gathered sequence by sequence.
  const std::int64_t vocabulary = model_.vocab_size;
  if (logits == Logits::all)
    gathered_.resize(memory_size(checked_multiply(batch * tokens, vocabulary, "the logits"), "the logits"));
  std::vector<std::int32_t> piece;
  std::span<const float> result;
  for (std::int64_t first = 0; first < tokens; first += options_.chunk) {
    const std::int64_t count = std::min(options_.chunk, tokens - first);
    piece.clear();
    for (std::int64_t b = 0; b < batch; ++b) {
      const auto from = ids.begin() + b * tokens + first;
      piece.insert(piece.end(), from, from + count);
    }
    const bool last = first + count == tokens;
    result = run_chunk(piece, {batch, count, logits == Logits::last && !last ? Logits::none : logits}, length);
    if (logits != Logits::all) continue;
    for (std::int64_t b = 0; b < batch; ++b) {
      std::copy_n(result.begin() + b * count * vocabulary, count * vocabulary,
                  gathered_.begin() + (b * tokens + first) * vocabulary);
    }
  }
  return logits == Logits::all ? std::span<const float>(gathered_) : result;
}

// A cache lies as batch × heads × positions × width (lowering/lower.cpp). Only sequences that change are copied, and
// only the positions that are filled.
void Engine::reorder(std::span<const int> sources) {
  std::vector<std::byte> moved;
  for (auto& [key, memory] : residents_) {
    const auto found = cache_sizes_.find(key);
    if (found == cache_sizes_.end()) continue;
    const auto [positions, heads] = found->second;
    const std::int64_t head_bytes = memory->size() / options_.batch / heads;
    const std::int64_t filled = head_bytes / positions * std::min(past_, positions);
    std::byte* data = memory->take(0, memory->size());
    moved.clear();
    for (int b = 0; b < static_cast<int>(sources.size()); ++b) {
      const int source = sources[static_cast<std::size_t>(b)];
      if (source == b) continue;
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::byte* from = data + (source * heads + h) * head_bytes;
        moved.insert(moved.end(), from, from + filled);
      }
    }
    const std::byte* next = moved.data();
    for (int b = 0; b < static_cast<int>(sources.size()); ++b) {
      if (sources[static_cast<std::size_t>(b)] == b) continue;
      for (std::int64_t h = 0; h < heads; ++h, next += filled) {
        std::copy_n(next, filled, data + (b * heads + h) * head_bytes);
      }
    }
  }
}

}  // namespace reckon
