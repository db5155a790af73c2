// What the page's modules count and run leave to more and run-more, which the page asks in their place: the rarer
// families and the parts of networks that only they have.
#include "files/lacking.h"
#include "model/families.h"
#include "model/types.h"
#include "network/blocks.h"

namespace reckon {

std::vector<Family> more_mixture_families() { return {}; }
std::vector<Family> gated_families() { return {}; }
std::vector<Family> recurrent_families() { return {}; }
std::vector<Family> wrapped_families() { return {}; }
std::vector<Family> stream_families() { return {}; }
std::vector<Family> routed_families() { return {}; }
std::vector<Family> sparse_families() { return {}; }
std::vector<Family> zamba_families() { return {}; }
std::vector<Family> step_families() { return {}; }
std::vector<Family> inkling_families() { return {}; }
std::vector<Family> zaya_families() { return {}; }
std::vector<Family> deepseek_v4_families() { return {}; }
void refuse_type(const Fields&, const std::string&) { leave(); }
std::string_view why_not_read(std::string_view) { leave(); }

TensorId apply(Network&, const Recurrence&, TensorId) { leave(); }
TensorId add_convolved(Network&, TensorId x, std::int64_t width, Role) {
  if (width != 0) leave();
  return x;
}
TensorId convolve(Network&, TensorId, std::int64_t, bool, Role) { leave(); }
TensorId convolution_state(Network&, std::int64_t, Role) { leave(); }
TensorId stream_weights(Network&, TensorId, Block, bool) { leave(); }
TensorId apply(Network&, const LayerInput&, TensorId) { leave(); }
void make_layer_inputs(Network&, TensorId, TensorId) { leave(); }
TensorId laurel(Network&, const Laurel&, TensorId) { leave(); }
void open_streams(Network&, TensorId) { leave(); }
TensorId predict_streams(Network&) { leave(); }
void correct_streams(Network&, TensorId) { leave(); }
TensorId close_streams(Network&) { leave(); }

}  // namespace reckon
