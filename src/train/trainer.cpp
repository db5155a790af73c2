// Builds the program of a training step, gives its lasting tensors memory, and runs its stages.
#include "train/trainer.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "backend/cpu/random.h"
#include "compile/compile.h"
#include "files/checked.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "lowering/regions.h"
#include "network/forward.h"
#include "ops/adamw.h"
#include "ops/all_reduce.h"
#include "passes/expand.h"
#include "run/ids.h"
#include "run/inputs.h"
#include "threads/thread_count.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace reckon {
namespace {

TrainerOptions filled(TrainerOptions options, const Model& model) {
  if (options.precision != DType::float32 && options.precision != DType::bfloat16) {
    throw UsageError(fmt::format("training in {}; expected float32 or bfloat16", encoding_of(options.precision).name));
  }
  if (options.precision != DType::float32 && options.device != Device::cpu)
    throw UsageError("the reference trains in float32 only");
  options.threads = thread_count(options.threads);
  if (options.tokens == 0) options.tokens = model.context;
  if (options.tokens > model.context && model.positions.kind == Positions::Kind::learned) {
    throw UsageError(
        fmt::format("{} tokens do not fit the model's context of {}", grouped(options.tokens), grouped(model.context)));
  }
  return options;
}

Compiled compiled(const Model& model, const Weights& weights, const TrainerOptions& options,
                  const Communicator* ranks) {
  Workload workload = workload_of(Phase::train);
  workload.batch = options.batch;
  workload.tokens = options.tokens;
  workload.recompute = options.recompute;
  workload.dropout = options.dropout;
  workload.precision.weights = options.precision;
  workload.parameter_types = weights.types();  // vectors are never narrow
  if (ranks != nullptr) workload.ranks = ranks->size();
  return compile(model, workload, cpu_target);
}

// Before any of it is taken: a step that is too large would make the machine stand still, or be ended by it.
void check_memory(const Plan& plan, const TrainerOptions& options) {
  const std::int64_t lasting = checked_add(
      plan.weights, checked_add(plan.gradients, plan.optimizer, "the state of training"), "the state of training");
  const std::int64_t needed = checked_add(lasting, plan.arena, "the memory of a step"), memory = machine_memory();
  if (needed <= memory) return;
  throw Error(
      fmt::format("a step of {} × {} tokens needs {} of memory, {} of it for weights, gradients and moments and {} for "
                  "activations, but this machine has {}; smaller batches need less",
                  grouped(options.batch), grouped(options.tokens), binary_bytes(needed), binary_bytes(lasting),
                  binary_bytes(plan.arena), binary_bytes(memory)));
}

// A pool that can be cancelled as long as this lives. An update must not be: half of the weights would be new.
class Cancellable {
 public:
  Cancellable(Pool& pool, const std::atomic<bool>* flag) : pool_(pool) { pool_.cancel_on(flag); }
  ~Cancellable() { pool_.cancel_on(nullptr); }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;

 private:
  Pool& pool_;
};

}  // namespace

Trainer::Trainer(Model model, Weights weights, const TrainerOptions& options, Communicator* ranks)
    : model_(std::move(model)),
      weights_(std::move(weights)),
      options_(filled(options, model_)),
      ranks_(ranks != nullptr && ranks->size() > 1 ? ranks : nullptr),
      pool_(options_.threads),
      scratch_(options_.threads),
      counters_(options_.threads),
      machine_{pool_, scratch_, counters_} {
  if (options_.inspection != nullptr) options_.inspection->prepare(machine_);
  check_no_encoder(model_);
  Compiled step = compiled(model_, weights_, options_, ranks_);
  check_memory(step.plan, options_);
  Expanded expanded = expand(step.lowered, step.plan);
  take_memory(expanded.program);
  auto arena = std::make_shared<Arena>(step.plan.arena, options_.inspection != nullptr);
  executor_ = std::make_unique<Executor>(
      std::move(expanded), std::move(step.plan), weights_,
      [this](const Program& p, TensorId id) { return Address{resident(p, id)}; }, std::move(arena),
      options_.inspection);
  const TensorId norm = executor_->program().ops.back().inputs[4];  // every update reads the same
  norm_ = reinterpret_cast<float*>(executor_->data(norm));
  if (options_.device == Device::cpu) return;
  if (ranks_ != nullptr)
    throw UsageError(fmt::format("the reference trains in one process, not in {}", ranks_->size()));
  reference_ = std::make_unique<ReferenceModel>(model_, weights_, options_.device == Device::reference);
  logical_ = expand(logical_program(model_, executor_->program().workload));
}

Trainer::~Trainer() {
  if (ranks_ != nullptr) ranks_->abandon_sums();
}

// What outlives a step: the gradients of parameters and their moments, told by the ops that update.
void Trainer::take_memory(const Program& program) {
  const auto size_of = [&](TensorId id) {
    return padded(static_cast<std::int64_t>(bytes(program[placement(program, id).root])));
  };
  std::int64_t gradient_bytes = 0, moment_bytes = 0;
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    gradient_bytes += size_of(op.inputs[1]);
    moment_bytes += size_of(op.inputs[2]) + size_of(op.inputs[3]);
  }
  const bool fenced = options_.inspection != nullptr;
  gradients_ = std::make_unique<Arena>(gradient_bytes, fenced);
  moments_ = std::make_unique<Arena>(moment_bytes, fenced);
  if (fenced) std::fill_n(moments_->take(0, 0), moment_bytes, std::byte{0});
  std::int64_t gradient_at = 0, moment_at = 0;
  const auto place = [&](Arena& arena, std::int64_t& at, TensorId id) {
    const TensorId root = placement(program, id).root;
    std::byte* memory = arena.take(at, size_of(id));
    at += size_of(id);
    lasting_[root] = memory;
    return reinterpret_cast<float*>(memory);
  };
  // Gradients that are summed over ranks together lie together.
  std::map<TensorId, float*> in_buckets;
  for (const Op& op : program.ops) {
    if (op.operation != &all_reduce_start_operation) continue;
    for (TensorId id : op.inputs) in_buckets[id] = place(*gradients_, gradient_at, id);
  }
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    const Tensor& parameter = program[op.inputs[0]];
    TrainedTensor tensor;
    tensor.key = key_of(parameter);
    tensor.name = full_name(parameter);
    for (const Dim& dim : parameter.shape) tensor.shape.push_back(dim.size);
    const auto n = static_cast<std::size_t>(parameter.shape.elements());
    const ParameterData& data = weights_[tensor.key];
    if (data.master == nullptr) throw Error("a trainer was given weights that cannot be changed");
    tensor.weight = {data.master, n};
    const auto in_bucket = in_buckets.find(op.inputs[1]);
    tensor.gradient = {
        in_bucket != in_buckets.end() ? in_bucket->second : place(*gradients_, gradient_at, op.inputs[1]), n};
    tensor.first_moment = {place(*moments_, moment_at, op.inputs[2]), n};
    tensor.second_moment = {place(*moments_, moment_at, op.inputs[3]), n};
    if (op.inputs.size() > adamw_input::master) {
      lasting_[op.inputs[adamw_input::master]] = reinterpret_cast<std::byte*>(data.master);
    }
    tensors_.push_back(std::move(tensor));
  }
  for (TrainedTensor& tensor : tensors_) weights_.keep_squares(tensor.key, &tensor.squares);
}

std::byte* Trainer::resident(const Program& program, TensorId id) {
  if (const auto found = lasting_.find(id); found != lasting_.end()) return found->second;
  std::vector<float> values;
  if (const std::int64_t index = rope_table_index(program, id); index >= 0) {
    values = rope_rows(distinct_ropes(model_).at(static_cast<std::size_t>(index)), 0, options_.tokens, options_.tokens);
  } else {
    values = weights_[key_of(program[id])].values;
  }
  const auto size = static_cast<std::int64_t>(values.size() * sizeof(float));
  constants_.push_back(std::make_unique<Arena>(size));
  std::byte* memory = constants_.back()->take(0, size);
  std::memcpy(memory, values.data(), static_cast<std::size_t>(size));
  return lasting_[id] = memory;
}

void Trainer::fill(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels) {
  const auto expected = static_cast<std::size_t>(options_.batch * options_.tokens);
  if (ids.size() != expected || labels.size() != expected) {
    throw UsageError(fmt::format("{} ids and {} labels for a step of {} × {} tokens", grouped(ids.size()),
                                 grouped(labels.size()), grouped(options_.batch), grouped(options_.tokens)));
  }
  check_ids(ids, model_.vocab_size);
  for (std::int32_t label : labels) {
    if (label < -1 || label >= model_.vocab_size) {
      throw UsageError(fmt::format("label {} is outside the vocabulary of {}", label, grouped(model_.vocab_size)));
    }
  }
  const Program& program = executor_->program();
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.kind != TensorKind::input) continue;
    std::byte* memory = executor_->data(static_cast<TensorId>(i));
    auto* integers = reinterpret_cast<std::int32_t*>(memory);
    if (tensor.label.piece == Piece::ids) std::copy(ids.begin(), ids.end(), integers);
    if (tensor.label.piece == Piece::labels) std::copy(labels.begin(), labels.end(), integers);
    fill_positions(model_, tensor, 0, options_.tokens, memory);
  }
}

void Trainer::run(const TrainingStep& step, Executor::Stages stages, std::span<const std::int32_t> ids,
                  std::span<const std::int32_t> labels) {
  if (reference_ == nullptr) return executor_->run(machine_, profile_, &step, stages);
  run_on_reference(step, stages, {ids, labels});
}

// Weights, gradients and moments stay where they are; the reference is given copies, and what it makes of them is
// copied back, as are the loss and the norm.
void Trainer::run_on_reference(const TrainingStep& step, Executor::Stages stages,
                               const ReferenceModel::Inputs& inputs) {
  const bool updates = *stages.begin() == Stage::optimizer, backward = !updates && stages.size() > 1;
  const auto each = [&](const auto& body) {  // in the program's order, as tensors_ are
    auto tensor = tensors_.begin();
    for (const Op& op : logical_.ops) {
      if (op.operation != &adamw_operation) continue;
      body(*tensor, reference_->parameter(tensor->key), reference_->gradients()[tensor->key],
           reference_->moments()[key_of(logical_[op.inputs[2]])],
           reference_->moments()[key_of(logical_[op.inputs[3]])]);
      ++tensor;
    }
  };
  using Values = std::vector<double>;
  each([&](const TrainedTensor& tensor, Values& weight, Values& gradient, Values& first, Values& second) {
    weight.assign(tensor.weight.begin(), tensor.weight.end());
    if (!updates) return;
    gradient.assign(tensor.gradient.begin(), tensor.gradient.end());
    first.assign(tensor.first_moment.begin(), tensor.first_moment.end());
    second.assign(tensor.second_moment.begin(), tensor.second_moment.end());
  });

  ReferenceOptions asked;
  asked.stages = stages;
  asked.step = {step.loss_scale, step.learning_rate, step.beta1, step.beta2, step.epsilon,
                step.decay,      step.clip,          step.step,  step.drops, step.seed};
  asked.after = [&](const Op& op, const ReferenceValues& values) {
    if (!updates && options_.cancel != nullptr && *options_.cancel) throw Cancelled();
    if (op.operation == &adamw_operation)
      *norm_ = static_cast<float>(values[static_cast<std::size_t>(op.inputs[4])][0]);
  };
  const Values output = reference_->run(logical_, inputs, asked);

  if (!updates) {
    *reinterpret_cast<float*>(executor_->data(executor_->program().output)) = static_cast<float>(output[0]);
  }
  each([&](TrainedTensor& tensor, const Values& weight, const Values& gradient, const Values& first,
           const Values& second) {
    if (updates) tensor.squares = {};
    for (std::size_t i = 0; i < weight.size(); ++i) {
      if (backward) tensor.gradient[i] = (step.add ? tensor.gradient[i] : 0.0f) + static_cast<float>(gradient[i]);
      if (!updates) continue;
      const double before = static_cast<double>(tensor.weight[i]);
      tensor.weight[i] = static_cast<float>(weight[i]);
      tensor.first_moment[i] = static_cast<float>(first[i]);
      tensor.second_moment[i] = static_cast<float>(second[i]);
      const double after = static_cast<double>(tensor.weight[i]);
      tensor.squares += {gradient[i] * gradient[i], (after - before) * (after - before), after * after};
    }
  });
  if (updates) weights_.refresh();
}

double Trainer::loss_value() const {
  return static_cast<double>(*reinterpret_cast<const float*>(executor_->data(executor_->program().output)));
}

std::uint64_t Trainer::dropout_seed(std::int64_t index) const {
  return mixed(mixed(options_.seed + static_cast<std::uint64_t>(steps_)) + static_cast<std::uint64_t>(index));
}

double Trainer::compute_gradient(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels) {
  const auto size = static_cast<std::size_t>(options_.batch * options_.tokens), count = ids.size() / size;
  if (ids.empty() || ids.size() != count * size || labels.size() != ids.size()) {
    throw UsageError(fmt::format("{} ids and {} labels for micro-steps of {} × {} tokens", grouped(ids.size()),
                                 grouped(labels.size()), grouped(options_.batch), grouped(options_.tokens)));
  }
  const auto counted = [](std::span<const std::int32_t> some) {
    return static_cast<double>(std::count_if(some.begin(), some.end(), [](std::int32_t label) { return label >= 0; }));
  };
  double all = counted(labels);
  if (ranks_ != nullptr) ranks_->sum({&all, 1});
  all = std::max(all, 1.0);
  const double ranks = ranks_ != nullptr ? ranks_->size() : 1, micro_steps = static_cast<double>(count) * ranks;
  const Cancellable here(pool_, ranks_ == nullptr ? options_.cancel : nullptr);
  double loss = 0;
  for (std::size_t index = 0; index < count; ++index) {
    const auto own = labels.subspan(index * size, size);
    fill(ids.subspan(index * size, size), own);
    TrainingStep step;
    step.add = index > 0;
    step.loss_scale = counted(own) / all;
    if (ranks_ != nullptr) step.rank = ranks_->rank();
    if (index == count - 1) step.ranks = ranks_;
    step.drops = true;
    step.seed = dropout_seed(static_cast<std::int64_t>(index));
    run(step, {Stage::forward, Stage::backward}, ids.subspan(index * size, size), own);
    loss += loss_value() * (counted(own) * micro_steps / all);  // exactly 1 where all have as many labels
  }
  loss /= static_cast<double>(count);
  if (ranks_ != nullptr) {
    loss /= ranks;
    ranks_->sum({&loss, 1});
  }
  return loss;
}

double Trainer::update(const Update& update) {
  TrainingStep step;
  step.learning_rate = update.learning_rate;
  step.beta1 = update.beta1;
  step.beta2 = update.beta2;
  step.epsilon = update.epsilon;
  step.decay = update.decay;
  step.clip = update.clip;
  step.step = steps_ + 1;
  step.ranks = ranks_;
  run(step, {Stage::optimizer});
  const double norm = std::sqrt(static_cast<double>(*norm_));
  if (std::isfinite(norm)) ++steps_;
  return norm;
}

double Trainer::loss(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels) {
  fill(ids, labels);
  const TrainingStep step;
  run(step, {Stage::forward}, ids, labels);
  return loss_value();
}

}  // namespace reckon
