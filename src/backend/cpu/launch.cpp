// Rows of strided tensors, and the table of kernels.
#include "backend/cpu/launch.h"

#include <reckon/error.h>

#include "backend/cpu/kernels.h"
#include "ops/activate.h"
#include "ops/adamw.h"
#include "ops/append.h"
#include "ops/attend.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/collectives.h"
#include "ops/convolved_heads.h"
#include "ops/entries.h"
#include "ops/hyper.h"
#include "ops/cross_entropy.h"
#include "ops/delta_rule.h"
#include "ops/difference.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/exponential.h"
#include "ops/gate.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/outer_sum.h"
#include "ops/project.h"
#include "ops/quantise.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/routed_heads.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/sparsify.h"
#include "ops/stack.h"
#include "ops/streams.h"
#include "ops/view.h"
#include "ops/xielu.h"

#include <utility>

namespace reckon {

const float* View::values() const { return parameter != nullptr ? parameter->values.data() : floats(); }

std::int64_t View::rows() const {
  std::int64_t count = 1;
  for (int i = 0; i + 1 < rank; ++i) count *= size[i];
  return count;
}

float* View::row(std::int64_t index) const {
  if (pages != nullptr) {
    return position(index / (size[1] * size[2]), index / size[2] % size[1]) + index % size[2] * stride[2];
  }
  // Rows that lie at even distances, as they mostly do, need no divisions.
  int i = rank - 2;
  while (i > 0 && stride[i - 1] == stride[i] * size[i]) --i;
  if (i <= 0) return floats() + (rank > 1 ? index * stride[rank - 2] : 0);
  std::int64_t offset = 0;
  for (i = rank - 2; i >= 0; --i) {
    offset += index % size[i] * stride[i];
    index /= size[i];
  }
  return floats() + offset;
}

Kernel cpu_kernel(const Operation& operation) {
  static const std::pair<const Operation*, Kernel> table[] = {
      {&embed_operation, run_embed},
      {&add_operation, run_add},
      {&scale_operation, run_scale},
      {&softcap_operation, run_softcap},
      {&clip_operation, run_clip},
      {&clip_backward_operation, run_clip_backward},
      {&gate_operation, run_gate},
      {&gate_backward_operation, run_gate_backward},
      {&xielu_operation, run_xielu},
      {&xielu_backward_operation, run_xielu_backward},
      {&position_scale_operation, run_position_scale},
      {&take_operation, run_take},
      {&pass_identity_operation, run_pass_identity},
      {&open_streams_operation, run_open_streams},
      {&hyper_weights_operation, run_hyper_weights},
      {&collapse_operation, run_collapse},
      {&connect_operation, run_connect},
      {&entries_operation, run_entries},
      {&attend_entries_operation, run_attend_entries},
      {&head_convolution_operation, run_head_convolution},
      {&delay_operation, run_delay},
      {&average_heads_operation, run_average_heads},
      {&scale_heads_operation, run_scale_heads},
      {&pass_identity_backward_operation, run_pass_identity_backward},
      {&choose_keys_operation, run_choose_keys},
      {&attend_chosen_operation, run_attend_chosen},
      {&attend_chosen_backward_operation, run_attend_chosen_backward},
      {&weigh_operation, run_weigh},
      {&weigh_backward_operation, run_weigh_backward},
      {&layer_norm_operation, run_norm},
      {&rms_norm_operation, run_norm},
      {&rope_operation, run_rope},
      {&append_operation, run_append},
      {&attend_operation, run_attend},
      {&last_operation, run_last},
      {&join_operation, run_join},
      {&head_matmul_operation, run_head_matmul},
      {&route_operation, run_route},
      {&dispatch_operation, run_dispatch},
      {&grouped_project_operation, run_grouped_project},
      {&combine_operation, run_combine},
      {&quantise_operation, run_quantise},
      {&block_matmul_operation, run_block_matmul},
      {&block_weight_gradient_operation, run_block_weight_gradient},
      {&short_convolution_operation, run_short_convolution},
      {&softplus_operation, run_softplus},
      {&scan_operation, run_scan},
      {&delta_rule_operation, run_delta_rule},
      {&activate_operation, run_activate},
      {&activate_backward_operation, run_activate_backward},
      {&layer_norm_backward_operation, run_norm_backward},
      {&rms_norm_backward_operation, run_norm_backward},
      {&embed_backward_operation, run_embed_backward},
      {&dropout_operation, run_dropout},
      {&narrow_operation, run_narrow},
      {&widen_operation, run_widen},
      {&sum_rows_operation, run_sum_rows},
      {&softcap_backward_operation, run_softcap_backward},
      {&join_backward_operation, run_join_backward},
      {&attend_backward_operation, run_attend_backward},
      {&cross_entropy_operation, run_cross_entropy},
      {&cross_entropy_backward_operation, run_cross_entropy_backward},
      {&route_backward_operation, run_route_backward},
      {&dispatch_backward_operation, run_dispatch_backward},
      {&grouped_weight_gradient_operation, run_grouped_weight_gradient},
      {&grouped_bias_gradient_operation, run_grouped_bias_gradient},
      {&combine_backward_operation, run_combine_backward},
      {&short_convolution_backward_operation, run_short_convolution_backward},
      {&softplus_backward_operation, run_softplus_backward},
      {&scan_backward_operation, run_scan_backward},
      {&delta_rule_backward_operation, run_delta_rule_backward},
      {&multiply_operation, run_multiply},
      {&multiply_backward_operation, run_multiply_backward},
      {&unstack_operation, run_unstack},
      {&stack_operation, run_stack},
      {&predict_operation, run_predict},
      {&predict_backward_operation, run_predict_backward},
      {&correct_operation, run_correct},
      {&correct_backward_operation, run_correct_backward},
      {&magnitude_operation, run_magnitude},
      {&magnitude_backward_operation, run_magnitude_backward},
      {&sparsify_operation, run_sparsify},
      {&sparsify_backward_operation, run_sparsify_backward},
      {&difference_operation, run_difference},
      {&difference_backward_operation, run_difference_backward},
      {&gather_heads_operation, run_gather_heads},
      {&scatter_heads_operation, run_scatter_heads},
      {&outer_sum_operation, run_outer_sum},
      {&outer_sum_backward_operation, run_outer_sum_backward},
      {&exponential_operation, run_exponential},
      {&exponential_backward_operation, run_exponential_backward},
      {&squared_norm_operation, run_squared_norm},
      {&adamw_operation, run_adamw},
      {&all_reduce_start_operation, run_all_reduce_start},
      {&all_reduce_wait_operation, run_all_reduce_wait},
  };
  for (const auto& [candidate, kernel] : table) {
    if (candidate == &operation) return kernel;
  }
  throw Error("[" + std::string(operation.name) + "] has no kernel on the CPU");
}

}  // namespace reckon
