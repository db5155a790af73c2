// The kernels, one per operation, each in NAME.cpp (a long backward one in NAME_backward.cpp), where ops/NAME.h has its
// operation. Products, project and weight_gradient, have none: executable.cpp gives them to dense.h.
#pragma once

#include "backend/cpu/launch.h"

namespace reckon {

void run_embed(const Launch&);
void run_add(const Launch&);
void run_scale(const Launch&);
void run_softcap(const Launch&);
void run_clip(const Launch&);
void run_gate(const Launch&);
void run_xielu(const Launch&);
void run_position_scale(const Launch&);
void run_weigh(const Launch&);
void run_norm(const Launch&);
void run_rope(const Launch&);
void run_append(const Launch&);
void run_attend(const Launch&);
void run_last(const Launch&);
void run_join(const Launch&);
void run_head_matmul(const Launch&);
void run_route(const Launch&);
void run_dispatch(const Launch&);
void run_grouped_project(const Launch&);
void run_quantise(const Launch&);
void run_combine(const Launch&);
void run_pass_identity(const Launch&);
void run_open_streams(const Launch&);
void run_hyper_weights(const Launch&);
void run_collapse(const Launch&);
void run_connect(const Launch&);
void run_entries(const Launch&);
void run_attend_entries(const Launch&);
void run_head_convolution(const Launch&);
void run_delay(const Launch&);
void run_average_heads(const Launch&);
void run_scale_heads(const Launch&);
void run_multiply(const Launch&);
void run_take(const Launch&);
void run_pass_identity_backward(const Launch&);
void run_choose_keys(const Launch&);
void run_attend_chosen(const Launch&);
void run_attend_chosen_backward(const Launch&);
void run_block_matmul(const Launch&);
void run_short_convolution(const Launch&);
void run_softplus(const Launch&);
void run_scan(const Launch&);
void run_delta_rule(const Launch&);
void run_multiply(const Launch&);
void run_unstack(const Launch&);
void run_stack(const Launch&);
void run_predict(const Launch&);
void run_correct(const Launch&);
void run_magnitude(const Launch&);
void run_sparsify(const Launch&);
void run_difference(const Launch&);
void run_gather_heads(const Launch&);
void run_scatter_heads(const Launch&);
void run_outer_sum(const Launch&);
void run_exponential(const Launch&);

void run_activate(const Launch&);
void run_activate_backward(const Launch&);
void run_norm_backward(const Launch&);
void run_embed_backward(const Launch&);
void run_dropout(const Launch&);
void run_narrow(const Launch&);
void run_widen(const Launch&);
void run_sum_rows(const Launch&);
void run_softcap_backward(const Launch&);
void run_clip_backward(const Launch&);
void run_gate_backward(const Launch&);
void run_xielu_backward(const Launch&);
void run_weigh_backward(const Launch&);
void run_join_backward(const Launch&);
void run_attend_backward(const Launch&);
void run_cross_entropy(const Launch&);
void run_cross_entropy_backward(const Launch&);
void run_route_backward(const Launch&);
void run_dispatch_backward(const Launch&);
void run_grouped_weight_gradient(const Launch&);
void run_grouped_bias_gradient(const Launch&);
void run_combine_backward(const Launch&);
void run_block_weight_gradient(const Launch&);
void run_short_convolution_backward(const Launch&);
void run_softplus_backward(const Launch&);
void run_scan_backward(const Launch&);
void run_delta_rule_backward(const Launch&);
void run_multiply_backward(const Launch&);
void run_predict_backward(const Launch&);
void run_correct_backward(const Launch&);
void run_magnitude_backward(const Launch&);
void run_sparsify_backward(const Launch&);
void run_difference_backward(const Launch&);
void run_outer_sum_backward(const Launch&);
void run_exponential_backward(const Launch&);
void run_squared_norm(const Launch&);
void run_adamw(const Launch&);
void run_all_reduce_start(const Launch&);
void run_all_reduce_wait(const Launch&);

// An op's attributes and extra operands as the epilogue of its products.
Epilogue epilogue_of(const Op& op, std::span<const View> inputs);

}  // namespace reckon
