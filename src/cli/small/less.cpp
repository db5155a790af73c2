// What the page's first module leaves to the second, which the page asks wherever the first one fails: the rarer
// families and what only they have, and files of tensors.
#include <reckon/error.h>

#include "files/safetensors.h"
#include "model/families.h"
#include "model/file_report.h"
#include "network/blocks.h"

namespace reckon {
namespace {

[[noreturn]] void leave() { throw Error("the second module has this"); }

}  // namespace

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

TensorFile read_safetensors(const std::filesystem::path&) { leave(); }
FileReport inspect_file(const Model&, const TensorFile&) { leave(); }

}  // namespace reckon
