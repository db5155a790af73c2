// Programs are written for a number of sequences and of tokens, at the full capacity of the cache, and run at any
// lengths below it.
#include "run/engine.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/checked.h"
#include "files/numbers.h"
#include "lowering/regions.h"
#include "network/forward.h"
#include "passes/expand.h"
#include "run/ids.h"
#include "run/inputs.h"
#include "run/rope_table.h"
#include "threads/thread_count.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace reckon {
namespace {

// So many programs are kept; the one that was not used for longest makes room.
constexpr std::size_t most_programs = 32;

const LoadedModel& given(const LoadedModel* model) {
  if (model == nullptr) throw UsageError("an engine got no model; expected one that is loaded");
  return *model;
}

EngineOptions filled(EngineOptions options, const Model& model) {
  const auto at_least = [](const char* field, std::int64_t found, std::int64_t least) {
    if (found < least) throw UsageError(fmt::format("`{}` is {}; expected at least {}", field, found, least));
  };
  at_least("sessions", options.sessions, 1);
  at_least("capacity", options.capacity, 0);
  at_least("chunk", options.chunk, 1);
  if (model.positions.kind == Positions::Kind::learned && options.capacity > model.context) {
    throw UsageError(fmt::format("`capacity` is {}; expected at most {}, for which {} has learned positions",
                                 options.capacity, grouped(model.context), model.name));
  }
  options.threads = thread_count(options.threads);
  if (options.capacity == 0) options.capacity = model.context;
  options.chunk = std::min(options.chunk, options.capacity);
  return options;
}

std::int64_t pages_for(std::int64_t tokens, std::int64_t page) { return (tokens + page - 1) / page; }

std::unique_ptr<Arena> arena_of(const std::vector<float>& values) {
  const auto size = static_cast<std::int64_t>(values.size() * sizeof(float));
  auto memory = std::make_unique<Arena>(size);
  std::memcpy(memory->take(0, size), values.data(), static_cast<std::size_t>(size));
  return memory;
}

}  // namespace

Session::Session(Session&& other) noexcept
    : engine_(other.engine_),
      pages_(std::move(other.pages_)),
      reference_cache_(std::move(other.reference_cache_)),
      length_(std::exchange(other.length_, 0)),
      told_(std::exchange(other.told_, 0)) {
  other.pages_.clear();
  other.reference_cache_.clear();
}

Session& Session::operator=(Session&& other) noexcept {
  std::swap(engine_, other.engine_);
  std::swap(pages_, other.pages_);
  std::swap(reference_cache_, other.reference_cache_);
  std::swap(length_, other.length_);
  std::swap(told_, other.told_);
  return *this;
}

void Session::reset(std::int64_t length) {
  for (std::size_t g = 0; g < pages_.size(); ++g) {
    for (const std::int32_t page : pages_[g]) engine_->groups_[g].pool->release(page);
  }
  pages_.clear();
  reference_cache_.clear();
  length_ = 0;
  told_ = length;
}

Session Session::fork() const {
  Session other(*engine_);
  other.length_ = length_;
  other.told_ = told_;
  other.reference_cache_ = reference_cache_;
  other.pages_.resize(pages_.size());
  for (std::size_t g = 0; g < pages_.size(); ++g) {
    const EngineCore::Group& group = engine_->groups_[g];
    for (std::size_t i = 0; i < pages_[g].size(); ++i) {
      const bool full = !group.ring && static_cast<std::int64_t>(i + 1) * group.page_tokens <= length_;
      if (full) {
        group.pool->retain(pages_[g][i]);
        other.pages_[g].push_back(pages_[g][i]);
        continue;
      }
      if (group.pool->free() == 0) throw Error("the cache has no room for another session");
      other.pages_[g].push_back(group.pool->take());
      group.pool->copy(pages_[g][i], other.pages_[g].back());
    }
  }
  return other;
}

bool Session::outgrown(std::int64_t length) const {
  const auto cached = static_cast<double>(std::max(length_, told_));
  const std::vector<Rope>& ropes = engine_->ropes_;
  return length_ > 0 && std::any_of(ropes.begin(), ropes.end(), [&](const Rope& rope) {
           return rope.scaling == Rope::Scaling::longrope && cached <= rope.original_context &&
                  static_cast<double>(length) > rope.original_context;
         });
}

std::span<const float> Session::run(std::span<const std::int32_t> ids, Logits logits) {
  return engine_->run(*this, ids, logits);
}

EngineCore::EngineCore(std::shared_ptr<const LoadedModel> model, const EngineOptions& options)
    : loaded_(std::move(model)),
      model_(given(loaded_.get()).model()),
      weights_(loaded_->weights()),
      ropes_(distinct_ropes(model_)),
      rope_depends_on_length_(std::any_of(ropes_.begin(), ropes_.end(), depends_on_length)),
      parameter_types_(weights_.types()),
      options_(filled(options, model_)),
      pool_(options_.threads),
      scratch_(options_.threads),
      counters_(options_.threads),
      machine_{pool_, scratch_, counters_} {
  if (options_.inspection != nullptr) options_.inspection->prepare(machine_);
  pool_.cancel_on(options_.cancel);
  check_no_encoder(model_);
  if (options_.device == Device::cpu) {
    lay_out_pages();
  } else {
    reference_ = std::make_unique<ReferenceModel>(model_, weights_, options_.device == Device::reference);
  }
}

Compiled EngineCore::compiled(const Form& form) const {
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

// Caches come in the same order in every program, and lie in a page in that order.
void EngineCore::lay_out_pages() {
  const Program program = expand(compiled({1, 1, Logits::none}).lowered);
  std::map<TensorId, std::size_t> index;  // of the group of each table
  std::vector<std::int64_t> bytes_of_page;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].label.piece != Piece::pages) continue;
    index[static_cast<TensorId>(i)] = groups_.size();
    groups_.emplace_back();
    bytes_of_page.push_back(0);
  }
  for (const Tensor& tensor : program.tensors) {
    if (tensor.pages == no_tensor || tensor.storage != no_tensor) continue;
    const std::size_t g = index.at(tensor.pages);
    groups_[g].page_tokens = tensor.strides[2] / tensor.strides[1];
    groups_[g].ring = tensor.shape[1].size < options_.capacity;
    groups_[g].offsets[key_of(tensor)] = bytes_of_page[g];
    const std::int64_t pages = tensor.shape[1].size / groups_[g].page_tokens;
    bytes_of_page[g] += static_cast<std::int64_t>(bytes(tensor)) / pages;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::int64_t each = groups_[g].ring ? 1 : pages_for(options_.capacity, groups_[g].page_tokens);
    groups_[g].pool = std::make_unique<PagePool>(bytes_of_page[g], each * options_.sessions);
  }
}

Executor& EngineCore::prepare(Form form) {
  // One token's logits are the last ones too.
  if (form.tokens == 1 && form.logits == Logits::all) form.logits = Logits::last;
  if (const auto found = executors_.find(form); found != executors_.end()) {
    found->second.used = ++clock_;
    return *found->second.executor;
  }
  Compiled program = compiled(form);
  const bool inspected = options_.inspection != nullptr;  // each program has an arena of its own, between fences
  if (!inspected && (arena_ == nullptr || arena_->size() < program.plan.arena)) {
    executors_.clear();  // they are bound to the old one
    arena_.reset();
    arena_ = std::make_shared<Arena>(program.plan.arena);
  }
  if (executors_.size() == most_programs) {
    executors_.erase(std::min_element(executors_.begin(), executors_.end(),
                                      [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Prepared& prepared = executors_[form];
  prepared.used = ++clock_;
  std::shared_ptr<Arena> arena = inspected ? std::make_shared<Arena>(program.plan.arena, true) : arena_;
  prepared.executor = std::make_unique<Executor>(
      expand(program.lowered, program.plan), std::move(program.plan), weights_,
      [this](const Program& p, TensorId id) { return resident(p, id); }, std::move(arena), options_.inspection);
  return *prepared.executor;
}

Address EngineCore::resident(const Program& program, TensorId id) {
  const Tensor& tensor = program[id];
  if (tensor.label.piece == Piece::starts) {
    starts_.reserve(static_cast<std::size_t>(cpu_target.few_rows));
    return {reinterpret_cast<std::byte*>(starts_.data())};
  }
  if (tensor.label.piece == Piece::pages || tensor.pages != no_tensor) {
    const TensorId table = tensor.pages == no_tensor ? id : tensor.pages;
    std::size_t g = 0;
    for (TensorId i = 0; i < table; ++i) g += program[i].label.piece == Piece::pages ? 1 : 0;
    Group& group = groups_[g];
    if (tensor.pages != no_tensor)
      return {group.pool->data() + group.offsets.at(key_of(tensor)), group.pool->page_bytes()};
    group.table.reserve(static_cast<std::size_t>(cpu_target.few_rows * tensor.shape[1].size));
    return {reinterpret_cast<std::byte*>(group.table.data())};
  }
  const std::int64_t rope_index = rope_table_index(program, id);
  std::unique_ptr<Arena>& memory = rope_index >= 0 ? rope_tables_[rope_index] : constants_[key_of(tensor)];
  if (memory == nullptr) {
    memory = arena_of(rope_index >= 0 ? rope_rows(ropes_.at(static_cast<std::size_t>(rope_index)), 0, options_.capacity,
                                                  options_.capacity)
                                      : weights_[key_of(tensor)].values);
  }
  return {memory->take(0, 0)};
}

std::int64_t EngineCore::cache_bytes() const {
  std::int64_t sum = 0;
  for (const Group& group : groups_) sum += group.pool->most_taken() * group.pool->page_bytes();
  return sum;
}

void EngineCore::check(const Session& session, std::span<const std::int32_t> ids) const {
  if (session.engine_ != this) throw UsageError("a step has a session of another engine; expected its own");
  if (ids.empty()) throw UsageError("a step without a token; expected at least one of each session");
  check_ids(ids, model_.vocab_size);
  if (session.length_ + std::ssize(ids) > options_.capacity) {
    throw UsageError(fmt::format("{} tokens after {} do not fit a context of {}", grouped(ids.size()),
                                 grouped(session.length_), grouped(options_.capacity)));
  }
}

// All pages, or none and a sentence, before anything runs.
void EngineCore::reserve(std::span<const Part> parts) {
  const auto wanted = [&](const Part& part, const Group& group) {
    const std::int64_t length = part.session.length_ + std::ssize(part.ids);
    return group.ring ? 1 : pages_for(length, group.page_tokens);
  };
  for (const Part& part : parts) part.session.pages_.resize(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::int64_t missing = 0;
    for (const Part& part : parts) missing += wanted(part, groups_[g]) - std::ssize(part.session.pages_[g]);
    if (missing > groups_[g].pool->free()) {
      throw Error(fmt::format("the cache is full: it has room for {} sessions of {} tokens", grouped(options_.sessions),
                              grouped(options_.capacity)));
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const Part& part : parts) {
      std::vector<std::int32_t>& pages = part.session.pages_[g];
      while (std::ssize(pages) < wanted(part, groups_[g])) pages.push_back(groups_[g].pool->take());
    }
  }
}

void EngineCore::fill_inputs(const Executor& executor, std::span<const Part> parts) {
  const Program& program = executor.program();
  const auto tokens = static_cast<std::int64_t>(parts[0].ids.size());
  starts_.clear();
  for (const Part& part : parts) starts_.push_back(static_cast<std::int32_t>(part.session.length_));
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::int64_t most = pages_for(options_.capacity, groups_[g].page_tokens);
    groups_[g].table.assign(static_cast<std::size_t>(std::ssize(parts) * most), 0);
    auto row = groups_[g].table.begin();
    for (const Part& part : parts) {
      const std::vector<std::int32_t>& pages = part.session.pages_[g];
      groups_[g].ring ? std::fill_n(row, most, pages[0]) : (std::copy(pages.begin(), pages.end(), row), row);
      row += most;
    }
  }
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.kind != TensorKind::input) continue;
    std::byte* memory = executor.data(static_cast<TensorId>(i));
    const auto each = static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(bytes(tensor)) / std::ssize(parts));
    for (const Part& part : parts) {
      if (tensor.label.piece == Piece::ids) std::memcpy(memory, part.ids.data(), part.ids.size_bytes());
      fill_positions(model_, tensor, part.session.length_, tokens, memory);
      memory += each;
    }
  }
}

// New tokens are rotated by the frequencies of the length so far; those in the cache stay as they were.
void EngineCore::renew_rope(const Session& session, std::int64_t tokens) {
  const std::int64_t past = session.length_, length = std::max(past + tokens, session.told_);
  for (std::size_t i = 0; i < ropes_.size(); ++i) {
    if (!depends_on_length(ropes_[i])) continue;
    const std::vector<float> rows = rope_rows(ropes_[i], past, tokens, length);
    const auto size = static_cast<std::int64_t>(rows.size() * sizeof(float));
    const std::int64_t offset = past * ropes_[i].dims * static_cast<std::int64_t>(sizeof(float));
    std::memcpy(rope_tables_.at(static_cast<std::int64_t>(i))->take(offset, size), rows.data(),
                static_cast<std::size_t>(size));
  }
}

std::span<const float> EngineCore::run_together(std::span<const Part> parts, Logits logits) {
  if (reference_ != nullptr) return run_on_reference(parts[0], logits);
  const auto tokens = static_cast<std::int64_t>(parts[0].ids.size());
  Executor& executor = prepare({std::ssize(parts), tokens, logits});
  reserve(parts);
  fill_inputs(executor, parts);
  if (rope_depends_on_length_) renew_rope(parts[0].session, tokens);
  executor.run(machine_, profile_);
  for (const Part& part : parts) part.session.length_ += tokens;
  if (logits == Logits::none) return {};
  const TensorId output = executor.program().output;
  return {reinterpret_cast<const float*>(executor.data(output)),
          static_cast<std::size_t>(executor.program()[output].shape.elements())};
}

// The program for exactly this length. It works on a copy of the session's cache: one that is cancelled changes
// nothing.
std::span<const float> EngineCore::run_on_reference(const Part& part, Logits logits) {
  Session& session = part.session;
  Workload workload = workload_of(part.ids.size() == 1 ? Phase::decode : Phase::prefill);
  workload.tokens = std::ssize(part.ids);
  workload.past = session.length_;
  workload.logits = logits;
  ReferenceOptions asked;
  asked.after = [&](const Op&, const ReferenceValues&) {
    if (options_.cancel != nullptr && *options_.cancel) throw Cancelled();
  };
  reference_->caches() = session.reference_cache_;
  const std::int64_t length = session.length_ + workload.tokens;
  const std::vector<double> output = reference_->run(expand(logical_program(model_, workload)),
                                                     {part.ids, {}, std::max(length, session.told_)}, asked);
  session.reference_cache_ = std::move(reference_->caches());
  session.length_ = length;
  if (logits == Logits::none) return {};
  reference_logits_.resize(output.size());
  std::transform(output.begin(), output.end(), reference_logits_.begin(),
                 [](double value) { return static_cast<float>(value); });
  return reference_logits_;
}

std::span<const float> EngineCore::run(Session& session, std::span<const std::int32_t> ids, Logits logits) {
  check(session, ids);
  const std::int64_t told = session.told_;
  session.told_ = std::max(session.length_ + std::ssize(ids), told);
  struct Restore {
    std::int64_t &to, value;
    ~Restore() { to = value; }
  } restore{session.told_, told};
  const std::int64_t vocabulary = model_.vocab_size;
  const auto chunk = [&] { return options_.chunk - session.length_ % options_.chunk; };
  const bool several = std::ssize(ids) > chunk();
  if (several && logits == Logits::all)
    gathered_.resize(memory_size(checked_multiply(std::ssize(ids), vocabulary, "the logits"), "the logits"));
  std::span<const float> result;
  for (std::size_t first = 0; first < ids.size();) {
    const std::size_t count = std::min(static_cast<std::size_t>(chunk()), ids.size() - first);
    const bool last = first + count == ids.size();
    const Part part{session, ids.subspan(first, count)};
    result = run_together({&part, 1}, logits == Logits::last && !last ? Logits::none : logits);
    if (several && logits == Logits::all)
      std::copy(result.begin(), result.end(), gathered_.begin() + static_cast<std::ptrdiff_t>(first) * vocabulary);
    first += count;
  }
  return several && logits == Logits::all ? std::span<const float>(gathered_) : result;
}

std::span<const float> EngineCore::step(std::span<const Part> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    check(parts[i].session, parts[i].ids);
    for (std::size_t j = 0; j < i; ++j) {
      if (&parts[i].session == &parts[j].session) throw UsageError("a step has a session twice; expected it once");
    }
  }
  reserve(parts);
  const auto vocabulary = static_cast<std::size_t>(model_.vocab_size);
  const auto most = static_cast<std::size_t>(together());
  std::span<const float> result;
  const auto keep = [&](std::size_t row) {
    if (result.size() == parts.size() * vocabulary) return;  // all of it is there
    gathered_.resize(parts.size() * vocabulary);
    std::copy(result.begin(), result.end(), gathered_.begin() + static_cast<std::ptrdiff_t>(row * vocabulary));
  };
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t last = first;
    while (last < parts.size() && last - first < most && parts[last].ids.size() == 1) ++last;
    if (last > first) {
      result = run_together(parts.subspan(first, last - first), Logits::last);
    } else {
      result = run(parts[first].session, parts[first].ids, Logits::last);
      last = first + 1;
    }
    keep(first);
    first = last;
  }
  return result.size() == parts.size() * vocabulary ? result : std::span<const float>(gathered_);
}

Engine::Engine(std::shared_ptr<const LoadedModel> model, const EngineOptions& options)
    : core_(std::make_unique<EngineCore>(std::move(model), options)) {}
Engine::Engine(Model model, Weights weights, const EngineOptions& options)
    : Engine(std::make_shared<const LoadedModel>(std::move(model), std::move(weights)), options) {}
Engine::~Engine() = default;
Session Engine::session() { return core_->session(); }
std::span<const float> Engine::step(std::span<const Part> parts) { return core_->step(parts); }
const Model& Engine::model() const { return core_->model(); }
const EngineOptions& Engine::options() const { return core_->options(); }
std::int64_t Engine::cache_bytes() const { return core_->cache_bytes(); }
std::int64_t Engine::arena_bytes() const { return core_->arena_bytes(); }

}  // namespace reckon
