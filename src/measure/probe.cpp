#include "measure/probe.h"

#include "compile/compile.h"
#include "files/encoding.h"
#include "files/quantise.h"
#include "ops/matmul.h"
#include "passes/expand.h"
#include "program/builder.h"
#include "run/engine.h"
#include "run/verify.h"
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace reckon {
namespace {

double seconds(RunProfile::Time begin, RunProfile::Time end) {
  return std::chrono::duration<double>(end - begin).count();
}

EngineOptions engine_options(const ProbeOptions& options, std::int64_t sessions, std::int64_t capacity) {
  EngineOptions engine;
  engine.threads = options.threads;
  engine.sessions = sessions;
  engine.capacity = engine.chunk = capacity;  // a prompt runs in one piece
  engine.cancel = options.cancel;
  return engine;
}

class Prefill : public Probe {
 public:
  Prefill(std::shared_ptr<const LoadedModel> model, std::int64_t tokens, const ProbeOptions& options)
      : ids_(verify_ids(model->model(), tokens, 1)),
        engine_(std::move(model), engine_options(options, 1, tokens)),
        text_(engine_.session()),
        lowered_(engine_.core().lowered(1, tokens, Logits::last, 0)) {}
  const Program& lowered() const override { return lowered_; }

 protected:
  Backend& backend() override { return engine_.core().backend(); }
  void prepare() override { text_.reset(); }
  void run() override { text_.run(ids_, Logits::last); }

 private:
  std::vector<std::int32_t> ids_;
  Engine engine_;
  Session text_;
  Program lowered_;
};

// Texts grow by a few steps, then begin again as forks of those that were run once: a fork copies a page of the cache,
// and what that brings into a processor's caches must not stand before every step.
class Decode : public Probe {
 public:
  Decode(std::shared_ptr<const LoadedModel> model, std::int64_t batch, std::int64_t past, const ProbeOptions& options)
      : past_(past),
        steps_(decode_steps(model->model(), past)),
        ids_(verify_ids(model->model(), batch * past, 1)),
        engine_(std::move(model), engine_options(options, 2 * batch, past + steps_)) {
    for (std::int64_t i = 0; i < batch; ++i) {
      texts_.push_back(engine_.session());
      texts_.back().run(std::span(ids_).subspan(static_cast<std::size_t>(i * past), static_cast<std::size_t>(past)),
                        Logits::none);
    }
    lowered_ = engine_.core().lowered(batch, 1, Logits::last, past + steps_ / 2);
  }
  const Program& lowered() const override { return lowered_; }

 protected:
  Backend& backend() override { return engine_.core().backend(); }
  void prepare() override {
    if (!forks_.empty() && forks_.front().length() < past_ + steps_) return;
    parts_.clear();
    forks_.clear();
    forks_.reserve(texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      forks_.push_back(texts_[i].fork());
      parts_.push_back({forks_.back(), std::span(ids_).subspan(i, 1)});
    }
  }
  void run() override { engine_.step(parts_); }

 private:
  std::int64_t past_, steps_;
  std::vector<std::int32_t> ids_;
  Engine engine_;
  std::vector<Session> texts_, forks_;
  std::vector<Engine::Part> parts_;
  Program lowered_;
};

// Weights stay as they are: learning the same batch again and again would end with gradients that are no normal
// numbers, which processors are slow with.
constexpr Update still{.learning_rate = 0};

class Train : public Probe {
 public:
  Train(const Model& model, Weights weights, const TrainerOptions& options)
      : trainer_(model, std::move(weights), options),
        ids_(verify_ids(model, options.batch * (trainer_.options().tokens + 1), 1)) {
    lowered_ = compile(model, trainer_.executable().program().workload, trainer_.backend().target()).lowered;
  }
  const Program& lowered() const override { return lowered_; }

 protected:
  Backend& backend() override { return trainer_.backend(); }
  void run() override {
    const auto count = static_cast<std::size_t>(trainer_.options().batch * trainer_.options().tokens);
    trainer_.compute_gradient(std::span(ids_).first(count), std::span(ids_).last(count));
    trainer_.update(still);
  }

 private:
  Trainer trainer_;
  std::vector<std::int32_t> ids_;
  Program lowered_;
};

// One product, or a chain of them in which each multiplies what the one before made.
Program chain_program(const Multiplication& shape, std::int64_t pairs) {
  Program empty;
  empty.workload.tokens = shape.m;
  empty.workload.past = 0;
  empty.workload.precision.weights = shape.type;
  Builder builder(std::move(empty));
  TensorId x = builder.tensor(TensorKind::input, "x", {1, shape.m, shape.k}, DType::float32);
  const auto multiply = [&](Part part, std::int64_t n, std::int64_t k) {
    builder.set_role({Block::feed_forward, part});
    x = linear(builder, x, builder.parameter({Block::feed_forward, part}, Piece::weight, {n, k}), no_tensor, "y");
  };
  if (pairs == 0) multiply(Part::up, shape.n, shape.k);
  for (std::int64_t i = 0; i < pairs; ++i) {
    builder.set_sublayer(static_cast<std::int32_t>(i), 0);
    multiply(Part::up, shape.n, shape.k);
    multiply(Part::down, shape.k, shape.n);
  }
  builder.program().output = x;
  return builder.finish();
}

// Sums of rows stay small.
void fill_matrix(std::int64_t first, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>((static_cast<std::size_t>(first) + i) % 7) * 0.001f - 0.003f;
}

// Blocks take long to encode: all rows of a matrix are alike.
Weights blocks_of_chain(const Program& program, DType type) {
  Weights weights;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::parameter) continue;
    const std::int64_t columns = tensor.shape[-1].size, rows = tensor.shape.elements() / columns;
    const auto of_row = static_cast<std::size_t>(row_bytes(type, columns));
    std::vector<float> values(static_cast<std::size_t>(columns));
    fill_matrix(0, values);
    std::vector<std::byte> row(of_row);
    encode_row(type, values.data(), columns, nullptr, row.data());
    auto all = std::make_shared<std::vector<std::byte>>();
    all->reserve(static_cast<std::size_t>(rows) * of_row);
    for (std::int64_t i = 0; i < rows; ++i) all->insert(all->end(), row.begin(), row.end());
    weights.add(tensor, type, *all, all);
  }
  return weights;
}

Weights matrices_of_chain(const Multiplication& shape, std::int64_t pairs) {
  const Program program = chain_program(shape, pairs);
  if (is_quantised(shape.type)) return blocks_of_chain(program, shape.type);
  return Weights::filled(program, shape.type,
                         [](const Tensor&, std::int64_t first, std::span<float> to) { fill_matrix(first, to); });
}

class Chain : public Probe {
 public:
  Chain(std::shared_ptr<Backend> backend, const Multiplication& shape, std::int64_t pairs,
        std::shared_ptr<const Weights> weights)
      : backend_(std::move(backend)), weights_(std::move(weights)) {
    const Compiled compiled = compile(chain_program(shape, pairs), backend_->target());
    lowered_ = compiled.lowered;
    places_ = backend_->load(weights_->parameters());
    executable_ = backend_->bind(
        compiled, [&](const Program& program, TensorId id) { return places_.at(key_of(program[id])); },
        backend_->allocate(compiled.plan.arena));
  }
  const Program& lowered() const override { return lowered_; }

 protected:
  Backend& backend() override { return *backend_; }
  void run() override { executable_->run(); }

 private:
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<const Weights> weights_;
  std::map<TensorKey, Address> places_;
  std::unique_ptr<Executable> executable_;
  Program lowered_;
};

}  // namespace

std::int64_t decode_steps(const Model& model, std::int64_t past) {
  constexpr std::int64_t most = 16;
  return std::clamp<std::int64_t>(model.context - past, 1, most);
}

const Program& Probe::program() const {
  if (program_ == nullptr) program_ = std::make_unique<Program>(expand(lowered()));
  return *program_;
}

double Probe::time() {
  prepare();
  const RunProfile::Time begin = RunProfile::now();
  run();
  return seconds(begin, RunProfile::now());
}

std::vector<RegionTime> Probe::profile() {
  prepare();
  RunProfile profile;
  struct Watched {
    Backend& backend;
    ~Watched() { backend.set_profile(nullptr); }
  } watched{backend()};
  backend().set_profile(&profile);
  run();
  std::vector<RegionTime> regions;
  for (const RunProfile::Event& event : profile.events())
    regions.push_back({event.op, event.ops, seconds(event.begin, event.end)});
  return regions;
}

std::unique_ptr<Probe> probe_prefill(std::shared_ptr<const LoadedModel> model, std::int64_t tokens,
                                     const ProbeOptions& options) {
  return std::make_unique<Prefill>(std::move(model), tokens, options);
}

std::unique_ptr<Probe> probe_decode(std::shared_ptr<const LoadedModel> model, std::int64_t batch, std::int64_t past,
                                    const ProbeOptions& options) {
  check_caches(model->model(), batch, past, DType::float32);
  return std::make_unique<Decode>(std::move(model), batch, past, options);
}

std::unique_ptr<Probe> probe_train(const Model& model, Weights weights, DType precision, std::int64_t batch,
                                   std::int64_t tokens, const ProbeOptions& options) {
  TrainerOptions trainer;
  trainer.threads = options.threads;
  trainer.batch = batch;
  trainer.tokens = tokens;
  trainer.precision = precision;
  trainer.cancel = options.cancel;
  return std::make_unique<Train>(model, std::move(weights), trainer);
}

std::shared_ptr<const Weights> chain_matrices(const Multiplication& shape, std::int64_t pairs) {
  return std::make_shared<const Weights>(matrices_of_chain(shape, pairs));
}

std::unique_ptr<Probe> probe_chain(std::shared_ptr<Backend> backend, const Multiplication& shape, std::int64_t pairs,
                                   std::shared_ptr<const Weights> matrices) {
  return std::make_unique<Chain>(std::move(backend), shape, pairs, std::move(matrices));
}

}  // namespace reckon
