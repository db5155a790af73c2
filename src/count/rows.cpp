// Grouping the ledger: which entries make a row, what it is called, and the formula of their sum.
#include <reckon/ledger.h>

#include "ops/activate.h"
#include "ops/adamw.h"
#include "ops/attention.h"
#include "ops/block_matmul.h"
#include "ops/chosen.h"
#include "ops/cross_entropy.h"
#include "ops/delta_rule.h"
#include "ops/convolved_heads.h"
#include "ops/entries.h"
#include "ops/hyper.h"
#include "ops/difference.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/exponential.h"
#include "ops/gate.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/optimizers.h"
#include "ops/outer_sum.h"
#include "ops/position_scale.h"
#include "ops/rope.h"
#include "ops/scan.h"
#include "ops/short_convolution.h"
#include "ops/softplus.h"
#include "ops/sparsify.h"
#include "ops/streams.h"
#include "ops/view.h"
#include "ops/xielu.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace reckon {
namespace {

struct RowLabel {
  std::string_view name, group;
};

constexpr RowLabel adapters_label{"adapters", "block"};

// What a parameter is part of.
RowLabel parameter_label(Role role, Piece piece) {
  if (piece == Piece::lora_a || piece == Piece::lora_b) return adapters_label;
  const bool around_sublayer =
      role.part == Part::norm || role.part == Part::norm_after || role.part == Part::norm_residual;
  switch (role.block) {
    case Block::embedding:
      return {role.part == Part::token      ? "token embedding"
              : role.part == Part::position ? "position embedding"
              : role.part == Part::project  ? "embedding projection"
                                            : "embedding norm",
              "embedding"};
    case Block::attention:
      return {around_sublayer ? "norms" : "attention", "block"};
    case Block::cross_attention:
      return {around_sublayer ? "norms" : "cross-attention", "block"};
    case Block::recurrence:
      return {around_sublayer ? "norms" : "recurrence", "block"};
    case Block::layer_input:
      return {role.part == Part::token  ? "embedding of layers' inputs"
              : role.part == Part::norm ? "embedding norm"
              : around_sublayer         ? "norms"
                                        : "layers' inputs",
              role.part == Part::token || role.part == Part::norm ? "embedding" : "block"};
    case Block::streams:
      return {"streams", "block"};
    case Block::prediction:
      return {"predictor's input", ""};
    case Block::feed_forward:
      return {around_sublayer ? "norms"
              : role.part == Part::router || role.part == Part::router_norm || role.part == Part::expert_scale
                  ? "router"
              : role.expert == Expert::routed ? "experts"
              : role.expert == Expert::shared ? "shared expert"
                                              : "feed-forward",
              "block"};
    case Block::final_norm:
      return {"final norm", "head"};
    case Block::head:
      return {"head", "head"};
    default:
      return {"other", ""};
  }
}

// Whether a product is one with an adapter: one of its extents is the adapters' rank.
bool is_adapter(const Formula& matmul) {
  const auto by_rank = [](const Term& term) {
    return std::any_of(term.factors.begin(), term.factors.begin() + term.size,
                       [](const Dim& factor) { return factor.symbol == Symbol::lora_rank; });
  };
  return std::any_of(matmul.terms().begin(), matmul.terms().end(), by_rank);
}

// What a product of attention is part of.
std::string_view attention_label(Part part, bool cross) {
  switch (part) {
    case Part::scores:
      return cross ? "cross scores" : "scores";
    case Part::mixing:
      return cross ? "cross mixing" : "mixing";
    case Part::output:
      return cross ? "cross output" : "output";
    case Part::query:
    case Part::key:
    case Part::value:
      return cross ? "cross query, key, value" : "query, key, value";
    case Part::router:
      return "router of the heads";
    case Part::mask:
      return "dynamic mask";
    case Part::laurel_down:
    case Part::laurel_up:
      return "beside attention";
    case Part::relative:
    case Part::profile:
      return "positions by distance";
    case Part::key_convolution:
    case Part::value_convolution:
    case Part::query_convolution:
      return "short convolutions";
    case Part::index_query:
    case Part::index_key:
    case Part::index_weight:
    case Part::choice:
      return "indexer";
    case Part::norm_gate_down:
    case Part::norm_gate:
      return "gates of norms";
    case Part::gate:
      return "output gate";
    default:
      return "latent projections";
  }
}

// What a product of a feed-forward is part of. `gated` says whether the network has gates beside its up-projections.
std::string_view feed_forward_label(Role role, bool gated) {
  if (role.part == Part::router || (role.part >= Part::router_down && role.part <= Part::router_second))
    return "router";
  if (role.part == Part::norm_gate_down || role.part == Part::norm_gate) return "gates of norms";
  if (is_convolution(role)) return "short convolutions";
  if (role.part == Part::project) return "projections of the shared block";
  if (role.part == Part::into_experts || role.part == Part::out_of_experts) return "latent of the experts";
  const bool down = role.part == Part::down;
  switch (role.expert) {
    case Expert::routed:
      return down ? "experts down" : gated ? "experts gate and up" : "experts up";
    case Expert::shared:
      return down ? "shared down" : gated ? "shared gate and up" : "shared up";
    default:
      return down ? "down" : gated ? "gate and up" : "up";
  }
}

// What a product of a recurrence is part of.
std::string_view recurrence_label(Role role) {
  if (is_convolution(role)) return "short convolutions";
  if (role.part == Part::state) return "state";
  return role.part == Part::output ? "recurrence output" : "recurrence input";
}

RowLabel matmul_label(Role role, bool gated) {
  switch (role.block) {
    case Block::embedding:
      return {"embedding projection", "embedding"};
    case Block::attention:
      return {attention_label(role.part, false), "attention"};
    case Block::cross_attention:
      return {attention_label(role.part, true), "cross-attention"};
    case Block::feed_forward:
      return {feed_forward_label(role, gated), "feed-forward"};
    case Block::recurrence:
      return {recurrence_label(role), "recurrence"};
    case Block::layer_input:
      return {"layers' inputs", "layers' inputs"};
    case Block::streams:
      return {"streams", "streams"};
    case Block::head:
      return {"head", "head"};
    default:
      return {"other", ""};
  }
}

// What kind of element-wise work an op does: by its operation, and a sum by where it stands.
std::string_view elementwise_label(const WorkEntry& entry) {
  static const std::pair<std::string_view, std::vector<const Operation*>> table[] = {
      {"norms",
       {&layer_norm_operation, &layer_norm_backward_operation, &rms_norm_operation, &rms_norm_backward_operation}},
      {"rotary positions", {&rope_operation}},
      {"scaling of scores", {&scores_operation, &scores_backward_operation}},
      {"softmax", {&softmax_operation, &softmax_backward_operation}},
      {"activation", {&activate_operation, &activate_backward_operation, &xielu_operation, &xielu_backward_operation}},
      {"gates", {&gate_operation, &gate_backward_operation}},
      {"sparsity", {&sparsify_operation, &sparsify_backward_operation}},
      {"dynamic masks", {&exponential_operation, &exponential_backward_operation}},
      {"differences of heads", {&difference_operation, &difference_backward_operation}},
      {"streams",
       {&predict_operation, &predict_backward_operation, &correct_operation, &correct_backward_operation,
        &magnitude_operation, &magnitude_backward_operation, &open_streams_operation, &hyper_weights_operation,
        &collapse_operation, &connect_operation}},
      {"biases",
       {&matmul_operation, &block_matmul_operation, &grouped_matmul_operation, &grouped_bias_gradient_operation,
        &sum_rows_operation}},
      {"routing",
       {&route_operation, &route_backward_operation, &dispatch_operation, &dispatch_backward_operation,
        &combine_operation, &combine_backward_operation, &weigh_operation, &weigh_backward_operation,
        &outer_sum_operation, &outer_sum_backward_operation, &pass_identity_operation,
        &pass_identity_backward_operation}},
      {"attention to chosen keys",
       {&choose_keys_operation, &attend_chosen_operation, &attend_chosen_backward_operation, &entries_operation,
        &attend_entries_operation}},
      {"tokens before",
       {&head_convolution_operation, &delay_operation, &average_heads_operation, &scale_heads_operation}},
      {"recurrences",
       {&short_convolution_operation, &short_convolution_backward_operation, &softplus_operation,
        &softplus_backward_operation, &scan_operation, &scan_backward_operation, &delta_rule_operation,
        &delta_rule_backward_operation}},
      {"embedding", {&embed_backward_operation}},
      {"multipliers", {&scale_operation, &position_scale_operation, &multiply_operation, &multiply_backward_operation}},
      {"clipping", {&clip_operation, &clip_backward_operation}},
      {"soft cap of logits", {&softcap_operation, &softcap_backward_operation}},
      {"gradients that meet", {&join_operation, &join_backward_operation}},
      {"loss", {&cross_entropy_operation, &cross_entropy_backward_operation}},
      {"gradient norm", {&squared_norm_operation}},
      {"optimizer",
       {&adamw_operation, &sgd_operation, &adafactor_operation, &muon_operation, &newton_schulz_operation,
        &muon_step_operation, &adam8bit_operation}},
  };
  for (const auto& [name, operations] : table) {
    if (std::find(operations.begin(), operations.end(), entry.operation) != operations.end()) return name;
  }
  if (entry.operation != &add_operation) return entry.op;
  switch (entry.place.role.part) {
    case Part::residual:
    case Part::key_convolution:
    case Part::value_convolution:
    case Part::query_convolution:
    case Part::norm:
      return "residuals";
    case Part::position:
      return "positions";
    case Part::combine:
      return entry.place.role.block == Block::layer_input ? "layers' inputs" : "routing";
    case Part::laurel_norm:
      return "residuals";
    default:
      if (entry.place.role.block == Block::streams) return "streams";
      return entry.stage == Stage::forward ? "adapters" : "gradients that meet";
  }
}

// A row under construction: for each layer it occurs in (or outside of all), the sum of its formulas there.
struct Sum {
  std::string name;
  std::string_view group;
  std::int32_t layer = -1;
  struct Slot {
    Place place;
    Formula formula;
    Count each;
  };
  std::vector<Slot> slots;

  void add(const Place& place, const Formula& formula, Count each) {
    auto slot = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) {
      return s.place.layer == place.layer && s.place.count == place.count;
    });
    if (slot == slots.end()) slot = slots.insert(slots.end(), {place, {}, {}});
    slot->formula += formula;
    slot->each += each;
  }
};

bool is_sum(const std::string& text) {
  return text.find(" + ") != std::string::npos || text.find(" − ") != std::string::npos;
}

// "4·L·d²" for one term, "L·(4·d² + 4·d)" for several.
std::string times(Dim count, const Formula& formula, Dim width, bool symbols) {
  std::string each = symbols ? formula.symbols(width) : formula.numbers(width);
  if (count.size == 1) return each;
  if (!is_sum(each)) {
    Formula scaled = formula;
    scaled *= count;
    return symbols ? scaled.symbols(width) : scaled.numbers(width);
  }
  const Formula factor(1, {count});
  return (symbols ? factor.symbols() : factor.numbers()) + "·(" + each + ")";
}

Row finish(const Sum& sum, const Ledger& ledger) {
  Row row;
  row.name = sum.name;
  row.group = sum.group;
  row.layer = sum.layer;
  row.role = sum.slots.front().place.role;
  // Layers with one and the same formula are one summand.
  struct Summand {
    Formula formula;
    std::string symbols;
    Count each;
    std::int64_t layers;
    bool in_layer;
  };
  std::vector<Summand> summands;
  for (const Sum::Slot& slot : sum.slots) {
    row.value += slot.each * slot.place.count;
    const bool in_layer = slot.place.layer >= 0;
    if (in_layer) row.layers += slot.place.count;
    const std::string symbols = slot.formula.symbols(ledger.width);
    auto same = std::find_if(summands.begin(), summands.end(), [&](const Summand& t) {
      return t.each == slot.each && t.symbols == symbols && t.in_layer == in_layer;
    });
    if (same == summands.end()) {
      summands.push_back({slot.formula, symbols, slot.each, slot.place.count, in_layer});
    } else {
      same->layers += slot.place.count;
    }
  }
  for (const Summand& summand : summands) {
    const bool all = summand.in_layer && summand.layers == ledger.layers;
    const Dim count(summand.layers, all ? Symbol::layers : Symbol::none);
    if (!row.formula.empty()) {
      row.formula += " + ";
      row.numbers += " + ";
    }
    row.formula += times(count, summand.formula, ledger.width, true);
    row.numbers += times(count, summand.formula, ledger.width, false);
  }
  if (summands.size() == 1 && summands[0].in_layer) row.each = summands[0].each;
  return row;
}

std::string tensor_name(const Place& place, std::string_view name) {
  std::string out = full_name(Scope{place.role, place.layer, place.nth});
  if (place.layer >= 0 && place.count > 1) out = "layers.*" + out.substr(out.find('.', sizeof("layers.") - 1));
  if (!name.empty()) out += "." + std::string(name);
  return out;
}

class Grouping {
 public:
  Grouping(const Ledger& ledger, By by) : ledger_(ledger), by_(by) {}

  void add(const Place& place, std::string_view op, std::string_view name, const RowLabel& label,
           const Formula& formula, Count each) {
    if (each == 0) return;
    if (by_ == By::layer && place.layer >= 0) return add_to_layers(place, formula, each);
    Sum& sum = by_ == By::op       ? row(op)
               : by_ == By::tensor ? row(tensor_name(place, name))
                                   : row(label.name, label.group);  // by layer: what stands outside the stack
    sum.add(place, formula, each);
  }

  std::vector<Row> finish() const {
    std::vector<Row> out;
    for (const Sum& sum : sums_) out.push_back(reckon::finish(sum, ledger_));
    return out;
  }

 private:
  void add_to_layers(const Place& place, const Formula& formula, Count each) {
    for (std::int64_t k = 0; k < place.count; ++k) {
      const auto layer = static_cast<std::int32_t>(place.layer + k * place.period);
      row("layer " + std::to_string(layer), "", layer).add({place.role, layer, 1, 1}, formula, each);
    }
  }

  Sum& row(std::string_view name, std::string_view group = "", std::int32_t layer = -1) {
    const auto [found, fresh] = index_.try_emplace(std::string(name), sums_.size());
    if (fresh) sums_.push_back({std::string(name), group, layer, {}});
    return sums_[found->second];
  }

  const Ledger& ledger_;
  By by_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Sum> sums_;
};

// Rows of the stack in the order of its layers, between what comes before and after it.
void sort_layers(std::vector<Row>& rows) {
  const auto in_stack = [](const Row& row) { return row.layer >= 0; };
  const auto first = std::find_if(rows.begin(), rows.end(), in_stack);
  const auto last = std::find_if(rows.rbegin(), rows.rend(), in_stack).base();
  if (first < last) {
    std::stable_sort(first, last, [](const Row& a, const Row& b) { return a.layer < b.layer; });
  }
}

}  // namespace

std::vector<Row> rows(const Ledger& ledger, Quantity quantity, By by) {
  Grouping grouping(ledger, by);
  if (quantity == Quantity::parameters) {
    for (const ParameterEntry& entry : ledger.parameters) {
      grouping.add(entry.place, "parameter", name_of(entry.piece), parameter_label(entry.place.role, entry.piece),
                   entry.elements, entry.each);
    }
  } else {
    const bool gated = std::any_of(ledger.work.begin(), ledger.work.end(),
                                   [](const WorkEntry& entry) { return entry.place.role.part == Part::gate; });
    for (const WorkEntry& entry : ledger.work) {
      const bool matmul = quantity == Quantity::matmul;
      const RowLabel label = !matmul                    ? RowLabel{elementwise_label(entry), ""}
                             : is_adapter(entry.matmul) ? RowLabel{adapters_label.name, "adapters"}
                                                        : matmul_label(entry.place.role, gated);
      grouping.add(entry.place, entry.op, "", label, matmul ? entry.matmul : entry.elementwise,
                   matmul ? entry.each.matmul : entry.each.elementwise);
    }
  }
  std::vector<Row> out = grouping.finish();
  if (by == By::layer) sort_layers(out);
  return out;
}

std::vector<Dim> dimensions(const Ledger& ledger, Quantity quantity) {
  std::vector<Dim> found;
  const auto add = [&](const Formula& formula) {
    for (const Dim& dim : formula.dimensions(ledger.width)) {
      if (std::find(found.begin(), found.end(), dim) == found.end()) found.push_back(dim);
    }
  };
  found.push_back({ledger.layers, Symbol::layers});
  if (quantity == Quantity::parameters) {
    for (const ParameterEntry& entry : ledger.parameters) add(entry.elements);
  } else {
    for (const WorkEntry& entry : ledger.work) add(quantity == Quantity::matmul ? entry.matmul : entry.elementwise);
  }
  std::stable_sort(found.begin(), found.end(), [](const Dim& a, const Dim& b) { return a.symbol < b.symbol; });
  return found;
}

}  // namespace reckon
