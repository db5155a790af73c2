// Runs one lowered program: binds its tensors to memory once, then launches its kernels in order.
#pragma once

#include "backend/cpu/launch.h"
#include "compile/compile.h"
#include "program/program.h"
#include "run/arena.h"
#include "run/inspection.h"
#include "run/profile.h"
#include "run/weights.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

namespace reckon {

// Where tensors that outlive a run lie: caches and constants, by the program's tensor.
using Resident = std::function<std::byte*(const Program&, TensorId)>;

class Executor {
 public:
  // `expanded`: what expand() makes of a lowered program and its plan. `inspection` looks on at every run; what
  // `resident` gives must then be fenced.
  Executor(Expanded expanded, Plan plan, const Weights& weights, const Resident& resident,
           Inspection* inspection = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs every op, with `past` tokens in the cache. `profile` may be null.
  void run(Machine& machine, std::int64_t past, Profile* profile) { run(machine, past, profile, nullptr, {}); }

  // Of a training program, the ops of some stages.
  using Stages = std::initializer_list<Stage>;
  void run(Machine& machine, std::int64_t past, Profile* profile, const TrainingStep* training, Stages stages);

  // The memory of a tensor (an input to fill, the output to read).
  std::byte* data(TensorId id) const;
  const Program& program() const { return program_; }  // every iteration written out
  const Plan& plan() const { return plan_; }
  bool in_arena(TensorId root) const { return offsets_[static_cast<std::size_t>(root)] >= 0; }
  const Arena& arena() const { return arena_; }

 private:
  // One parallel region: an op, or several products that don't depend on each other.
  struct Step {
    const Op* op = nullptr;
    Kernel kernel = nullptr;  // null: `products`
    std::vector<View> inputs, outputs;
    std::vector<Product> products;
    std::vector<std::int64_t> rows;  // of each product, as planned
    bool follows_past = false;       // some extent is that of the keys held
    std::int64_t ops = 1;
    std::vector<std::size_t> sums_up;  // products that write the gradient of a parameter
  };

  View bind(TensorId id, const Weights& weights, const Resident& resident);
  void add_products(Step& step, const Op& op, const std::vector<View>& inputs, const View& output) const;
  void add_weight_gradient(Step& step, const Op& op, const View& dy, const View& x, const View& output) const;
  void follow_past(Step& step, std::int64_t past) const;

  Program program_;
  Inspection* inspection_;
  std::vector<std::int64_t> offsets_;  // of each tensor in the arena
  Plan plan_;
  Arena arena_;
  std::vector<std::byte*> base_;  // of each tensor
  std::vector<bool> sums_up_;     // the gradients of parameters
  std::vector<Step> steps_;
  std::vector<Product> products_;  // room for a mixture's
};

}  // namespace reckon
