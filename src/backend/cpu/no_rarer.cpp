// The twin of the kernels whose operations only rarer families have, in the page's module run: run-more has them.
#include "backend/cpu/kernels.h"
#include "files/lacking.h"

namespace reckon {

void run_block_matmul(const Launch&) { leave(); }
void run_block_weight_gradient(const Launch&) { leave(); }
void run_choose_keys(const Launch&) { leave(); }
void run_attend_chosen(const Launch&) { leave(); }
void run_attend_chosen_backward(const Launch&) { leave(); }
void run_attend_entries(const Launch&) { leave(); }
void run_head_convolution(const Launch&) { leave(); }
void run_delay(const Launch&) { leave(); }
void run_average_heads(const Launch&) { leave(); }
void run_scale_heads(const Launch&) { leave(); }
void run_delta_rule(const Launch&) { leave(); }
void run_delta_rule_backward(const Launch&) { leave(); }
void run_difference(const Launch&) { leave(); }
void run_difference_backward(const Launch&) { leave(); }
void run_entries(const Launch&) { leave(); }
void run_exponential(const Launch&) { leave(); }
void run_exponential_backward(const Launch&) { leave(); }
void run_gate(const Launch&) { leave(); }
void run_gate_backward(const Launch&) { leave(); }
void run_head_matmul(const Launch&) { leave(); }
void run_open_streams(const Launch&) { leave(); }
void run_hyper_weights(const Launch&) { leave(); }
void run_collapse(const Launch&) { leave(); }
void run_connect(const Launch&) { leave(); }
void run_outer_sum(const Launch&) { leave(); }
void run_outer_sum_backward(const Launch&) { leave(); }
void run_position_scale(const Launch&) { leave(); }
void run_gather_heads(const Launch&) { leave(); }
void run_scatter_heads(const Launch&) { leave(); }
void run_scan(const Launch&) { leave(); }
void run_scan_backward(const Launch&) { leave(); }
void run_short_convolution(const Launch&) { leave(); }
void run_short_convolution_backward(const Launch&) { leave(); }
void run_softplus(const Launch&) { leave(); }
void run_softplus_backward(const Launch&) { leave(); }
void run_sparsify(const Launch&) { leave(); }
void run_sparsify_backward(const Launch&) { leave(); }
void run_stack(const Launch&) { leave(); }
void run_unstack(const Launch&) { leave(); }
void run_predict(const Launch&) { leave(); }
void run_predict_backward(const Launch&) { leave(); }
void run_correct(const Launch&) { leave(); }
void run_correct_backward(const Launch&) { leave(); }
void run_magnitude(const Launch&) { leave(); }
void run_magnitude_backward(const Launch&) { leave(); }
void run_xielu(const Launch&) { leave(); }
void run_xielu_backward(const Launch&) { leave(); }

}  // namespace reckon
