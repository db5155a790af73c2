// One model in training: its weights, gradients and moments, and the program of a step. Knows nothing of data,
// schedules or files.
#pragma once

#include <reckon/model.h>
#include <reckon/workload.h>

#include "backend/backend.h"
#include "processes/communicator.h"
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
  Device device = Device::cpu;
  int threads = 0;                        // 0: as many as thread_count() says
  std::int64_t batch = 1, tokens = 0;     // of a micro-step; tokens 0: the model's context
  Recompute recompute = Recompute::none;  // what the backward pass computes again instead of keeping it
  DType precision = DType::float32;       // of the weights that products read and of activations
  double dropout = 0;
  std::uint64_t seed = 0;   // of dropout
  std::int64_t memory = 0;  // bytes that it may take; 0: all of this machine's
  // Set by another thread or a signal handler: compute_gradient() throws Cancelled, and what it began is as if it had
  // never been. Ranks that train together do not: they would wait for each other. nullptr: nobody cancels.
  const std::atomic<bool>* cancel = nullptr;
  Inspection* inspection = nullptr;  // watches; nullptr: nobody does
};

// AdamW (Loshchilov and Hutter, arXiv 1711.05101): decoupled decay, of matrices only.
struct Update {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
  double clip = 1.0;  // the largest global norm of the gradient; 0: any
};

// A parameter with all that training keeps of it: float32, row-major, in memory of the backend.
struct TrainedTensor {
  TensorKey key;
  std::string name;  // "layers.3.attention.query.weight": in files of moments, and for people
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  Address weight, gradient, first_moment, second_moment;
  Address narrow{};      // a copy of the weight that products read, where they do not read the weight itself
  Squares squares = {};  // of the last update(): Σ g² before clipping, Σ (Δw)², Σ w² after it
};

class Trainer {
 public:
  // `weights` are copied. `ranks`: the processes that train together, each with the same weights and options and a
  // batch of its own; nullptr: this one alone.
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

  std::span<const TrainedTensor> tensors() const { return tensors_; }  // in the program's order
  using What = Address TrainedTensor::*;                               // &TrainedTensor::gradient
  std::vector<float> values(const TrainedTensor& tensor, What what) const {
    return read_floats(*backend_, tensor.*what, tensor.elements);
  }
  // The same, in `copy` where they do not lie in memory of the host.
  std::span<const float> values(const TrainedTensor& tensor, What what, std::vector<std::byte>& copy) const {
    return read_floats(*backend_, tensor.*what, tensor.elements, copy);
  }
  void set_values(const TrainedTensor& tensor, What what, std::span<const float> values);

  // As products read them, or as the optimizer changes them, in float32. Where they lie in memory of the host they are
  // not copied: the trainer must outlive them.
  Weights weights() const { return weights(true); }
  Weights masters() const { return weights(false); }

  const Model& model() const { return model_; }
  const TrainerOptions& options() const { return options_; }
  Communicator* ranks() const { return ranks_; }  // nullptr: alone
  const Executable& executable() const { return *executable_; }
  Backend& backend() const { return *backend_; }

 private:
  Weights weights(bool narrow) const;
  void take_memory(const Program& program, Weights weights);
  Address resident(const Program& program, TensorId id);
  double scalar(TensorId id) const;
  void fill(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels);

  Model model_;
  TrainerOptions options_;
  Communicator* ranks_;  // nullptr: alone
  std::unique_ptr<Backend> backend_;
  std::int64_t steps_ = 0;
  std::vector<TrainedTensor> tensors_;
  Parameters buffers_;                   // that came with the weights and are not trained
  std::map<TensorId, Address> lasting_;  // tensors that outlive a step
  std::unique_ptr<Executable> executable_;
};

}  // namespace reckon
