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

// Where a tensor that outlives a run lies; of a cache in pages, where it does in page 0, and how far pages are apart.
struct Address {
  std::byte* data = nullptr;
  std::int64_t page_bytes = 0;
};
using Resident = std::function<Address(const Program&, TensorId)>;

class Executor {
 public:
  // `expanded`: what expand() makes of a lowered program and its plan. The arena, which other programs may use in
  // between, is at least as large as the plan's. `inspection` looks on at every run; the arena and what `resident`
  // gives must then be fenced.
  Executor(Expanded expanded, Plan plan, const Weights& weights, const Resident& resident, std::shared_ptr<Arena> arena,
           Inspection* inspection = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs every op; of a training program, those of some stages. `profile` may be null.
  using Stages = std::initializer_list<Stage>;
  void run(Machine& machine, Profile* profile, const TrainingStep* training = nullptr, Stages stages = {});

  // The memory of a tensor (an input to fill, the output to read).
  std::byte* data(TensorId id) const;
  View view(TensorId id) const;                        // of one that is no parameter
  const Program& program() const { return program_; }  // every iteration written out
  const Plan& plan() const { return plan_; }
  bool in_arena(TensorId root) const { return offsets_[static_cast<std::size_t>(root)] >= 0; }
  const Arena& arena() const { return *arena_; }

 private:
  // One parallel region: an op, or several products that don't depend on each other.
  struct Step {
    const Op* op = nullptr;
    Kernel kernel = nullptr;  // null: `products`
    std::vector<View> inputs, outputs;
    std::vector<Product> products;
    std::vector<std::int64_t> rows;  // of each product, as planned
    bool follows_length = false;     // some extent is that of the keys held
    std::int64_t ops = 1;
    std::vector<std::size_t> sums_up;  // products that write the gradient of a parameter
  };

  View bind(TensorId id, const Weights& weights, const Resident& resident);
  void place(TensorId root, const Resident& resident);
  void add_products(Step& step, const Op& op, const std::vector<View>& inputs, const View& output) const;
  void add_weight_gradient(Step& step, const Op& op, const View& dy, const View& x, const View& output) const;
  void follow_length(Step& step, std::int64_t keys) const;
  std::int64_t longest_past() const;

  Program program_;
  Inspection* inspection_;
  std::vector<std::int64_t> offsets_;  // of each tensor in the arena
  Plan plan_;
  std::shared_ptr<Arena> arena_;
  std::vector<Address> addresses_;  // of each tensor with memory of its own
  TensorId starts_ = no_tensor;     // of sequences
  std::vector<bool> sums_up_;       // the gradients of parameters
  std::vector<Step> steps_;
  std::vector<Product> products_;  // room for a mixture's
};

}  // namespace reckon
