#include "time/on_processor.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "files/encoding.h"
#include "lowering/regions.h"
#include "ops/project.h"
#include "time/links.h"
#include "time/op_products.h"
#include "time/rates.h"
#include "time/reuse.h"
#include "time/roofline.h"

namespace reckon {
namespace {

double number(Count count) { return static_cast<double>(count); }

// Products of a region that multiply the same are one that is wider, by the first of them: their tiles are shared out
// together.
std::vector<std::size_t> joined_products(const Program& program, const std::vector<std::int64_t>& regions) {
  std::map<std::tuple<std::int64_t, TensorId, std::int64_t>, std::size_t> joined;
  std::vector<std::size_t> first(program.ops.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Op& op = program.ops[i];
    first[i] = i;
    if (op.operation != &project_operation || op.attributes<ProjectAttributes>().transposed) continue;
    const Placement x = placement(program, op.inputs[project_input::x]);
    first[i] = joined.try_emplace({regions[i], x.root, x.offset}, i).first->second;
  }
  return first;
}

class ProcessorTimer {
 public:
  ProcessorTimer(const Program& program, const Hardware& hardware)
      : program_(program), rates_(hardware), regions_(parallel_regions(program)) {}

  Timing run() {
    const std::size_t size = program_.ops.size();
    timing_.ops.resize(size);
    const std::vector<OpTraffic> traffic = traffic_of(program_);
    std::vector<double> flops(size);
    std::vector<Cost> costs(size);
    for (std::size_t i = 0; i < size; ++i) {
      const Op& op = program_.ops[i];
      OpTime& time = timing_.ops[i];
      time.op = i;
      time.count = program_.count(op.repeat);
      const Cost cost = op.operation->cost(program_, op);
      if (cost.launches == 0) continue;
      if (i == 0 || regions_[i] != regions_[i - 1])
        time.overhead = static_cast<double>(cost.launches) * rates_.launch();
      costs[i] = cost;
      if (cost.group != Group::none) continue;
      time.memory = rates_.memory(traffic[i].read, traffic[i].written);
      const double elementwise = number(cost.elementwise.value());
      flops[i] = number(cost.matmul.value());
      if (flops[i] > 0) time.factors = factors_of(op);
      if (is_dense_product(op)) {
        time.compute = epilogue(op, elementwise);
        continue;
      }
      time.compute = measured(op.operation->name, op, flops[i] + elementwise)
                         .value_or(flops[i] > 0 ? rates_.plain_product(flops[i], rates_.type_of(time.factors)) : 0);
    }
    const std::vector<double> links = link_seconds(program_, costs, rates_);
    for (std::size_t i = 0; i < size; ++i) timing_.ops[i].link = links[i];
    add_products(flops, traffic);
    timing_.add_up(program_);
    timing_.assumptions = rates_.assumptions();
    return std::move(timing_);
  }

 private:
  // Kernels compute in float32 or multiply integers; what they are told apart by is the type of the matrices that they
  // read. Numbers of 8 bits and fewer that lie in no blocks are widened to what they are multiplied with.
  DType factors_of(const Op& op) const {
    if (!is_dense_product(op)) return precision_of(program_, op);
    const DType stored = program_[op.inputs[1]].dtype;
    const bool narrow = encoding_of(stored).bytes < 2 * encoding_of(stored).elements;
    return narrow ? factor_type(program_, op) : stored;
  }

  MatrixType matrix_type_of(const Op& op) {
    const DType stored = program_[op.inputs[1]].dtype;
    return rates_.matrix_type_of(is_quantised(stored) ? stored : factors_of(op));
  }

  std::optional<double> measured(std::string_view name, const Op& op, double work) {
    return rates_.operation(name, compute_type_of(precision_of(program_, op)), size_of(program_, op, work));
  }

  // What is done to the results of a product while they are in the caches, as fast as by the op that does it alone.
  double epilogue(const Op& op, double work) {
    const bool activates = op.operation == &project_operation && op.attributes<ProjectAttributes>().activate;
    return measured(activates ? "activate" : "add", op, work).value_or(0);
  }

  // Those that are joined take their shares by their FLOPs.
  void add_products(const std::vector<double>& flops, const std::vector<OpTraffic>& traffic) {
    const std::vector<std::size_t> first = joined_products(program_, regions_);
    std::map<std::size_t, ProductShape> shapes;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (flops[i] == 0 || !is_dense_product(program_.ops[i])) continue;
      const ProductShape shape = shape_of(program_, program_.ops[i], flops[i]);
      const auto [found, fresh] = shapes.try_emplace(first[i], shape);
      if (!fresh) found->second.n += shape.n;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      const auto found = shapes.find(first[i]);
      if (found == shapes.end() || flops[i] == 0) continue;
      const ProductShape& shape = found->second;
      OpTime& time = timing_.ops[i];
      const MatrixType type = matrix_type_of(program_.ops[i]);
      time.compute += rates_.product(shape, type, 0) * flops[i] / shape.flops();
      wait_for_matrices(time, shape, traffic[i], type);
    }
  }

  // What was measured of products goes before what reading alone would take.
  void wait_for_matrices(OpTime& time, const ProductShape& shape, const OpTraffic& traffic, const MatrixType& type) {
    std::vector<Traffic> others;
    for (const Traffic& one : traffic.read) {
      const std::optional<double> wait = one.parameter ? rates_.wait(shape, type, one) : std::nullopt;
      if (!wait) others.push_back(one);
      time.waits += wait.value_or(0);
    }
    time.memory = rates_.memory(others, traffic.written);
  }

  const Program& program_;
  Rates rates_;
  std::vector<std::int64_t> regions_;
  Timing timing_;
};

}  // namespace

Timing time_on_processor(const Program& lowered, const Hardware& hardware) {
  return ProcessorTimer(lowered, hardware).run();
}

}  // namespace reckon
