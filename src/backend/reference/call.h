// What a kernel of the reference is given: its op, and the values of all tensors; and the kernels, each in NAME.cpp,
// where ops/NAME.h has its operation.
#pragma once

#include <reckon/model.h>

#include "backend/reference/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace reckon::reference {

using Values = std::vector<double>;
using In = std::span<const double>;
using Out = std::span<double>;

struct Call {
  const Program& program;
  const Op& op;
  const ReferenceValues& values;
  const ReferenceOptions& options;

  const TrainingStep& step() const { return options.step; }
  bool has(std::size_t input) const { return input < op.inputs.size() && op.inputs[input] != no_tensor; }
  bool wants(std::size_t output) const { return op.outputs[output] != no_tensor; }
  Out held(TensorId id) const { return values[static_cast<std::size_t>(id)]; }
  In in(std::size_t i) const { return held(op.inputs[i]); }
  Out out(std::size_t i) const {  // of zeros
    const Out made = held(op.outputs[i]);
    std::fill(made.begin(), made.end(), 0.0);
    return made;
  }
  // What a loop has just done, as docs/counting.md counts it.
  void count_products(std::size_t multiply_adds) const {
    if (options.measured != nullptr) options.measured->matmul_flops += 2 * static_cast<std::int64_t>(multiply_adds);
  }
  void count(std::size_t operations) const {
    if (options.measured != nullptr) options.measured->elementwise_flops += static_cast<std::int64_t>(operations);
  }
  // Extents; negative dimensions count from the last.
  std::size_t in_size(std::size_t i, int dim) const { return size(op.inputs[i], dim); }
  std::size_t out_size(std::size_t i, int dim) const { return size(op.outputs[i], dim); }
  std::size_t size(TensorId id, int dim) const { return static_cast<std::size_t>(program[id].shape[dim].size); }
};

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// An activation and its derivative at x, and the operations that these take.
struct ActivationPoint {
  double value, slope;
};
ActivationPoint activation_at(Activation kind, double x);
struct ActivationOperations {
  std::size_t value, slope;
};
ActivationOperations activation_operations_at(Activation kind);

void activate(const Call&);
void activate_backward(const Call&);
void adamw(const Call&);
void squared_norm(const Call&);
void add(const Call&);
void append(const Call&);
void clip(const Call&);
void clip_backward(const Call&);
void block_matmul(const Call&);
void block_weight_gradient(const Call&);
void scores(const Call&);
void scores_backward(const Call&);
void mix(const Call&);
void spread(const Call&);
void softmax(const Call&);
void softmax_backward(const Call&);
void cross_entropy(const Call&);
void cross_entropy_backward(const Call&);
void delta_rule(const Call&);
void delta_rule_backward(const Call&);
void dropout(const Call&);
void embed(const Call&);
void embed_backward(const Call&);
void gate(const Call&);
void gate_backward(const Call&);
void head_matmul(const Call&);
void last(const Call&);
void matmul(const Call&);
void route(const Call&);
void route_backward(const Call&);
void dispatch(const Call&);
void dispatch_backward(const Call&);
void grouped_matmul(const Call&);
void grouped_weight_gradient(const Call&);
void grouped_bias_gradient(const Call&);
void combine(const Call&);
void pass_identity(const Call&);
void multiply(const Call&);
void take(const Call&);
void open_streams(const Call&);
void hyper_weights(const Call&);
void collapse(const Call&);
void connect(const Call&);
void entries(const Call&);
void attend_entries(const Call&);
void head_convolution(const Call&);
void delay(const Call&);
void average_heads(const Call&);
void scale_heads(const Call&);
void pass_identity_backward(const Call&);
void choose_keys(const Call&);
void attend_chosen(const Call&);
void attend_chosen_backward(const Call&);
void combine_backward(const Call&);
void weigh(const Call&);
void weigh_backward(const Call&);
void norm(const Call&);
void norm_backward(const Call&);
void position_scale(const Call&);
void rope(const Call&);
void scale(const Call&);
void scan(const Call&);
void scan_backward(const Call&);
void short_convolution(const Call&);
void short_convolution_backward(const Call&);
void softcap(const Call&);
void softcap_backward(const Call&);
void softplus(const Call&);
void softplus_backward(const Call&);
void split(const Call&);
void join(const Call&);
void join_backward(const Call&);
void sum_rows(const Call&);
void view(const Call&);
void xielu(const Call&);
void xielu_backward(const Call&);
void multiply(const Call&);
void multiply_backward(const Call&);
void unstack(const Call&);
void stack(const Call&);
void predict(const Call&);
void predict_backward(const Call&);
void correct(const Call&);
void correct_backward(const Call&);
void magnitude(const Call&);
void magnitude_backward(const Call&);
void sparsify(const Call&);
void sparsify_backward(const Call&);
void difference(const Call&);
void difference_backward(const Call&);
void gather_heads(const Call&);
void scatter_heads(const Call&);
void outer_sum(const Call&);
void outer_sum_backward(const Call&);
void exponential(const Call&);
void exponential_backward(const Call&);

}  // namespace reckon::reference
