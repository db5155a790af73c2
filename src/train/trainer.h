// One model in training: its weights, gradients and moments, and the program of a step. Knows nothing of data,
// schedules or files.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "processes/communicator.h"
#include "run/engine.h"
#include "run/executor.h"
#include "run/weights.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reckon {

struct TrainerOptions {
  Device device = Device::cpu;            // the reference trains in float32, in one process
  int threads = 0;                        // 0: as many as thread_count() says
  std::int64_t batch = 1, tokens = 0;     // of a micro-step; tokens 0: the model's context
  Recompute recompute = Recompute::none;  // what the backward pass computes again instead of keeping it
  DType precision = DType::float32;       // of the weights that products read and of activations
  double dropout = 0;
  std::uint64_t seed = 0;  // of dropout
  // Set by another thread or a signal handler: compute_gradient() throws Cancelled, and what it began is as if it had
  // never been. Ranks that train together do not: they would wait for each other. nullptr: nobody cancels.
  const std::atomic<bool>* cancel = nullptr;
  Inspection* inspection = nullptr;  // looks on; nullptr: nobody does
};

// AdamW (Loshchilov and Hutter, arXiv 1711.05101): decoupled decay, of matrices only.
struct Update {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
  double clip = 1.0;  // the largest global norm of the gradient; 0: any
};

// A parameter with all that training keeps of it, row-major.
struct TrainedTensor {
  TensorKey key;
  std::string name;  // "layers.3.attention.query.weight": in files of moments, and for people
  std::vector<std::int64_t> shape;
  std::span<float> weight, gradient, first_moment, second_moment;
  Squares squares;  // of the last update(): Σ g² before clipping, Σ (Δw)², Σ w² after it
};

class Trainer {
 public:
  // `weights` come from Weights::trainable(). `ranks`: the processes that train together, each with the same weights
  // and options and a batch of its own; nullptr: this one alone.
  Trainer(Model model, Weights weights, const TrainerOptions& options, Communicator* ranks = nullptr);
  ~Trainer();

  // Forward and backward of a step, in one or more micro-steps: the gradient of the mean loss over all labels, those of
  // other ranks too. ids and labels are micro-steps × batch × tokens; a label of -1 is left out. Returns that mean.
  // Of several ranks, all have as many micro-steps; the last one begins to sum the gradients of all ranks, which are
  // not to be looked at before update().
  double compute_gradient(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels);

  // One step of AdamW with the gradient summed up. Returns its global norm before clipping. Nothing is changed when
  // that norm is not finite.
  double update(const Update& update);

  // The mean loss alone. Activations stay in memory until the next call.
  double loss(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels);

  std::uint64_t dropout_seed(std::int64_t index) const;  // of micro-step `index` of the coming step
  std::int64_t steps() const { return steps_; }  // updates so far; they correct the moments' bias and seed dropout
  void set_steps(std::int64_t steps) { steps_ = steps; }

  std::span<TrainedTensor> tensors() { return tensors_; }  // in the program's order
  // After writing to a tensor's weight from outside (a checkpoint): brings what is derived from it up to date.
  void weights_changed() { weights_.refresh(); }

  const Model& model() const { return model_; }
  const Weights& weights() const { return weights_; }
  const TrainerOptions& options() const { return options_; }
  Communicator* ranks() const { return ranks_; }  // nullptr: alone
  const Executor& executor() const { return *executor_; }
  const Arena& gradients() const { return *gradients_; }  // of all parameters
  Counters& counters() { return counters_; }
  Pool& pool() { return pool_; }
  void set_profile(Profile* profile) { profile_ = profile; }

 private:
  std::byte* resident(const Program& program, TensorId id);
  void take_memory(const Program& program);
  // Some stages of a step, on the device; ids and labels are those that fill() was given.
  void run(const TrainingStep& step, Executor::Stages stages, std::span<const std::int32_t> ids = {},
           std::span<const std::int32_t> labels = {});
  void run_on_reference(const TrainingStep& step, Executor::Stages stages, const ReferenceModel::Inputs& inputs);
  double loss_value() const;
  void fill(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels);

  Model model_;
  Weights weights_;
  TrainerOptions options_;
  Communicator* ranks_;  // nullptr: alone
  Pool pool_;
  Scratch scratch_;
  Counters counters_;
  Machine machine_;
  Profile* profile_ = nullptr;
  std::int64_t steps_ = 0;
  std::vector<TrainedTensor> tensors_;
  std::unique_ptr<Arena> gradients_, moments_;
  std::vector<std::unique_ptr<Arena>> constants_;
  std::map<TensorId, std::byte*> lasting_;  // tensors that outlive a step
  float* norm_ = nullptr;                   // the squared global norm of the last update
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ReferenceModel> reference_;  // nullptr: on the cpu
  Program logical_;                            // what the reference runs
};

}  // namespace reckon
