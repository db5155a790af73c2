#include "ops/difference.h"
#include "ops/exponential.h"
#include "ops/outer_sum.h"
#include "ops/routed_heads.h"
#include "ops/sparsify.h"
#include "ops/stack.h"
#include "ops/streams.h"
#include "ops/table.h"

#include "ops/activate.h"
#include "ops/adamw.h"
#include "ops/append.h"
#include "ops/attend.h"
#include "ops/attention.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/collectives.h"
#include "ops/convolved_heads.h"
#include "ops/entries.h"
#include "ops/hyper.h"
#include "ops/cross_entropy.h"
#include "ops/delta_rule.h"
#include "ops/elementwise.h"
#include "ops/dequantise.h"
#include "ops/embed.h"
#include "ops/gate.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/optimizers.h"
#include "ops/position_scale.h"
#include "ops/project.h"
#include "ops/quantise.h"
#include "ops/rope.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/view.h"
#include "ops/xielu.h"

namespace reckon {

const std::vector<const Operation*>& all_operations() {
  static const std::vector<const Operation*> all = {
      &activate_operation,
      &activate_backward_operation,
      &adamw_operation,
      &sgd_operation,
      &adafactor_operation,
      &muon_operation,
      &newton_schulz_operation,
      &muon_step_operation,
      &adam8bit_operation,
      &squared_norm_operation,
      &add_operation,
      &all_reduce_operation,
      &all_gather_operation,
      &reduce_scatter_operation,
      &all_to_all_operation,
      &send_operation,
      &receive_operation,
      &copy_to_group_operation,
      &own_part_operation,
      &keep_alike_operation,
      &all_reduce_start_operation,
      &all_reduce_wait_operation,
      &append_operation,
      &scores_operation,
      &scores_backward_operation,
      &mix_operation,
      &spread_operation,
      &cross_entropy_operation,
      &cross_entropy_backward_operation,
      &dequantise_operation,
      &quantise_operation,
      &dropout_operation,
      &narrow_operation,
      &widen_operation,
      &embed_operation,
      &embed_backward_operation,
      &head_matmul_operation,
      &last_operation,
      &matmul_operation,
      &route_operation,
      &route_backward_operation,
      &dispatch_operation,
      &dispatch_backward_operation,
      &grouped_matmul_operation,
      &grouped_weight_gradient_operation,
      &grouped_bias_gradient_operation,
      &combine_operation,
      &combine_backward_operation,
      &take_operation,
      &open_streams_operation,
      &hyper_weights_operation,
      &collapse_operation,
      &connect_operation,
      &entries_operation,
      &attend_entries_operation,
      &head_convolution_operation,
      &delay_operation,
      &average_heads_operation,
      &scale_heads_operation,
      &pass_identity_operation,
      &pass_identity_backward_operation,
      &weigh_operation,
      &weigh_backward_operation,
      &clip_operation,
      &clip_backward_operation,
      &gate_operation,
      &gate_backward_operation,
      &xielu_operation,
      &xielu_backward_operation,
      &position_scale_operation,
      &layer_norm_operation,
      &layer_norm_backward_operation,
      &rms_norm_operation,
      &rms_norm_backward_operation,
      &rope_operation,
      &scale_operation,
      &softcap_operation,
      &softcap_backward_operation,
      &softmax_operation,
      &softmax_backward_operation,
      &split_operation,
      &join_operation,
      &join_backward_operation,
      &sum_rows_operation,
      &view_operation,
      &block_matmul_operation,
      &block_weight_gradient_operation,
      &short_convolution_operation,
      &short_convolution_backward_operation,
      &softplus_operation,
      &softplus_backward_operation,
      &scan_operation,
      &scan_backward_operation,
      &delta_rule_operation,
      &delta_rule_backward_operation,
      &multiply_operation,
      &multiply_backward_operation,
      &unstack_operation,
      &stack_operation,
      &predict_operation,
      &predict_backward_operation,
      &correct_operation,
      &correct_backward_operation,
      &magnitude_operation,
      &magnitude_backward_operation,
      &sparsify_operation,
      &sparsify_backward_operation,
      &difference_operation,
      &difference_backward_operation,
      &gather_heads_operation,
      &scatter_heads_operation,
      &outer_sum_operation,
      &outer_sum_backward_operation,
      &exponential_operation,
      &exponential_backward_operation,
      &project_operation,
      &grouped_project_operation,
      &weight_gradient_operation,
      &attend_backward_operation,
      &attend_operation,
      &choose_keys_operation,
      &attend_chosen_operation,
      &attend_chosen_backward_operation,
  };
  return all;
}

}  // namespace reckon
