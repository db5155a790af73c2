// A program bound to memory and kernels of the cpu.
#pragma once

#include "backend/cpu/launch.h"
#include "backend/host_executable.h"

#include <map>
#include <vector>

namespace reckon {

class CpuExecutable : public HostExecutable {
 public:
  CpuExecutable(const Compiled& compiled, const Resident& resident, std::shared_ptr<Buffer> arena,
                Inspection* inspection, Machine& machine, RunProfile* const& profile);

  void run(const TrainingStep* training, Stages stages) override;
  std::vector<double> values(TensorId id) const override;
  bool rounds(const Op& op) const override;
  View view(TensorId id) const;  // of one that is no parameter

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

  View bind(TensorId id);
  const BoundParameter& bind_parameter(TensorId id);
  void bind_updates();
  void add_products(Step& step, const Op& op, const std::vector<View>& inputs, const View& output) const;
  void add_weight_gradient(Step& step, const Op& op, const View& dy, const View& x, const View& output) const;
  void follow_length(Step& step, std::int64_t keys) const;
  std::int64_t longest_past() const;

  Machine& machine_;
  RunProfile* const& profile_;                     // the backend's
  const std::int32_t* starts_ = nullptr;           // of sequences
  std::vector<bool> sums_up_;                      // the gradients of parameters
  std::map<TensorId, BoundParameter> parameters_;  // that ops read
  std::vector<Step> steps_;
  std::vector<Product> products_;  // room for a mixture's
};

}  // namespace reckon
