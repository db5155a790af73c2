// What run alone leaves to run-more: presets that are too large to train there, families with latents, parts of
// attention, where the tensors of rarer families are, and the operations that only these have. Tables still name the
// operations; what would emit one leaves. The twin of their kernels is backend/cpu/no_rarer.cpp.
#include "files/lacking.h"
#include "model/families.h"
#include "model/presets.h"
#include "model/stored_writer.h"
#include "network/attention.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/convolved_heads.h"
#include "ops/delta_rule.h"
#include "ops/difference.h"
#include "ops/entries.h"
#include "ops/exponential.h"
#include "ops/gate.h"
#include "ops/head_matmul.h"
#include "ops/hyper.h"
#include "ops/outer_sum.h"
#include "ops/position_scale.h"
#include "ops/routed_heads.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/sparsify.h"
#include "ops/stack.h"
#include "ops/streams.h"
#include "ops/xielu.h"

namespace reckon {

void refuse_preset(const std::string&) { leave(); }

std::vector<Family> latent_families() { return {}; }

namespace attending {

TensorId subtract_heads(Network&, const Attention&, TensorId) { leave(); }
TensorId shifts_of(Network&, const Attention&, const Widths&, TensorId) { leave(); }
TensorId routed_queries(Network&, const Attention&, const Widths&, TensorId, Routing&) { leave(); }
TensorId routed_output(Network&, const Attention&, const Routing&, TensorId) { leave(); }
TensorId choose(Network&, const Attention&, TensorId, TensorId) { leave(); }
TensorId attend_to(Network&, const Attention&, TensorId, TensorId, TensorId, TensorId) { leave(); }
TensorId latent_attention(Network&, const Attention&, TensorId) { leave(); }
TensorId by_distance(Network&, const Attention&, TensorId) { leave(); }
TensorId shared_key_attention(Network&, const Attention&, TensorId) { leave(); }
TensorId convolve_heads(Network&, const ConvolvedHeads&, TensorId, Dim, Dim, Part, Part) { leave(); }
TensorId half_before(Network&, const Attention&, const Widths&, TensorId) { leave(); }

}  // namespace attending

namespace stored {

void Writer::adapters(const Sublayer&, std::int64_t) { leave(); }
void Writer::layer_inputs(const LayerInputs&) { leave(); }
void Writer::add_kind(const LayerInput&) { leave(); }
void Writer::stream_projections(const AltUp&) { leave(); }
void Writer::streams(const AltUp&) { leave(); }
void Writer::laurel(const Laurel&) { leave(); }
void Writer::hyper(Block, const std::string&, std::int64_t, std::int64_t) { leave(); }
void Writer::shared_key_attention(const Attention&) { leave(); }
void Writer::convolved(const Attention&) { leave(); }
void Writer::affine(Role, const std::string&, const std::string&) { leave(); }
void Writer::router(const Mixture&) { leave(); }
void Writer::indexer(const Attention&) { leave(); }
void Writer::latent_attention(const Attention&) { leave(); }
void Writer::pairs(const Share&, std::int64_t, const std::string&) { leave(); }
void Writer::difference_vectors(const Attention&) { leave(); }
void Writer::routed_attention(const Attention&) { leave(); }
void Writer::add_kind(const Recurrence&) { leave(); }
void Writer::xielu(Role) { leave(); }
void Writer::own_norms(const Mixture&) { leave(); }
void Writer::add_always(const Mixture&, std::size_t) { leave(); }

}  // namespace stored

const OperationOf<BlockMatmulAttributes> block_matmul_operation{};
const OperationOf<> block_weight_gradient_operation{};
const OperationOf<ChooseAttributes> choose_keys_operation{};
const OperationOf<AttendChosenAttributes> attend_chosen_operation{}, attend_chosen_backward_operation{};
const OperationOf<AttendEntriesAttributes> attend_entries_operation{};
const OperationOf<> head_convolution_operation{}, delay_operation{}, average_heads_operation{}, scale_heads_operation{};
const OperationOf<> delta_rule_operation{}, delta_rule_backward_operation{};
const OperationOf<DifferenceAttributes> difference_operation{}, difference_backward_operation{};
const OperationOf<EntriesAttributes> entries_operation{};
const OperationOf<> exponential_operation{}, exponential_backward_operation{};
const OperationOf<GateAttributes> gate_operation{}, gate_backward_operation{};
const OperationOf<HeadMatmulAttributes> head_matmul_operation{};
const OperationOf<> open_streams_operation{}, collapse_operation{}, connect_operation{};
const OperationOf<HyperAttributes> hyper_weights_operation{};
const OperationOf<> outer_sum_operation{}, outer_sum_backward_operation{};
const OperationOf<> position_scale_operation{};
const OperationOf<> gather_heads_operation{}, scatter_heads_operation{};
const OperationOf<ScanAttributes> scan_operation{}, scan_backward_operation{};
const OperationOf<> short_convolution_operation{}, short_convolution_backward_operation{};
const OperationOf<SoftplusAttributes> softplus_operation{}, softplus_backward_operation{};
const OperationOf<SparsifyAttributes> sparsify_operation{}, sparsify_backward_operation{};
const OperationOf<> unstack_operation{}, stack_operation{};
const OperationOf<> predict_operation{}, predict_backward_operation{};
const OperationOf<> magnitude_operation{}, magnitude_backward_operation{};
const OperationOf<CorrectAttributes> correct_operation{}, correct_backward_operation{};
const OperationOf<> xielu_operation{}, xielu_backward_operation{};

// What the parts of networks that are there emit.
std::pair<TensorId, TensorId> average_heads(Builder&, TensorId, TensorId) { leave(); }
TensorId scale_heads(Builder&, TensorId, TensorId, Label) { leave(); }
TensorId gate_rows(Builder&, TensorId, TensorId, Activation, Label) { leave(); }
TensorId open_streams(Builder&, TensorId, std::int64_t, Label) { leave(); }
TensorId collapse(Builder&, TensorId, TensorId, Dim, Label) { leave(); }
TensorId connect(Builder&, TensorId, TensorId, TensorId, Label) { leave(); }
TensorId outer_sum(Builder&, TensorId, Label) { leave(); }
TensorId scale_by_position(Builder&, TensorId, TensorId, Label) { leave(); }
TensorId sparsify(Builder&, TensorId, double, Label) { leave(); }
TensorId xielu(Builder&, TensorId, TensorId, TensorId, Label) { leave(); }

}  // namespace reckon
