#include "time/roofline.h"

#include <algorithm>
#include <cmath>

#include "ops/attend.h"
#include "ops/project.h"
#include "time/kernels.h"
#include "time/on_processor.h"
#include "time/op_products.h"
#include "time/rates.h"

namespace reckon {
namespace {

double number(Count count) { return static_cast<double>(count); }

double element_bytes(DType type) {
  return static_cast<double>(encoding_of(type).bytes) / static_cast<double>(encoding_of(type).elements);
}

// The wider of the two factors of an op's products.
DType factor_type(const Program& program, const Op& op) {
  const DType first = program[op.inputs[0]].dtype;
  if (op.inputs.size() < 2 || op.inputs[1] == no_tensor) return first;
  const DType second = program[op.inputs[1]].dtype;
  return element_bytes(second) > element_bytes(first) ? second : first;
}

// Joined products are one that is wider (forward), of more rows (gradients of weights), or deeper (of what was read).
void join(ProductShape& whole, const ProductShape& part, const Op& op) {
  if (is_weight_gradient(op)) {
    whole.m += part.m;
  } else if (op.attributes<ProjectAttributes>().transposed) {
    whole.k += part.k;
  } else {
    whole.n += part.n;
  }
}

class Timer {
 public:
  Timer(const Program& program, const Hardware& hardware) : program_(program), rates_(hardware) {}

  Timing run() {
    const std::size_t size = program_.ops.size();
    const bool compiled = rates_.launches_ahead();
    kernels_.resize(size);
    for (std::size_t i = 0; i < size; ++i) kernels_[i] = i;
    if (compiled) kernels_ = kernels_of(program_);
    const std::vector<KernelBytes> kernel_bytes =
        compiled ? bytes_of_kernels(program_, kernels_) : std::vector<KernelBytes>(size);
    timing_.ops.resize(size);
    flops_.resize(size);
    launches_.resize(size);
    std::vector<ProductShape> shapes(size);  // of kernels, at their first op
    for (std::size_t i = 0; i < size; ++i) {
      const Op& op = program_.ops[i];
      OpTime& time = timing_.ops[i];
      time.op = i;
      time.count = program_.count(op.repeat);
      const Cost cost = op.operation->cost(program_, op);
      if (cost.launches == 0) continue;
      const bool first = kernels_[i] == i;
      launches_[i] = static_cast<double>(cost.launches);
      if (compiled) launches_[i] *= launches_of(op) - (first ? 0 : 1);  // what joins a kernel has its first launch
      if (cost.group != Group::none) {
        const Span span = span_of(cost.group, program_.workload.layout);
        time.link = rates_.link(number(cost.sent), span.ranks, span.among);
        continue;
      }
      const KernelBytes& changed = kernel_bytes[i];
      time.memory = rates_.memory(std::max(0.0, number(cost.read) + changed.read),
                                  std::max(0.0, number(cost.written) + changed.written)) +
                    (first ? rates_.start() : 0);
      time.copies = rates_.memory(changed.copied, changed.copied);
      flops_[i] = number(cost.matmul.value());
      const double elementwise = number(cost.elementwise.value());
      if (flops_[i] == 0) {
        if (const auto measured = measured_seconds(op, compute_type_of(precision_of(program_, op)), elementwise))
          time.compute = *measured;
        continue;
      }
      const ComputeType type = rates_.type_of(factor_type(program_, op));
      const double all = flops_[i] + elementwise;
      if (const auto measured = measured_seconds(op, type, all)) {
        time.compute = *measured;
      } else if (op.operation == &attend_operation || op.operation == &attend_backward_operation) {
        time.compute = compiled ? rates_.attention(op.operation == &attend_backward_operation, all, type)
                                : rates_.plain_product(flops_[i], type);
      } else if (is_dense_product(op)) {
        const ProductShape shape = shape_of(program_, op, flops_[i]);
        if (first) {
          shapes[i] = shape;
        } else {
          join(shapes[kernels_[i]], shape, op);
        }
      } else {
        time.compute = rates_.plain_product(flops_[i], type);
      }
    }
    time_products(shapes);
    wait_for_launches();
    for (const OpTime& time : timing_.ops) {
      const Stage stage = program_.ops[time.op].stage;
      double& sum = stage == Stage::forward    ? timing_.forward
                    : stage == Stage::backward ? timing_.backward
                                               : timing_.optimizer;
      sum += time.seconds() * static_cast<double>(time.count);
    }
    timing_.assumptions = rates_.assumptions();
    return std::move(timing_);
  }

 private:
  std::optional<double> measured_seconds(const Op& op, ComputeType type, double flops) const {
    return rates_.operation(op.operation->name, type, size_of(program_, op, flops));
  }

  // A kernel's products take their shares of its time by their FLOPs.
  void time_products(const std::vector<ProductShape>& shapes) {
    std::vector<double> whole(shapes.size()), seconds(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) whole[kernels_[i]] += flops_[i];
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (shapes[i].k <= 0) continue;
      const Op& op = program_.ops[i];
      // What a tile does at its end: it writes its result, and reads before that what it is added to.
      const bool sums = op.operation == &project_operation && op.inputs[project_input::residual] != no_tensor;
      const double result_bytes = element_bytes(program_[op.outputs[0]].dtype) * (sums ? 2 : 1);
      seconds[i] = rates_.product(shapes[i], rates_.type_of(factor_type(program_, op)), result_bytes);
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::size_t kernel = kernels_[i];
      if (shapes[kernel].k > 0) timing_.ops[i].compute = seconds[kernel] * flops_[i] / whole[kernel];
    }
  }

  // A processor does one op after another. The host of an accelerator launches ahead of it: the accelerator waits only
  // where the host has no lead. A kernel that takes `busy` and is launched in `launch` changes the lead to
  // max(lead − launch, 0) + busy, and waits max(launch − lead, 0).
  void wait_for_launches() {
    if (!rates_.launches_ahead()) {
      for (std::size_t i = 0; i < timing_.ops.size(); ++i) timing_.ops[i].overhead = launches_[i] * rates_.launch();
      return;
    }
    if (rates_.launch() == 0) return;
    double lead = 0;
    // A step of training follows another without waiting for its end.
    if (program_.workload.phase == Phase::train) lead = run_ahead(lead);
    for (OpTime& time : timing_.ops) time.overhead = 0;
    run_ahead(lead);
    for (OpTime& time : timing_.ops) time.overhead /= static_cast<double>(time.count);
  }

  double run_ahead(double lead) {
    for (std::size_t i = 0; i < program_.ops.size();) {
      const std::int32_t repeat = program_.ops[i].repeat;
      const std::size_t begin = i;
      const auto body = repeat < 0 ? nullptr : &program_.repeats[static_cast<std::size_t>(repeat)];
      const std::size_t end = body == nullptr ? i + 1 : static_cast<std::size_t>(body->last_op);
      double last_waited = -1;
      for (double left = static_cast<double>(program_.count(repeat)); left > 0;) {
        double waited = 0;
        const double before = lead;
        lead = run_once(begin, end, lead, 1, &waited);
        --left;
        // From here on each iteration waits as long: the last one again, so many times.
        if (waited == last_waited && lead >= before && left > 0) {
          run_once(begin, end, before, left, &waited);
          lead += (lead - before) * left;
          left = 0;
        }
        last_waited = waited;
      }
      i = end;
    }
    return lead;
  }

  double run_once(std::size_t begin, std::size_t end, double lead, double times, double* waited) {
    for (std::size_t i = begin; i < end; ++i) {
      OpTime& time = timing_.ops[i];
      const double launch = launches_[i] * rates_.launch();
      const double busy = (time.link > 0 ? time.link : std::max(time.compute, time.memory)) + time.copies;
      const double wait = std::max(0.0, launch - lead);
      time.overhead += wait * times;
      *waited += wait;
      lead = std::max(lead - launch, 0.0) + busy;
    }
    return lead;
  }

  const Program& program_;
  Rates rates_;
  std::vector<std::size_t> kernels_;
  std::vector<double> flops_, launches_;
  Timing timing_;
};

}  // namespace

std::string_view bound_name(Bound bound) {
  static constexpr std::string_view names[] = {"compute", "memory", "link", "launch"};
  return names[static_cast<std::size_t>(bound)];
}

double OpTime::seconds() const { return (link > 0 ? link : std::max(compute, memory)) + copies + overhead; }

Bound OpTime::bound() const {
  const double busy = seconds() - overhead;
  if (overhead > busy) return Bound::launch;
  return link > 0 ? Bound::link : compute >= memory + copies ? Bound::compute : Bound::memory;
}

Span span_of(Group group, const Layout& layout) {
  const std::int64_t inner = layout.tensor * layout.context, replica = inner * layout.data;
  switch (group) {
    case Group::tensor:
      return {layout.tensor, layout.tensor};
    case Group::context:
      return {layout.context, inner};
    case Group::expert:
      return {layout.expert, std::max(inner, std::min(replica, layout.tensor * layout.expert))};
    case Group::data:
      return {layout.data * layout.context, replica};
    case Group::pipeline:
      return {std::min<std::int64_t>(2, layout.pipeline), replica * std::min<std::int64_t>(2, layout.pipeline)};
    case Group::none:
      break;
  }
  return {1, 1};
}

Timing time_program(const Program& lowered, const Hardware& hardware) {
  return hardware.profile.kind == DeviceKind::cpu ? time_on_processor(lowered, hardware)
                                                  : Timer(lowered, hardware).run();
}

}  // namespace reckon
