// Walking a program once: which ops make a step, which layers a section.
#include "report/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ops/adamw.h"
#include "ops/elementwise.h"
#include "ops/head_matmul.h"
#include "ops/rope.h"
#include "ops/view.h"
#include "report/notation.h"

namespace reckon {
namespace {

using Detail = StepKey::Detail;

// Steps that are read together, under the role of the first: q, k and v; gate and up.
Role joined(Role role, bool gated) {
  switch (role.part) {
    case Part::key:
    case Part::value:
    case Part::value_before:
      return {role.block, Part::query};
    case Part::key_norm:
    case Part::value_norm:
    case Part::key_scale:
      return {role.block, Part::query_norm};
    case Part::result_scale:
      return {role.block, Part::stream_scale};
    case Part::entry_gate:
    case Part::entry_position:
    case Part::entry_norm:
      return {role.block, Part::entry};
    case Part::hyper_scale:
      return {role.block, Part::hyper};
    case Part::output_down:
      return {role.block, Part::output};
    case Part::laurel_up:
    case Part::laurel_norm:
      return {role.block, Part::laurel_down};
    case Part::router_norm:
    case Part::router_down:
    case Part::router_state:
    case Part::router_first:
    case Part::router_second:
    case Part::expert_scale:
      return {role.block, Part::router};
    case Part::sinks:
      return {role.block, Part::softmax};
    case Part::key_convolution:
    case Part::query_convolution:
    case Part::query_heads_convolution:
    case Part::key_heads_convolution:
      return {role.block, Part::value_convolution};
    case Part::step_norm:
      return {role.block, Part::query_norm};
    case Part::step_down:
    case Part::beta:
      return {role.block, Part::step};
    case Part::decay:
    case Part::skip:
      return {role.block, role.block == Block::attention ? Part::mask : Part::state};
    case Part::gate_down:
      return {role.block, Part::gate};
    case Part::index_query_norm:
    case Part::index_key:
    case Part::index_key_norm:
    case Part::index_weight:
    case Part::index_entry:
    case Part::index_entry_gate:
    case Part::index_entry_position:
    case Part::index_entry_norm:
      return {role.block, Part::index_query};
    case Part::profile:
      return {role.block, Part::relative};
    case Part::norm_gate_down:
      return {role.block, Part::norm_gate};
    case Part::up:
      return gated ? Role{role.block, Part::gate, role.expert} : role;
    default:
      return role;
  }
}

bool is_view(const Op& op) { return op.operation == &view_operation; }

// A view that cuts vectors into heads. (Latent attention does so within the step that makes the vectors.)
bool cuts_heads(const Program& program, const Op& op) {
  const Role role = op.scope.role;
  const bool latent = role.block == Block::attention &&
                      (role.part == Part::kv_down || role.part == Part::query_up || role.part == Part::query);
  if (role.block == Block::layer_input) return false;  // cut into layers
  return is_view(op) && program[op.inputs[0]].shape.rank() == 3 && program[op.outputs[0]].shape.rank() == 4 && !latent;
}

// Whether an op or its gradient works on the one rotated key that latent attention shares between heads.
bool rotates_shared_key(const Program& program, const Op& op) {
  const auto shared = [&](TensorId id) { return program[id].label.piece == Piece::key_rope; };
  return op.operation == &rope_operation && (shared(op.inputs[0]) || shared(op.outputs[0]));
}

StepKey step_key(const Program& program, const Op& op, bool gated) {
  const Role role = op.scope.role;
  if (op.stage == Stage::optimizer) {
    return {{}, op.operation == &adamw_operation ? Detail::adamw : Detail::squared_norm};
  }
  const std::int32_t nth = op.scope.nth;
  if (op.stage == Stage::forward && cuts_heads(program, op)) return {{role.block}, Detail::heads, nth};
  if (op.operation == &head_matmul_operation && !op.attributes<HeadMatmulAttributes>().into_latent) {
    return {role, Detail::values, nth};
  }
  if (rotates_shared_key(program, op)) return {role, Detail::key, nth};
  if (op.stage == Stage::forward && op.operation == &add_operation && role.part == Part::combine &&
      role.block == Block::feed_forward && program[op.inputs[1]].kind != TensorKind::parameter) {
    return {{role.block, Part::whole, Expert::shared}, Detail::sum, nth};
  }
  return {joined(role, gated), Detail::whole, nth};
}

ExplainedStep& step_at(Section& section, const StepKey& key) {
  const auto found =
      std::find_if(section.steps.begin(), section.steps.end(), [&](const ExplainedStep& s) { return s.key == key; });
  if (found != section.steps.end()) return *found;
  const StepText& text = step_text(key);
  ExplainedStep step;
  step.key = key;
  step.name = key.nth == 0 ? std::string(text.name) : fmt::format("{} ({})", text.name, key.nth + 1);
  step.text = text.why;
  section.steps.push_back(std::move(step));
  return section.steps.back();
}

template <class T>
void add_once(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

class Walk {
 public:
  explicit Walk(const Program& program)
      : program_(program),
        notation_(program),
        kinds_(layer_kinds(program, Stage::forward)),
        backward_kinds_(layer_kinds(program, Stage::backward)) {
    first_op_.assign(kinds_.size(), nullptr);
    for (const Op& op : program.ops) {
      if (op.scope.layer >= 0) {
        const Op*& first = first_op_[static_cast<std::size_t>(op.scope.layer)];
        if (first == nullptr) first = &op;
      }
      if (op.scope.role.part == Part::gate) gated_.insert({op.scope.layer, op.scope.nth, op.scope.role.expert});
    }
  }

  std::vector<Section> run() {
    begin_with_tokens();
    std::set<TensorId> read;
    for (const Op& op : program_.ops) {
      if (op.stage == Stage::optimizer) continue;
      if (repeats_another(op.stage, op.scope.layer)) continue;
      if (op.stage == Stage::forward && is_view(op) && !cuts_heads(program_, op)) continue;
      Section& section = section_of(op.stage, op.scope.layer);
      ExplainedStep& step = step_at(section, step_key(program_, op, gated(op.scope)));
      add_cost(step, op, {});
      if (op.stage != Stage::forward) continue;
      add_op(step, op);
      for (TensorId id : op.inputs) {
        if (id == no_tensor || program_[id].kind != TensorKind::parameter || !read.insert(id).second) continue;
        step.parameters += Formula(program_[id].shape.product());
      }
    }
    add_unread_parameters(read);
    add_optimizer();
    return std::move(sections_);
  }

 private:
  bool gated(Scope scope) const { return gated_.count({scope.layer, scope.nth, scope.role.expert}) > 0; }

  // Whether an earlier layer of the same kind stands for this one.
  bool repeats_another(Stage stage, std::int32_t layer) const {
    if (layer < 0) return false;
    const auto at = kinds(stage).begin() + layer;
    return std::find(kinds(stage).begin(), at, *at) != at;
  }

  const std::vector<std::int32_t>& kinds(Stage stage) const {
    return stage == Stage::forward ? kinds_ : backward_kinds_;
  }

  void begin_with_tokens() {
    for (const Tensor& tensor : program_.tensors) {
      if (tensor.kind != TensorKind::input || tensor.scope.role.block != Block::input) continue;
      ExplainedStep& step = step_at(section_of(Stage::forward, -1), {{Block::input}});
      const auto id = static_cast<TensorId>(&tensor - program_.tensors.data());
      step.operands.push_back(operand(id));
    }
  }

  // Outside the stack, what comes before it and what comes after it are sections of their own.
  Section& section_of(Stage stage, std::int32_t layer) {
    if (layer < 0) {
      if (sections_.empty() || sections_.back().stage != stage || sections_.back().in_stack()) {
        sections_.push_back({stage, {}, {}});
      }
      return sections_.back();
    }
    const std::vector<std::int32_t>& kinds = this->kinds(stage);
    const std::int32_t kind = kinds[static_cast<std::size_t>(layer)];
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) {
      return s.stage == stage && s.in_stack() && kinds[static_cast<std::size_t>(s.layers[0])] == kind;
    });
    if (found != sections_.end()) return *found;
    Section section{stage, {}, {}};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == kind) section.layers.push_back(static_cast<std::int32_t>(i));
    }
    sections_.push_back(std::move(section));
    return sections_.back();
  }

  void add_cost(ExplainedStep& step, const Op& op, Dim count) const {
    Cost cost = op.operation->cost(program_, op);
    step.matmul += cost.matmul *= count;
    step.elementwise += cost.elementwise *= count;
    add_once(step.operations, op.operation->name);
  }

  Operand operand(TensorId id) const {
    const Tensor& tensor = program_[id];
    Shape shape = tensor.shape;
    // A row of the rotary table for each token, those in the cache too.
    if (tensor.label.piece == Piece::table && shape[0].symbol == Symbol::none)
      shape = {Dim(shape[0].size, Symbol::keys), shape[1]};
    return {notation_.letter(id), notation_.symbols(shape), notation_.numbers(shape)};
  }

  // In a parallel block the feed-forward reads what attention reads, or shares its norm.
  bool beside_attention(const Op& op) const {
    if (op.scope.layer < 0 || op.scope.role.block != Block::feed_forward) return false;
    const Scope made = program_[op.inputs[0]].scope;
    const Op& first = *first_op_[static_cast<std::size_t>(op.scope.layer)];
    return (first.scope.role.block == Block::attention && op.inputs[0] == first.inputs[0]) ||
           made == Scope{{Block::attention, Part::norm}, op.scope.layer};
  }

  static void add_remark(ExplainedStep& step, const std::string& remark) {
    if (!remark.empty() && step.text.find(remark) == std::string::npos) step.text += " " + remark;
  }

  void add_op(ExplainedStep& step, const Op& op) const {
    if (const std::string formula = notation_.formula(op); !formula.empty()) add_once(step.formulas, formula);
    add_remark(step, notation_.remark(op));
    if (beside_attention(op)) {
      add_remark(step,
                 "It reads what entered the block, not the sum above: attention and feed-forward stand side by side.");
    }
    if (is_view(op)) {
      const Operand before = operand(op.inputs[0]), after = operand(op.outputs[0]);
      return add_once(step.operands,
                      {before.letter, before.symbols + " → " + after.symbols, before.numbers + " → " + after.numbers});
    }
    for (const TensorIds* ids : {&op.inputs, &op.outputs}) {
      for (TensorId id : *ids) {
        if (id != no_tensor && !notation_.letter(id).empty()) add_once(step.operands, operand(id));
      }
    }
  }

  // Some parameters are stored though this phase does not read them: the head when no logits are asked for.
  void add_unread_parameters(const std::set<TensorId>& read) {
    for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
      const Tensor& tensor = program_.tensors[i];
      const auto id = static_cast<TensorId>(i);
      if (tensor.kind != TensorKind::parameter || read.count(id) > 0) continue;
      if (repeats_another(Stage::forward, tensor.scope.layer)) continue;
      const Role role = joined(tensor.scope.role, gated(tensor.scope));
      ExplainedStep& step =
          step_at(forward_section(tensor.scope.layer), {role, StepKey::Detail::whole, tensor.scope.nth});
      step.parameters += Formula(tensor.shape.product());
      add_once(step.operands, operand(id));
      add_remark(step, "Its parameters are stored, though this workload does not use them all.");
    }
  }

  // Where the unread belong: in their layer, or after the stack.
  Section& forward_section(std::int32_t layer) {
    if (layer >= 0) return section_of(Stage::forward, layer);
    const auto last =
        std::find_if(sections_.rbegin(), sections_.rend(), [](const Section& s) { return s.stage == Stage::forward; });
    if (!last->in_stack()) return *last;
    return *sections_.insert(last.base(), Section{Stage::forward, {}, {}});
  }

  void add_optimizer() {
    Section section{Stage::optimizer, {}, {}};
    for (const Op& op : program_.ops) {
      if (op.stage != Stage::optimizer || is_view(op)) continue;
      add_cost(step_at(section, step_key(program_, op, false)), op, program_.count_dim(op.repeat));
    }
    if (!section.steps.empty()) sections_.push_back(std::move(section));
  }

  const Program& program_;
  Notation notation_;
  std::vector<std::int32_t> kinds_, backward_kinds_;
  std::vector<const Op*> first_op_;                                 // by layer
  std::set<std::tuple<std::int32_t, std::int32_t, Expert>> gated_;  // the feed-forwards with a gate
  std::vector<Section> sections_;
};

// Whether two ops compute the same on the same shapes, at the same place of their layers, with weights of their own
// layer or with another's.
bool alike(const Program& program, const Op& a, const Op& b) {
  const auto of_another_layer = [&](const Op& op, TensorId id) {
    return program[id].kind == TensorKind::parameter && program[id].scope.layer != op.scope.layer;
  };
  const auto same_shapes = [&](const TensorIds& x, const TensorIds& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](TensorId i, TensorId j) {
      if (i == no_tensor || j == no_tensor) return i == j;
      if (of_another_layer(a, i) != of_another_layer(b, j)) return false;
      return program[i].shape.same_sizes(program[j].shape);
    });
  };
  return a.operation == b.operation && a.scope.role == b.scope.role && a.scope.nth == b.scope.nth &&
         a.same_attributes(b) && same_shapes(a.inputs, b.inputs) && same_shapes(a.outputs, b.outputs);
}

}  // namespace

std::vector<std::int32_t> layer_kinds(const Program& program, Stage last) {
  const auto layers = static_cast<std::size_t>(program.layers);
  std::vector<std::vector<const Op*>> ops(layers);
  std::vector<std::size_t> written(layers);  // the layer that holds the ops of this one
  for (std::size_t i = 0; i < layers; ++i) written[i] = i;
  for (const Op& op : program.ops) {
    if (op.stage > last || op.scope.layer < 0) continue;
    const auto layer = static_cast<std::size_t>(op.scope.layer);
    ops[layer].push_back(&op);
    if (op.repeat < 0) continue;
    const Repeat& body = program.repeats[static_cast<std::size_t>(op.repeat)];
    for (std::int64_t k = 1; k < body.count; ++k) {
      written[layer + static_cast<std::size_t>(k * body.layers)] = layer;
    }
  }
  std::vector<std::size_t> first;  // of each kind, the layer that was found first
  std::vector<std::int32_t> kinds;
  for (std::size_t i = 0; i < layers; ++i) {
    if (written[i] != i) {
      kinds.push_back(kinds[written[i]]);
      continue;
    }
    const auto found = std::find_if(first.begin(), first.end(), [&](std::size_t other) {
      return std::equal(ops[i].begin(), ops[i].end(), ops[other].begin(), ops[other].end(),
                        [&](const Op* a, const Op* b) { return alike(program, *a, *b); });
    });
    kinds.push_back(static_cast<std::int32_t>(found - first.begin()));
    if (found == first.end()) first.push_back(i);
  }
  return kinds;
}

Count total(const Section& section, Quantity quantity) {
  Count sum;
  for (const ExplainedStep& step : section.steps) {
    const Formula& formula = quantity == Quantity::parameters ? step.parameters
                             : quantity == Quantity::matmul   ? step.matmul
                                                              : step.elementwise;
    sum += formula.value() * section.count();
  }
  return sum;
}

std::vector<Section> steps_of(const Program& program) { return Walk(program).run(); }

}  // namespace reckon
