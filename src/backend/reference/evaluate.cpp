// The table of kernels, and the walk over a program.
#include "backend/reference/evaluate.h"

#include <reckon/error.h>

#include "backend/reference/call.h"
#include "ops/activate.h"
#include "ops/adamw.h"
#include "ops/append.h"
#include "ops/attention.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
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
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/outer_sum.h"
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

#include <algorithm>
#include <string>

namespace reckon {
namespace {

using Kernel = void (*)(const reference::Call&);

Kernel reference_kernel(const Operation& operation) {
  static const std::pair<const Operation*, Kernel> table[] = {
      {&activate_operation, reference::activate},
      {&activate_backward_operation, reference::activate_backward},
      {&adamw_operation, reference::adamw},
      {&squared_norm_operation, reference::squared_norm},
      {&add_operation, reference::add},
      {&append_operation, reference::append},
      {&clip_operation, reference::clip},
      {&clip_backward_operation, reference::clip_backward},
      {&gate_operation, reference::gate},
      {&gate_backward_operation, reference::gate_backward},
      {&scores_operation, reference::scores},
      {&scores_backward_operation, reference::scores_backward},
      {&mix_operation, reference::mix},
      {&spread_operation, reference::spread},
      {&softmax_operation, reference::softmax},
      {&softmax_backward_operation, reference::softmax_backward},
      {&cross_entropy_operation, reference::cross_entropy},
      {&cross_entropy_backward_operation, reference::cross_entropy_backward},
      {&dropout_operation, reference::dropout},
      {&embed_operation, reference::embed},
      {&embed_backward_operation, reference::embed_backward},
      {&head_matmul_operation, reference::head_matmul},
      {&last_operation, reference::last},
      {&matmul_operation, reference::matmul},
      {&route_operation, reference::route},
      {&route_backward_operation, reference::route_backward},
      {&dispatch_operation, reference::dispatch},
      {&dispatch_backward_operation, reference::dispatch_backward},
      {&grouped_matmul_operation, reference::grouped_matmul},
      {&grouped_weight_gradient_operation, reference::grouped_weight_gradient},
      {&grouped_bias_gradient_operation, reference::grouped_bias_gradient},
      {&combine_operation, reference::combine},
      {&combine_backward_operation, reference::combine_backward},
      {&take_operation, reference::take},
      {&open_streams_operation, reference::open_streams},
      {&hyper_weights_operation, reference::hyper_weights},
      {&collapse_operation, reference::collapse},
      {&connect_operation, reference::connect},
      {&entries_operation, reference::entries},
      {&attend_entries_operation, reference::attend_entries},
      {&head_convolution_operation, reference::head_convolution},
      {&delay_operation, reference::delay},
      {&average_heads_operation, reference::average_heads},
      {&scale_heads_operation, reference::scale_heads},
      {&pass_identity_operation, reference::pass_identity},
      {&pass_identity_backward_operation, reference::pass_identity_backward},
      {&choose_keys_operation, reference::choose_keys},
      {&attend_chosen_operation, reference::attend_chosen},
      {&attend_chosen_backward_operation, reference::attend_chosen_backward},
      {&weigh_operation, reference::weigh},
      {&weigh_backward_operation, reference::weigh_backward},
      {&layer_norm_operation, reference::norm},
      {&rms_norm_operation, reference::norm},
      {&layer_norm_backward_operation, reference::norm_backward},
      {&rms_norm_backward_operation, reference::norm_backward},
      {&position_scale_operation, reference::position_scale},
      {&rope_operation, reference::rope},
      {&scale_operation, reference::scale},
      {&softcap_operation, reference::softcap},
      {&softcap_backward_operation, reference::softcap_backward},
      {&split_operation, reference::split},
      {&join_operation, reference::join},
      {&join_backward_operation, reference::join_backward},
      {&sum_rows_operation, reference::sum_rows},
      {&view_operation, reference::view},
      {&block_matmul_operation, reference::block_matmul},
      {&block_weight_gradient_operation, reference::block_weight_gradient},
      {&short_convolution_operation, reference::short_convolution},
      {&short_convolution_backward_operation, reference::short_convolution_backward},
      {&softplus_operation, reference::softplus},
      {&softplus_backward_operation, reference::softplus_backward},
      {&scan_operation, reference::scan},
      {&scan_backward_operation, reference::scan_backward},
      {&delta_rule_operation, reference::delta_rule},
      {&delta_rule_backward_operation, reference::delta_rule_backward},
      {&multiply_operation, reference::multiply},
      {&multiply_backward_operation, reference::multiply_backward},
      {&unstack_operation, reference::unstack},
      {&stack_operation, reference::stack},
      {&predict_operation, reference::predict},
      {&predict_backward_operation, reference::predict_backward},
      {&correct_operation, reference::correct},
      {&correct_backward_operation, reference::correct_backward},
      {&magnitude_operation, reference::magnitude},
      {&magnitude_backward_operation, reference::magnitude_backward},
      {&sparsify_operation, reference::sparsify},
      {&sparsify_backward_operation, reference::sparsify_backward},
      {&difference_operation, reference::difference},
      {&difference_backward_operation, reference::difference_backward},
      {&gather_heads_operation, reference::gather_heads},
      {&scatter_heads_operation, reference::scatter_heads},
      {&outer_sum_operation, reference::outer_sum},
      {&outer_sum_backward_operation, reference::outer_sum_backward},
      {&exponential_operation, reference::exponential},
      {&exponential_backward_operation, reference::exponential_backward},
      {&xielu_operation, reference::xielu},
      {&xielu_backward_operation, reference::xielu_backward},
  };
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const auto& r) { return r.first == &operation; });
  if (found == std::end(table)) throw Error("[" + std::string(operation.name) + "] has no kernel on the reference");
  return found->second;
}

}  // namespace

void evaluate(const Program& program, const ReferenceValues& values, const ReferenceOptions& options) {
  const auto& stages = options.stages;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.repeat >= 0) throw Error("[reference] got a program with repeats, expected an expanded one");
    if (stages.size() > 0 && std::find(stages.begin(), stages.end(), op.stage) == stages.end()) continue;
    if (options.before) options.before(i);
    reference_kernel (*op.operation)({program, op, values, options});
    for (TensorId id : op.outputs) {
      if (id == no_tensor || !options.float32) continue;
      for (double& value : values[static_cast<std::size_t>(id)]) value = static_cast<double>(static_cast<float>(value));
    }
    if (options.after) options.after(i);
  }
}

}  // namespace reckon
