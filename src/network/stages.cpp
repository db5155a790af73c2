#include "network/stages.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/numbers.h"
#include "model/sublayers.h"
#include "network/forward.h"

#include <algorithm>
#include <string_view>

namespace reckon {
namespace {

[[noreturn]] void refuse(const Model& model, const std::string& sentence) {
  throw UsageError(fmt::format("{}: {}", model.name, sentence));
}

// "64 query heads cannot be shared out over 12 tensor ranks; expected a divisor of 64"
void divide(const Model& model, std::int64_t size, std::string_view what, std::int64_t ranks, std::string_view kind) {
  if (ranks > 0 && size % ranks == 0) return;
  refuse(model, fmt::format("{} {} cannot be shared out over {} {}; expected a divisor of {}", grouped(size), what,
                            grouped(ranks), kind, grouped(size)));
}

void check_numbers(const Layout& layout) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  const auto sensible = [](std::int64_t value, std::string_view what, std::int64_t least, std::int64_t largest) {
    if (value < least || value > largest)
      throw UsageError(fmt::format("a layout with {} of {}; expected {} to {}", what, value, least, largest));
  };
  sensible(layout.tensor, "a tensor size", 1, most);
  sensible(layout.context, "a context size", 1, most);
  sensible(layout.pipeline, "a pipeline", 1, most);
  sensible(layout.virtual_stages, "virtual stages", 1, most);
  sensible(layout.expert, "an expert size", 1, most);
  sensible(layout.data, "a data size", 1, most);
  sensible(layout.micro_batches, "a number of micro-batches", 1, std::int64_t{1} << 40);
  sensible(layout.zero, "a ZeRO stage", 0, 3);
  sensible(layout.stage, "a stage", 0, layout.pipeline - 1);
  if (layout.virtual_stages > 1 && layout.pipeline == 1)
    throw UsageError("virtual stages without a pipeline; expected a pipeline of 2 or more");
}

void check_tensor(const Model& model, std::int64_t tensor) {
  if (tensor == 1) return;
  constexpr std::string_view ranks = "tensor ranks";
  const auto feed_forward = [&](const FeedForward& f, std::string_view what) {
    divide(model, f.d_ff, what, tensor, ranks);
  };
  for_each<Attention>(model.layers.written(), [&](const Attention& a) {
    divide(model, a.n_heads, "query heads", tensor, ranks);
    // Fewer key/value heads than ranks are held by several of them.
    if (!a.latent && tensor % a.n_kv_heads != 0) divide(model, a.n_kv_heads, "key/value heads", tensor, ranks);
  });
  for_each<CrossAttention>(model.layers.written(), [&](const CrossAttention& c) {
    divide(model, c.n_heads, "heads of cross-attention", tensor, ranks);
  });
  for_each<FeedForward>(model.layers.written(),
                        [&](const FeedForward& f) { feed_forward(f, "columns of the feed-forward"); });
  for_each<Mixture>(model.layers.written(), [&](const Mixture& m) {
    feed_forward(m.expert, "columns of an expert");
    if (m.shared) feed_forward(*m.shared, "columns of the shared expert");
  });
}

void check_experts(const Model& model, const Layout& layout) {
  if (layout.expert == 1) return;
  if (find<Mixture>(model) == nullptr)
    refuse(model, fmt::format("it has no experts to be shared out over {} expert ranks; expected 1", layout.expert));
  // Those that every token takes lie in one stack with the others.
  for_each<Mixture>(model.layers.written(), [&](const Mixture& m) {
    const std::string what =
        m.n_always > 0 ? fmt::format("experts, of which every token takes {},", grouped(m.n_always)) : "experts";
    divide(model, m.n_experts, what, layout.expert, "expert ranks");
  });
  if (layout.data * layout.context % layout.expert != 0)
    refuse(model, fmt::format("{} expert ranks are not a part of {} data · {} context ranks; expected as many data "
                              "ranks as make data · context a multiple of {}",
                              layout.expert, layout.data, layout.context, layout.expert));
}

void check_pipeline(const Model& model, const Layout& layout) {
  if (layout.pipeline == 1) return;
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::int64_t pieces = layout.pipeline * layout.virtual_stages;
  if (layers % pieces != 0 && (layers + 2) % pieces != 0)
    refuse(model, fmt::format("{} layers cannot be shared out over {} stages; expected that they or {} (with the "
                              "embedding and the loss in the place of a layer each) divide by it",
                              grouped(layers), grouped(pieces), grouped(layers + 2)));
  for (const Layer& layer : model.layers.written()) {
    bool shares = layer.shares != 0;
    for_each<Sublayer>(layer, [&](const Sublayer& one) {
      shares = shares || one.shares != 0;
      if (one.reads == Sublayer::Reads::embedded)
        refuse(model, "layers that read the embedding once more cannot be on several stages of a pipeline");
    });
    for_each<Attention>(layer, [&](const Attention& a) {
      if (a.indexer && a.indexer->from != 0)
        refuse(model, "layers that share a choice of keys cannot be on several stages of a pipeline");
    });
    if (shares) refuse(model, "layers that share weights cannot be on several stages of a pipeline");
    for_each<Mixture>(layer, [&](const Mixture& m) {
      if (m.router_chained && layout.virtual_stages > 1)
        refuse(model,
               "routers that read what the router before them made cannot be on virtual stages of a pipeline; expected "
               "1 of these");
    });
  }
  if (find<CrossAttention>(model) != nullptr)
    refuse(model, "cross-attention cannot be on several stages of a pipeline: all of them would need the encoder");
  if (model.layer_inputs)
    refuse(model, "what layers read of the tokens is made at once, and cannot be on several stages of a pipeline");
  for_each<Attention>(model.layers.written(), [&](const Attention& a) {
    if (a.kv_from != 0) refuse(model, "layers that share keys and values cannot be on several stages of a pipeline");
  });
}

}  // namespace

std::vector<LayerRange> stage_layers(const Model& model, const Layout& layout) {
  const std::size_t layers = model.layers.size();
  if (layout.pipeline == 1) return {{0, layers}};
  const auto stages = static_cast<std::size_t>(layout.pipeline), stage = static_cast<std::size_t>(layout.stage);
  const auto pieces = stages * static_cast<std::size_t>(layout.virtual_stages);
  const bool even = layers % pieces == 0;
  const std::size_t each = (even ? layers : layers + 2) / pieces;
  std::vector<LayerRange> ranges;
  for (std::size_t piece = stage; piece < pieces; piece += stages) {
    // Places 0 … are the embedding's, the layers' and the loss's, or the layers' alone.
    const std::size_t first = piece * each, last = first + each;
    ranges.push_back(even ? LayerRange{first, last}
                          : LayerRange{std::max<std::size_t>(first, 1) - 1, std::min(last - 1, layers)});
  }
  return ranges;
}

std::int64_t layer_after(const std::vector<LayerRange>& ranges, std::int64_t first, std::int64_t later) {
  for (const LayerRange& range : ranges) {
    const auto begin = static_cast<std::int64_t>(range.first), end = static_cast<std::int64_t>(range.last);
    if (first >= end) continue;
    const std::int64_t from = std::max(first, begin);
    if (from + later < end) return from + later;
    later -= end - from;
  }
  return first + later;
}

void validate_layout(const Model& model, const Layout& layout) {
  if (layout == Layout{}) return;
  check_numbers(layout);
  check_tensor(model, layout.tensor);
  check_experts(model, layout);
  check_pipeline(model, layout);
}

void check_operations(const Model& model, const Layout& layout) {
  const bool shares_out = layout.tensor > 1 || layout.context > 1 || layout.expert > 1;
  // Expert ranks have whole sequences, as data ranks have: each runs the recurrences and the attention of its own.
  const bool divides = layout.tensor > 1 || layout.context > 1;
  const auto refuse_divided = [&](bool some, std::string_view what) {
    if (divides && some)
      refuse(model, fmt::format("{} cannot be shared out over tensor or context ranks; expected 1 of each", what));
  };
  bool conv = false, indexed = false, identity = false;
  refuse_divided(find<Recurrence>(model) != nullptr, "recurrences");
  if (const Mixture* mixture = find<Mixture>(model); layout.expert > 1 && mixture != nullptr && mixture->weigh_inputs)
    refuse(model, "experts whose weights multiply what they read cannot be shared out; expected 1 expert rank");
  if (shares_out && (model.layer_inputs || model.altup))
    refuse(model,
           "what layers read of the tokens cannot be shared out over tensor, context or expert ranks; expected 1");
  for_each<Attention>(model.layers.written(), [&](const Attention& a) {
    refuse_divided(a.convolved.has_value(), "convolutions of heads");
    refuse_divided(a.shared_key.has_value(), "keys that are values too");
    refuse_divided(a.difference.has_value(), "differences of heads");
    refuse_divided(a.dynamic_mask.has_value(), "dynamic masks");
    if (shares_out && a.routed)
      refuse(model, "routed heads cannot be shared out over tensor, context or expert ranks; expected 1 of each");
    indexed = indexed || a.indexer;
    conv = conv || a.conv_width > 0;
  });
  for_each<Sublayer>(model.layers.written(), [&](const Sublayer& one) { conv = conv || one.conv_width > 0; });
  for_each<Mixture>(model.layers.written(), [&](const Mixture& m) {
    if (shares_out && (m.own_norms || m.product_keys))
      refuse(model, "its mixtures cannot be shared out over tensor, context or expert ranks; expected 1 of each");
    identity = identity || m.n_identity + m.n_null > 0;
  });
  refuse_divided(indexed, "attention to chosen keys");
  refuse_divided(conv, "short convolutions");
  if ((layout.tensor > 1 || layout.expert > 1) && identity)
    refuse(model, "identity experts cannot be shared out over tensor or expert ranks; expected 1 of each");
  if (layout.context > 1 && find<CrossAttention>(model) != nullptr)
    refuse(model, "cross-attention cannot be shared out over context ranks");
}

void validate_layout(const Model& model, const Workload& workload) {
  const Layout& layout = workload.layout;
  if (layout == Layout{}) return;
  validate_layout(model, layout);
  if (workload.phase == Phase::train && workload.optimizer == Optimizer::muon && layout.zero > 0)
    refuse(model, fmt::format("the optimizer muon steps whole matrices, of which ZeRO {} leaves a rank parts; expected "
                              "ZeRO 0, or another optimizer",
                              layout.zero));
  const bool cached = workload.phase == Phase::prefill || workload.phase == Phase::decode;
  if (layout.context > 1 && cached)
    refuse(model, fmt::format("context ranks are for phases train and forward, found {}", phase_name(workload.phase)));
  // Each rank has two pieces, one from each end, so that causality leaves all of them as much to do.
  if (layout.context > 1)
    divide(model, workload.tokens, "tokens", 2 * layout.context, "pieces, two for each context rank");
  if (layout.sequence && layout.tensor > 1)
    divide(model, workload.tokens / layout.context, "tokens", layout.tensor,
           "tensor ranks, which sequence parallelism asks for");
}

}  // namespace reckon
