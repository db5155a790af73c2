#include "time/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "files/encoding.h"
#include "memory/breakdown.h"
#include "ops/attend.h"
#include "ops/delta_rule.h"
#include "ops/dequantise.h"
#include "ops/mixture.h"
#include "ops/project.h"
#include "ops/scan.h"
#include "time/kernels.h"
#include "time/links.h"
#include "time/on_processor.h"
#include "time/op_products.h"
#include "time/rates.h"

namespace reckon {
namespace {

double value_of(Count count) { return static_cast<double>(count); }

double element_bytes(DType type) {
  return static_cast<double>(encoding_of(type).bytes) / static_cast<double>(encoding_of(type).elements);
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

// Of an accelerator, for which a compiler makes kernels and a host launches them.
class Timer {
 public:
  Timer(const Program& program, const Hardware& hardware) : program_(program), rates_(hardware) {}

  Timing run() {
    const std::size_t size = program_.ops.size();
    std::vector<Cost> costs;
    costs.reserve(size);
    for (const Op& op : program_.ops) costs.push_back(op.operation->cost(program_, op));
    kernels_ = kernels_of(program_, costs);
    const std::vector<KernelBytes> kernel_bytes = bytes_of_kernels(program_, kernels_);
    timing_.ops.resize(size);
    flops_.resize(size);
    launches_.resize(size);
    shapes_.resize(size);
    for (std::size_t i = 0; i < size; ++i) time_op(i, costs[i], kernel_bytes[i]);
    const std::vector<double> links = link_seconds(program_, costs, rates_);
    for (std::size_t i = 0; i < size; ++i) timing_.ops[i].link = links[i];
    time_products();
    wait_for_launches();
    timing_.add_up(program_);
    timing_.assumptions = rates_.assumptions();
    return std::move(timing_);
  }

 private:
  // All but what a dense product computes, whose kernel may have further ones, the launch and links.
  void time_op(std::size_t i, const Cost& cost, const KernelBytes& changed) {
    const Op& op = program_.ops[i];
    OpTime& time = timing_.ops[i];
    time.op = i;
    time.count = program_.count(op.repeat);
    if (cost.launches == 0) return;
    const bool first = kernels_[i] == i;
    // What joins a kernel has its first launch.
    launches_[i] = static_cast<double>(cost.launches) * (launches_of(op) - (first ? 0 : 1));
    if (cost.group != Group::none) return;
    time.memory = rates_.memory(std::max(0.0, value_of(cost.read) + changed.read),
                                std::max(0.0, value_of(cost.written) + changed.written)) +
                  (first ? rates_.start() : 0);
    time.copies = rates_.memory(changed.copied, changed.copied);
    flops_[i] = value_of(cost.matmul.value());
    const double all = flops_[i] + value_of(cost.elementwise.value());
    const bool products = flops_[i] > 0;
    if (products) time.factors = factor_type(program_, op);
    const ComputeType type = products ? rates_.type_of(time.factors) : compute_type_of(precision_of(program_, op));
    if (const auto measured = rates_.operation(op.operation->name, type, size_of(program_, op, all))) {
      time.compute = *measured;
    } else if (products && is_dense_product(op)) {
      const ProductShape shape = shape_of(program_, op, flops_[i]);
      if (first) {
        shapes_[i] = shape;
      } else {
        join(shapes_[kernels_[i]], shape, op);
      }
    } else if (products) {
      const bool backward = op.operation == &attend_backward_operation;
      time.compute = backward || op.operation == &attend_operation ? rates_.attention(backward, all, type)
                                                                   : rates_.plain_product(flops_[i], type);
    }
  }

  // A kernel's products take their shares of its time by their FLOPs.
  void time_products() {
    std::vector<double> whole(shapes_.size()), seconds(shapes_.size());
    for (std::size_t i = 0; i < shapes_.size(); ++i) whole[kernels_[i]] += flops_[i];
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (shapes_[i].k <= 0) continue;
      const Op& op = program_.ops[i];
      // What a tile does at its end: it writes its result, and reads before that what it is added to.
      const bool sums = op.operation == &project_operation && op.inputs[project_input::residual] != no_tensor;
      const double result_bytes = element_bytes(program_[op.outputs[0]].dtype) * (sums ? 2 : 1);
      seconds[i] = rates_.product(shapes_[i], {rates_.type_of(timing_.ops[i].factors)}, result_bytes);
    }
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const std::size_t kernel = kernels_[i];
      if (shapes_[kernel].k > 0) timing_.ops[i].compute = seconds[kernel] * flops_[i] / whole[kernel];
    }
  }

  // The host launches ahead of the device, which waits only where the host has no lead. A kernel that takes `busy` and
  // is launched in `launch` changes the lead to max(lead − launch, 0) + busy, and waits max(launch − lead, 0).
  void wait_for_launches() {
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
  std::vector<ProductShape> shapes_;  // of kernels, at their first op
  Timing timing_;
};

bool is_recurrence(const Op& op) {
  return op.operation == &scan_operation || op.operation == &scan_backward_operation ||
         op.operation == &delta_rule_operation || op.operation == &delta_rule_backward_operation;
}

// What no device is the reason of.
std::set<std::string> assumed_of(const Program& program, const std::vector<OpTime>& times, DeviceKind kind) {
  std::set<std::string> sentences;
  const auto computed_in = [&](DType stored, DType type) {
    sentences.insert(
        fmt::format("weights in {} are multiplied in {}", encoding_of(stored).name, encoding_of(type).name));
  };
  for (const OpTime& time : times) {
    const Op& op = program.ops[time.op];
    // A processor's kernels do so, and were measured.
    if (is_recurrence(op) && kind != DeviceKind::cpu && program.workload.tokens > 1)
      sentences.insert(
          "a recurrence is one kernel that goes through a sequence token by token, and that tokens wait for each other "
          "is not in its time, a lower bound");
    if (op.operation == &dispatch_operation) sentences.insert("tokens choose experts evenly");
    if (op.operation == &dequantise_operation) computed_in(program[op.inputs[0]].dtype, program[op.outputs[0]].dtype);
    if (op.inputs.size() < 2 || op.inputs[1] == no_tensor || program[op.inputs[1]].kind != TensorKind::parameter)
      continue;
    const DType stored = program[op.inputs[1]].dtype, type = time.factors;
    // What blocks are multiplied with is an op of the program.
    if (type != DType::activation8 && element_bytes(stored) < element_bytes(type) &&
        op.operation->cost(program, op).matmul.value() > 0)
      computed_in(stored, type);
  }
  if (const std::string scales = uncounted_scales(program); !scales.empty()) sentences.insert(scales);
  return sentences;
}

}  // namespace

DType factor_type(const Program& program, const Op& op) {
  const DType first = program[op.inputs[0]].dtype;
  if (op.inputs.size() < 2 || op.inputs[1] == no_tensor) return first;
  const DType second = program[op.inputs[1]].dtype;
  return element_bytes(second) > element_bytes(first) ? second : first;
}

std::string_view bound_name(Bound bound) {
  static constexpr std::string_view names[] = {"compute", "memory", "link", "launch", "bubble"};
  return names[static_cast<std::size_t>(bound)];
}

double OpTime::seconds() const { return (link > 0 ? link : std::max(compute, memory)) + copies + waits + overhead; }

Bound OpTime::bound() const {
  const double busy = seconds() - overhead;
  if (overhead > busy) return Bound::launch;
  return link > 0 ? Bound::link : compute >= memory + copies + waits ? Bound::compute : Bound::memory;
}

void Timing::add_up(const Program& program) {
  for (const OpTime& time : ops) {
    const Stage stage = program.ops[time.op].stage;
    double& sum = stage == Stage::forward ? forward : stage == Stage::backward ? backward : optimizer;
    sum += time.seconds() * static_cast<double>(time.count);
  }
}

Timing time_program(const Program& lowered, const Hardware& hardware) {
  Timing timing =
      hardware.profile.kind == DeviceKind::cpu ? time_on_processor(lowered, hardware) : Timer(lowered, hardware).run();
  for (const std::string& sentence : assumed_of(lowered, timing.ops, hardware.profile.kind))
    timing.assumptions.push_back(sentence);
  return timing;
}

}  // namespace reckon
