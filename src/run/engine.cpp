// Programs are written for a number of sequences and of tokens. Where the cache has pages, they are at its full
// capacity and run at any lengths below it; otherwise for exactly the tokens that are cached.
#include "run/engine.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/checked.h"
#include "files/numbers.h"
#include "model/sublayers.h"
#include "network/forward.h"
#include "passes/expand.h"
#include "run/inputs.h"
#include "run/rope_table.h"
#include "threads/thread_count.h"

#include <algorithm>
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
  if (options.cache != DType::float32 && options.cache != DType::q8_0)
    throw UsageError(fmt::format("a cache in {}; expected float32 or q8_0", encoding_of(options.cache).name));
  options.threads = thread_count(options.threads);
  if (options.capacity == 0) options.capacity = model.context;
  options.chunk = std::min(options.chunk, options.capacity);
  return options;
}

std::int64_t pages_for(std::int64_t tokens, std::int64_t page) { return (tokens + page - 1) / page; }

}  // namespace

Session::Session(Session&& other) noexcept
    : engine_(other.engine_),
      pages_(std::move(other.pages_)),
      length_(std::exchange(other.length_, 0)),
      told_(std::exchange(other.told_, 0)) {
  other.pages_.clear();
}

Session& Session::operator=(Session&& other) noexcept {
  std::swap(engine_, other.engine_);
  std::swap(pages_, other.pages_);
  std::swap(length_, other.length_);
  std::swap(told_, other.told_);
  return *this;
}

void Session::reset(std::int64_t length) {
  for (std::size_t g = 0; g < pages_.size(); ++g) {
    for (const std::int32_t page : pages_[g]) engine_->groups_[g].pool->release(page);
  }
  pages_.clear();
  length_ = 0;
  told_ = length;
}

Session Session::fork() const {
  Session other(*engine_);
  other.length_ = length_;
  other.told_ = told_;
  other.pages_.resize(pages_.size());
  for (std::size_t g = 0; g < pages_.size(); ++g) {
    const EngineCore::Group& group = engine_->groups_[g];
    for (std::size_t i = 0; i < pages_[g].size(); ++i) {
      if (group.state && i == 1) {  // what is written next is each one's own
        if (group.pool->free() == 0) throw Error("the cache has no room for another session");
        other.pages_[g].push_back(group.pool->take());
        continue;
      }
      const bool full = group.state || (!group.ring && static_cast<std::int64_t>(i + 1) * group.page_tokens <= length_);
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
      backend_(make_backend(options_.device, options_.threads, options_.inspection)) {
  check_no_encoder(model_);
  backend_->cancel_on(options_.cancel);
  parameters_ = backend_->load(weights_.parameters());
  lay_out_pages();
}

Workload EngineCore::at_capacity(std::int64_t sequences, std::int64_t tokens, Logits logits) const {
  Workload workload = workload_of(tokens == 1 ? Phase::decode : Phase::prefill);
  workload.batch = sequences;
  workload.tokens = tokens;
  workload.past = options_.capacity - tokens;
  workload.logits = logits;
  workload.capacity = options_.capacity;
  workload.chunk = options_.chunk;
  workload.parameter_types = parameter_types_;
  workload.precision.cache = options_.cache;
  return workload;
}

Compiled EngineCore::compiled(const Form& form) const {
  Workload workload = at_capacity(form.batch, form.tokens, form.logits);
  if (!paged()) {
    workload.past = form.past;
    workload.capacity = workload.chunk = 0;
  }
  return compile(model_, workload, backend_->target());
}

Program EngineCore::lowered(std::int64_t sequences, std::int64_t tokens, Logits logits, std::int64_t past) const {
  Program program = compiled({sequences, tokens, logits, past}).lowered;
  program.workload.past = past;
  return program;
}

// Caches come in the same order in every program, and lie in a page in that order. Nothing is padded: a page has as
// many bytes as its tokens are counted to have.
void EngineCore::lay_out_pages() {
  const Compiled layout = compile(model_, at_capacity(1, 1, Logits::none), backend_->target());
  planned_cache_ = layout.plan.cache;
  const Program program = expand(layout.lowered);
  const std::int64_t most = backend_->target().few_rows, number = sizeof(std::int32_t);
  std::map<TensorId, std::size_t> index;  // of the group of each table
  std::vector<std::int64_t> bytes_of_page;
  const auto add_group = [&](TensorId table) {
    index[table] = groups_.size();
    groups_.emplace_back();
    bytes_of_page.push_back(0);
    if (table != no_tensor) groups_.back().table = backend_->allocate(most * program[table].shape[1].size * number);
  };
  if (!paged()) add_group(no_tensor);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].label.piece == Piece::pages) add_group(static_cast<TensorId>(i));
  }
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::cache || tensor.storage != no_tensor) continue;
    const std::size_t g = index.at(tensor.pages);
    Group& group = groups_[g];
    std::int64_t size = static_cast<std::int64_t>(bytes(tensor));
    const bool state = tensor.label.piece == Piece::state_cache || tensor.label.piece == Piece::convolution_cache;
    group.state = group.state || state;
    if (paged()) {
      const std::int64_t entries = tensor.strides[2] / tensor.strides[1];  // of a page
      group.page_tokens = entries * tensor.every;
      group.ring = !state && tensor.every == 1 && tensor.shape[1].size < options_.capacity;
      size /= tensor.shape[1].size / entries;
    }
    group.caches[key_of(tensor)] = {bytes_of_page[g], size};
    bytes_of_page[g] += size;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!paged()) groups_[g].page_tokens = options_.capacity;
    if (!paged() && groups_[g].state) planned_cache_ *= 2;  // with pages, the program has both
    const std::int64_t each = pages_of_session(groups_[g], options_.capacity);
    groups_[g].pool = std::make_unique<PagePool>(*backend_, bytes_of_page[g], each * options_.sessions);
  }
  starts_ = backend_->allocate(most * number);
}

std::shared_ptr<Executable> EngineCore::prepare(Form form) {
  // One token's logits are the last ones too.
  if (form.tokens == 1 && form.logits == Logits::all) form.logits = Logits::last;
  if (const auto found = programs_.find(form); found != programs_.end()) {
    found->second.used = ++clock_;
    return found->second.executable;
  }
  const Compiled program = compiled(form);
  const bool inspected = options_.inspection != nullptr;  // each program has an arena of its own, between fences
  if (!inspected && (arena_ == nullptr || arena_->bytes() < program.plan.arena)) {
    programs_.clear();  // they are bound to the old one
    arena_.reset();
    arena_ = backend_->allocate(program.plan.arena);
  }
  if (programs_.size() == most_programs) {
    programs_.erase(std::min_element(programs_.begin(), programs_.end(),
                                     [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  std::shared_ptr<Executable> executable = backend_->bind(
      program, [&](const Program& p, TensorId id) { return resident(form, p, id); },
      inspected ? backend_->allocate(program.plan.arena, Fill::pattern) : arena_);
  programs_[form] = {executable, ++clock_};
  return executable;
}

Address EngineCore::resident(const Form& form, const Program& program, TensorId id) {
  const Tensor& tensor = program[id];
  if (tensor.kind == TensorKind::parameter) {
    const auto found = parameters_.find(key_of(tensor));
    if (found == parameters_.end()) throw Error("the weights have no parameter '" + full_name(tensor) + "'");
    return found->second;
  }
  if (tensor.label.piece == Piece::starts) return {starts_};
  if (tensor.label.piece == Piece::pages || tensor.kind == TensorKind::cache) {
    const TensorId table = tensor.kind == TensorKind::cache ? tensor.pages : id;
    std::size_t g = 0;
    for (TensorId i = 0; i < table; ++i) g += program[i].label.piece == Piece::pages ? 1 : 0;
    const Group& group = groups_[g];
    if (table == id) return {group.table};
    const CachePlace& cache = group.caches.at(key_of(tensor));
    Address place = group.pool->place(paged() ? 0 : form.block, cache.offset);
    place.page_bytes = paged() ? group.pool->page_bytes() : cache.bytes;
    return place;
  }
  const std::int64_t rope_index = rope_table_index(program, id);
  std::shared_ptr<Buffer>& memory = rope_index >= 0 ? rope_tables_[rope_index] : constants_[key_of(tensor)];
  if (memory == nullptr)
    memory = buffer_of(*backend_, constant_values(program, id, model_, options_.capacity, weights_.parameters()));
  return {memory};
}

std::vector<std::shared_ptr<const Executable>> EngineCore::executables() const {
  std::vector<std::shared_ptr<const Executable>> all;
  for (const auto& [form, prepared] : programs_) all.push_back(prepared.executable);
  return all;
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

std::int64_t EngineCore::pages_of_session(const Group& group, std::int64_t length) const {
  return group.state ? 2 : group.ring ? 1 : pages_for(length, group.page_tokens);
}

// All pages, or none and a sentence, before anything runs.
void EngineCore::reserve(std::span<const Part> parts) {
  const auto wanted = [&](const Part& part, const Group& group) {
    return pages_of_session(group, part.session.length_ + std::ssize(part.ids));
  };
  // A state that a fork still reads is not written over.
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const Part& part : parts) {
      if (!groups_[g].state || part.session.pages_.size() != groups_.size()) continue;
      std::vector<std::int32_t>& pages = part.session.pages_[g];
      if (pages.size() < 2 || !groups_[g].pool->shared(pages[1])) continue;
      groups_[g].pool->release(pages[1]);
      pages.pop_back();
    }
  }
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

void EngineCore::write_tables(std::span<const Part> parts) {
  std::vector<std::int32_t> numbers;
  for (const Part& part : parts) numbers.push_back(static_cast<std::int32_t>(part.session.length_));
  write<std::int32_t>(*backend_, {starts_}, numbers);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const auto most = static_cast<std::size_t>(group.state ? 2 : pages_for(options_.capacity, group.page_tokens));
    numbers.clear();
    for (const Part& part : parts) {
      const std::vector<std::int32_t>& pages = part.session.pages_[g];
      numbers.insert(numbers.end(), pages.begin(), pages.end());
      numbers.resize((numbers.size() + most - 1) / most * most, group.ring ? pages[0] : 0);
    }
    write<std::int32_t>(*backend_, {group.table}, numbers);
  }
}

// New tokens are rotated by the frequencies of the length so far; those in the cache stay as they were.
void EngineCore::renew_rope(const Session& session, std::int64_t tokens) {
  const std::int64_t past = session.length_, length = std::max(past + tokens, session.told_);
  for (std::size_t i = 0; i < ropes_.size(); ++i) {
    if (!depends_on_length(ropes_[i])) continue;
    const std::vector<float> rows = rope_rows(ropes_[i], past, tokens, length);
    const std::int64_t offset = past * ropes_[i].dims * static_cast<std::int64_t>(sizeof(float));
    write<float>(*backend_, {rope_tables_.at(static_cast<std::int64_t>(i)), offset}, rows);
  }
}

// The step is done: texts are longer, and their states are what was written.
void EngineCore::advance(std::span<const Part> parts, std::int64_t tokens) {
  for (const Part& part : parts) {
    part.session.length_ += tokens;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].state) std::swap(part.session.pages_[g][0], part.session.pages_[g][1]);
  }
}

std::span<const float> EngineCore::run_together(std::span<const Part> parts, Logits logits) {
  const auto tokens = static_cast<std::int64_t>(parts[0].ids.size());
  reserve(parts);
  Form form{std::ssize(parts), tokens, logits};
  if (!paged()) {
    const std::vector<std::int32_t>& blocks = parts[0].session.pages_[0];
    form.past = parts[0].session.length_;
    form.block = blocks.back();
    if (blocks.size() > 1 && form.past > 0) groups_[0].pool->copy(blocks[0], blocks[1]);
  }
  const std::shared_ptr<Executable> executable = prepare(form);
  std::vector<PartInputs> inputs;
  for (const Part& part : parts) inputs.push_back({part.ids, part.session.length_});
  write_inputs(*backend_, *executable, model_, inputs, tokens);
  if (paged()) write_tables(parts);
  if (rope_depends_on_length_) renew_rope(parts[0].session, tokens);
  executable->run();
  advance(parts, tokens);
  if (logits == Logits::none) return {};
  const TensorId output = executable->program().output;
  return read_floats(*backend_, executable->place(output), executable->program()[output].shape.elements(), logits_);
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
    gathered_.resize(
        memory_size(checked_multiply(std::int64_t{std::ssize(ids)}, vocabulary, "the logits"), "the logits"));
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
