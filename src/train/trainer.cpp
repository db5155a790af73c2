// Compiles a training step, gives what outlives it memory, and runs its stages.
#include "train/trainer.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "compile/compile.h"
#include "files/checked.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "files/random.h"
#include "lowering/regions.h"
#include "network/forward.h"
#include "ops/adamw.h"
#include "ops/collectives.h"
#include "passes/expand.h"
#include "run/inputs.h"
#include "threads/thread_count.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reckon {
namespace {

TrainerOptions filled(TrainerOptions options, const Model& model) {
  if (options.precision != DType::float32 && options.precision != DType::bfloat16) {
    throw UsageError(fmt::format("training in {}; expected float32 or bfloat16", encoding_of(options.precision).name));
  }
  options.threads = thread_count(options.threads);
  if (options.tokens == 0) options.tokens = model.context;
  if (options.tokens > model.context && model.positions.kind == Positions::Kind::learned) {
    throw UsageError(
        fmt::format("{} tokens do not fit the model's context of {}", grouped(options.tokens), grouped(model.context)));
  }
  return options;
}

// Vectors are never narrow.
std::shared_ptr<const ParameterTypes> types_of(const Weights& weights, DType precision) {
  auto types = std::make_shared<ParameterTypes>();
  for (const auto& [key, data] : weights.parameters())
    types->emplace(key, data.matrices.empty() ? DType::float32 : precision);
  return types;
}

Compiled compiled(const Model& model, const Weights& weights, const TrainerOptions& options, const Communicator* ranks,
                  const Target& target) {
  if (options.precision != DType::float32 && !target.narrow)
    throw UsageError(fmt::format("the {} trains in float32 only", target.name));
  if (ranks != nullptr && !target.ranks)
    throw UsageError(fmt::format("the {} trains in one process, not in {}", target.name, ranks->size()));
  Workload workload = workload_of(Phase::train);
  workload.batch = options.batch;
  workload.tokens = options.tokens;
  workload.recompute = options.recompute;
  workload.dropout = options.dropout;
  workload.precision.weights = options.precision;
  workload.parameter_types = types_of(weights, options.precision);
  if (ranks != nullptr) workload.layout.data = ranks->size();
  return compile(model, workload, target);
}

// Before any of it is taken: a step that is too large would make the machine stand still, or be ended by it.
void check_memory(const Plan& plan, const TrainerOptions& options, const Backend& backend) {
  const char* const state = "the state of training";
  const std::int64_t lasting =
      backend.memory_bytes(checked_add(plan.weights, checked_add(plan.gradients, plan.optimizer, state), state));
  const std::int64_t arena = backend.memory_bytes(plan.arena);
  const std::int64_t needed = checked_add(lasting, arena, "the memory of a step");
  const std::int64_t memory = options.memory > 0 ? options.memory : machine_memory();
  if (needed <= memory) return;
  throw Error(fmt::format(
      "a step of {} × {} tokens needs {} of memory, {} of it for weights, gradients and moments and {} for "
      "activations, but {} {}{}; smaller batches need less",
      grouped(options.batch), grouped(options.tokens), binary_bytes(needed), binary_bytes(lasting), binary_bytes(arena),
      options.memory > 0 ? "there are" : "this machine has", binary_bytes(memory), options.memory > 0 ? " left" : ""));
}

// A backend that can be cancelled as long as this lives. An update must not be: half of the weights would be new.
class Cancellable {
 public:
  Cancellable(Backend& backend, const std::atomic<bool>* flag) : backend_(backend) { backend_.cancel_on(flag); }
  ~Cancellable() { backend_.cancel_on(nullptr); }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;

 private:
  Backend& backend_;
};

// A buffer that is handed out from its beginning on.
class Region {
 public:
  Region(Backend& backend, std::int64_t bytes, std::int64_t alignment, Fill fill)
      : buffer_(backend.allocate(bytes, fill)), alignment_(alignment) {}
  Address take(std::int64_t bytes) { return {buffer_, std::exchange(at_, at_ + padded(bytes, alignment_))}; }

 private:
  std::shared_ptr<Buffer> buffer_;
  std::int64_t alignment_;
  std::int64_t at_ = 0;
};

}  // namespace

Trainer::Trainer(Model model, Weights weights, const TrainerOptions& options, Communicator* ranks)
    : model_(std::move(model)),
      options_(filled(options, model_)),
      ranks_(ranks != nullptr && ranks->size() > 1 ? ranks : nullptr),
      backend_(make_backend(options_.device, options_.threads, options_.inspection)) {
  check_no_encoder(model_);
  const Compiled step = compiled(model_, weights, options_, ranks_, backend_->target());
  check_memory(step.plan, options_, *backend_);
  take_memory(expand(step.lowered), std::move(weights));
  executable_ = backend_->bind(
      step, [this](const Program& p, TensorId id) { return resident(p, id); },
      backend_->allocate(step.plan.arena, Fill::pattern));
}

Trainer::~Trainer() {
  if (ranks_ != nullptr) ranks_->abandon_sums();
}

// What outlives a step: parameters, their gradients and moments, told by the ops that update. `weights` are let go
// before there are gradients and moments.
void Trainer::take_memory(const Program& program, Weights weights) {
  const auto root = [&](TensorId id) { return placement(program, id).root; };
  const auto size_of = [&](TensorId id) { return static_cast<std::int64_t>(bytes(program[root(id)])); };
  const std::int64_t alignment = backend_->target().alignment;
  const std::int64_t gradient_alignment = ranks_ != nullptr ? bucket_alignment : alignment;
  constexpr int kinds = adamw_input::master + 1;
  std::int64_t total[kinds] = {};  // bytes of each kind of input of an update
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      total[i] += padded(size_of(op.inputs[i]), i == adamw_input::gradient ? gradient_alignment : alignment);
  }
  Region parameters(*backend_, total[adamw_input::parameter], alignment, Fill::zeros);
  Region masters(*backend_, total[adamw_input::master], alignment, Fill::zeros);
  const auto place = [&](Region& region, TensorId id) { return lasting_[root(id)] = region.take(size_of(id)); };
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    const Tensor& parameter = program[op.inputs[adamw_input::parameter]];
    TrainedTensor tensor;
    tensor.key = key_of(parameter);
    tensor.name = full_name(parameter);
    for (const Dim& dim : parameter.shape) tensor.shape.push_back(dim.size);
    tensor.elements = parameter.shape.elements();
    tensor.weight = place(parameters, op.inputs[adamw_input::parameter]);
    if (op.inputs.size() > adamw_input::master) {
      tensor.narrow = tensor.weight;
      tensor.weight = place(masters, op.inputs[adamw_input::master]);
    }
    std::vector<float> values(memory_size(tensor.elements, "the elements of a parameter"));
    Elements from(weights[tensor.key]);
    std::generate(values.begin(), values.end(), [&] { return from.next(); });
    set_values(tensor, &TrainedTensor::weight, values);
    tensors_.push_back(std::move(tensor));
  }
  // What is stored with the weights and not trained, be it counted as a parameter or not.
  for (const Tensor& tensor : program.tensors) {
    const auto found = weights.parameters().find(key_of(tensor));
    const Role role = tensor.scope.role;
    const bool frozen = role.part == Part::correction || is_indexer(role);
    const bool kept = tensor.kind == TensorKind::constant || (tensor.kind == TensorKind::parameter && frozen);
    if (!kept || found == weights.parameters().end()) continue;
    ParameterData& data = buffers_.insert(*found).first->second;
    if (!data.values.empty()) continue;
    data.values.resize(memory_size(tensor.shape.elements(), "the elements of a parameter"));
    Elements from(found->second);
    std::generate(data.values.begin(), data.values.end(), [&] { return from.next(); });
  }
  weights = {};

  Region gradients(*backend_, total[adamw_input::gradient], gradient_alignment, Fill::pattern);
  Region moments(*backend_, total[adamw_input::first_moment] + total[adamw_input::second_moment], alignment,
                 Fill::zeros);
  // Gradients that are summed over ranks together lie together.
  for (const Op& op : program.ops) {
    if (op.operation != &all_reduce_start_operation) continue;
    for (TensorId id : op.inputs) place(gradients, id);
  }
  auto tensor = tensors_.begin();
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    const auto in_bucket = lasting_.find(root(op.inputs[adamw_input::gradient]));
    tensor->gradient =
        in_bucket != lasting_.end() ? in_bucket->second : place(gradients, op.inputs[adamw_input::gradient]);
    tensor->first_moment = place(moments, op.inputs[adamw_input::first_moment]);
    tensor->second_moment = place(moments, op.inputs[adamw_input::second_moment]);
    ++tensor;
  }
}

Address Trainer::resident(const Program& program, TensorId id) {
  Address& place = lasting_[id];
  if (place.buffer == nullptr) {
    const std::vector<float> values = constant_values(program, id, model_, options_.tokens, buffers_);
    const Tensor& tensor = program[id];
    if (tensor.kind != TensorKind::parameter || tensor.dtype == DType::float32)
      return place = {buffer_of(*backend_, values)};
    // Of a frozen parameter, the narrow values alone.
    std::vector<std::byte> narrow(static_cast<std::size_t>(row_bytes(tensor.dtype, tensor.shape.elements())));
    encoding_of(tensor.dtype).encode(values.data(), tensor.shape.elements(), narrow.data());
    place = {backend_->allocate(std::ssize(narrow), Fill::nothing)};
    backend_->write(place, tensor.dtype, narrow);
  }
  return place;
}

void Trainer::set_values(const TrainedTensor& tensor, What what, std::span<const float> values) {
  write(*backend_, tensor.*what, values);
  if (what != &TrainedTensor::weight || tensor.narrow.buffer == nullptr) return;
  std::vector<std::byte> narrow(static_cast<std::size_t>(row_bytes(options_.precision, tensor.elements)));
  encoding_of(options_.precision).encode(values.data(), tensor.elements, narrow.data());
  backend_->write(tensor.narrow, options_.precision, narrow);
}

Weights Trainer::weights(bool narrow) const {
  Weights all;
  const Program& program = executable_->program();
  const auto add = [&](const Tensor& parameter, DType dtype, const Address& place) {
    const auto copy = std::make_shared<std::vector<std::byte>>();
    all.add(parameter, dtype, backend_->read(place, dtype, parameter.shape.elements(), *copy), copy);
  };
  auto tensor = tensors_.begin();
  for (const Op& op : program.ops) {
    if (op.operation != &adamw_operation) continue;
    const bool as_copied = narrow && tensor->narrow.buffer != nullptr;
    add(program[op.inputs[adamw_input::parameter]], as_copied ? options_.precision : DType::float32,
        as_copied ? tensor->narrow : tensor->weight);
    ++tensor;
  }
  for (const auto& [id, place] : lasting_) {
    if (!buffers_.contains(key_of(program[id]))) continue;
    add(program[id], program[id].kind == TensorKind::parameter ? program[id].dtype : DType::float32, place);
  }
  return all;
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
  const PartInputs all{ids, 0, labels};
  write_inputs(*backend_, *executable_, model_, {&all, 1}, options_.tokens);
}

double Trainer::scalar(TensorId id) const {
  return static_cast<double>(read_floats(*backend_, executable_->place(id), 1)[0]);
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
  const Cancellable here(*backend_, ranks_ == nullptr ? options_.cancel : nullptr);
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
    executable_->run(&step, {Stage::forward, Stage::backward});
    loss += scalar(executable_->program().output) *
            (counted(own) * micro_steps / all);  // exactly 1 where all have as many labels
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
  executable_->run(&step, {Stage::optimizer});
  for (TrainedTensor& tensor : tensors_) tensor.squares = executable_->squares().at(tensor.key);
  // Every update reads the same.
  const double norm = std::sqrt(scalar(executable_->program().ops.back().inputs[adamw_input::norm]));
  if (std::isfinite(norm)) ++steps_;
  return norm;
}

double Trainer::loss(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels) {
  fill(ids, labels);
  const TrainingStep step;
  executable_->run(&step, {Stage::forward});
  return scalar(executable_->program().output);
}

}  // namespace reckon
