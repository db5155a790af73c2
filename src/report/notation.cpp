#include "report/notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "files/numbers.h"
#include "ops/activate.h"
#include "ops/append.h"
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

namespace reckon {
namespace {

// The letters of a part: of what its product, norm or table makes, and of its weight ("W_" comes before it). Empty:
// what it makes keeps the letter that it was given; it has no weight, or that of a norm.
struct PartLetters {
  Part part;
  std::string_view makes, weight;
};
constexpr PartLetters part_letters[] = {
    {Part::token, "x", "e"},
    {Part::position, "x_p", "p"},
    {Part::project, "x", "i"},
    {Part::norm, "h", ""},
    {Part::query, "q", "q"},
    {Part::key, "k", "k"},
    {Part::value, "v", "v"},
    {Part::query_up, "q", "uq"},
    {Part::query_down, "c_q", "dq"},
    {Part::kv_down, "c", "dkv"},
    {Part::kv_up, "kv", "ukv"},
    {Part::scores, "a", ""},
    {Part::softmax, "p", ""},
    {Part::mixing, "o", ""},
    {Part::output, "y", "o"},
    {Part::router, "r", "r"},
    {Part::dispatch, "h_e", ""},
    {Part::gate, "g", "g"},
    {Part::up, "u", "u"},
    {Part::activation, "m", ""},
    {Part::down, "y", "d"},
    {Part::combine, "y", ""},
    {Part::state, "o", ""},
    {Part::step, "Δ", "Δ"},
    {Part::step_down, "c", "dΔ"},
    {Part::beta, "β", "β"},
    {Part::gate_down, "c", "dg"},
    {Part::value_convolution, "v", "cv"},
    {Part::key_convolution, "k", "ck"},
    {Part::query_convolution, "q", "cq"},
    {Part::into_experts, "h", "i"},
    {Part::out_of_experts, "y", "j"},
    {Part::difference, "o", "λ"},
    {Part::mask, "δ", "δ"},
    {Part::laurel_down, "c", "L"},
    {Part::laurel_up, "l", "R"},
    {Part::laurel_norm, "l", ""},
    {Part::router_norm, "h_r", ""},
    {Part::predict, "c", "p"},
    {Part::correct, "c", "c"},
    {Part::index_query, "q_i", "iq"},
    {Part::index_key, "k_i", "ik"},
    {Part::index_weight, "w_i", "iw"},
    {Part::choice, "t", ""},
    {Part::norm_gate_down, "c", "dn"},
    {Part::norm_gate, "n", "un"},
    {Part::relative, "r", "r"},
    {Part::profile, "b", "p"},
    {Part::factor, "y", "f"},
    {Part::query_heads_convolution, "q", "hq"},
    {Part::key_heads_convolution, "k", "hk"},
    {Part::value_before, "v_b", "vb"},
    {Part::key_scale, "k", "τ"},
    {Part::entry, "e", "e"},
    {Part::entry_gate, "g_e", "ge"},
    {Part::entry_position, "", "e"},
    {Part::index_entry, "k_i", "ei"},
    {Part::index_entry_gate, "g_i", "gi"},
    {Part::index_entry_position, "", "i"},
    {Part::output_down, "o", "do"},
    {Part::hyper, "w", "w"},
    {Part::hyper_scale, "w", "sw"},
    {Part::table, "", "T"},
    {Part::result_scale, "y", "t"},
    {Part::router_down, "c_r", "dr"},
    {Part::router_state, "c_r", "sr"},
    {Part::router_first, "r_1", "r1"},
    {Part::router_second, "r_2", "r2"},
};

PartLetters letters_of(Role role) {
  if (role.block == Block::head) {
    return role.part == Part::project ? PartLetters{role.part, "h", "j"} : PartLetters{role.part, "z", "h"};
  }
  if (role.block == Block::final_norm) return {role.part, "h", ""};
  if (role.block == Block::loss) return {role.part, "loss", ""};
  if (role.block == Block::embedding && role.part == Part::norm) return {role.part, "", ""};
  const auto found = std::find_if(std::begin(part_letters), std::end(part_letters),
                                  [&](const PartLetters& letters) { return letters.part == role.part; });
  return found == std::end(part_letters) ? PartLetters{role.part, "", ""} : *found;
}

std::string output_letter(Role role) {
  return std::string(letters_of(role).makes) + (role.expert == Expert::routed   ? "_e"
                                                : role.expert == Expert::shared ? "_s"
                                                                                : "");
}

// Tensors that are what they are wherever they stand.
std::string_view letter_of(Piece piece) {
  static constexpr std::pair<Piece, std::string_view> letters[] = {
      {Piece::ids, "ids"},
      {Piece::positions, "positions"},
      {Piece::labels, "labels"},
      {Piece::encoder, "n"},
      {Piece::table, "R"},
      {Piece::sinusoids, "x_p"},
      {Piece::query_nope, "q_n"},
      {Piece::query_rope, "q_r"},
      {Piece::latent, "c"},
      {Piece::latents, "c"},
      {Piece::key_rope, "k_r"},
      {Piece::keys_rope, "k_r"},
      {Piece::keys_nope, "k_n"},
      {Piece::folded_query, "q_c"},
      {Piece::query, "q"},
      {Piece::keys, "k"},
      {Piece::values, "v"},
      {Piece::key_cache, "cache_k"},
      {Piece::value_cache, "cache_v"},
      {Piece::latent_cache, "cache_c"},
      {Piece::mask_cache, "cache_δ"},
      {Piece::state_cache, "S"},
      {Piece::convolution_cache, "cache"},
      {Piece::index_cache, "cache_i"},
      {Piece::index_keys, "k_i"},
  };
  const auto found =
      std::find_if(std::begin(letters), std::end(letters), [&](const auto& one) { return one.first == piece; });
  return found == std::end(letters) ? "" : found->second;
}

bool is(const Op& op, const Operation& operation) { return op.operation == &operation; }
bool is_norm(const Op& op) { return is(op, layer_norm_operation) || is(op, rms_norm_operation); }

// Ops whose output is their input: reshaped, appended, rotated, scaled, or with something added.
bool keeps_letter(const Op& op) {
  const std::initializer_list<const Operation*> keeping = {
      &view_operation,        &append_operation,         &rope_operation,
      &scale_operation,       &softcap_operation,        &last_operation,
      &add_operation,         &clip_operation,           &gate_operation,
      &weigh_operation,       &position_scale_operation, &multiply_operation,
      &sparsify_operation,    &magnitude_operation,      &outer_sum_operation,
      &exponential_operation, &pass_identity_operation,  &take_operation,
      &delay_operation,       &scale_heads_operation};
  if (std::find(keeping.begin(), keeping.end(), op.operation) != keeping.end()) return true;
  return is_norm(op) && output_letter(op.scope.role).empty();
}

std::string parameter_letter(const Tensor& tensor) {
  if (tensor.scope.role.part == Part::sinks) return "sink";
  if (tensor.scope.role.part == Part::decay) return tensor.label.piece == Piece::bias ? "b_Δ" : "a";
  if (tensor.scope.role.part == Part::skip) return "D";
  if (tensor.scope.role.part == Part::stream_scale) return "s";
  if (tensor.scope.role.part == Part::expert_scale) return "s_e";
  if (tensor.label.piece == Piece::adapter_a) return "A_" + std::string(letters_of(tensor.scope.role).weight);
  if (tensor.label.piece == Piece::adapter_b) return "B_" + std::string(letters_of(tensor.scope.role).weight);
  const std::string of(letters_of(tensor.scope.role).weight);
  const bool bias = tensor.label.piece == Piece::bias;
  if (of.empty()) return bias ? "β" : "γ";  // norms
  return (bias ? "b_" : "W_") + of + (tensor.scope.role.expert == Expert::shared ? "s" : "");
}

std::string decimal(double value) { return fmt::format("{:.6g}", value); }

std::string activation_name(Activation activation) {
  static constexpr const char* names[] = {"GELU", "GELU_tanh", "ReLU", "ReLU²", "SiLU", "σ", "softplus", "xIELU", ""};
  static_assert(std::size(names) == static_cast<std::size_t>(Activation::identity) + 1);
  return names[static_cast<std::size_t>(activation)];
}

// Whether it is the stream that is read beside what was embedded. What is joined of parts has a letter of its own.
bool joins_embedding(const Program& program, const Op& op) {
  return is(op, join_operation) && letter_of(program[op.outputs[0]].label.piece).empty();
}

bool plain_scale(double scale, Dim width) {
  return std::abs(scale * std::sqrt(static_cast<double>(width.size)) - 1.0) < 1e-6;
}

}  // namespace

Notation::Notation(const Program& program) : program_(program), letters_(program.tensors.size()) {
  for (std::size_t i = 0; i < letters_.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    letters_[i] =
        tensor.kind == TensorKind::parameter ? parameter_letter(tensor) : std::string(letter_of(tensor.label.piece));
  }
  for (const Op& op : program.ops) {
    if (op.stage == Stage::forward) name_outputs(op);
  }
}

void Notation::name_outputs(const Op& op) {
  const auto set = [&](std::size_t i, std::string name) {
    letters_[static_cast<std::size_t>(op.outputs[i])] = std::move(name);
  };
  if (is(op, add_operation)) name_summand(op);
  if (keeps_letter(op)) return set(0, letter(op.inputs[0]));
  if (is(op, matmul_operation) && program_[op.inputs[1]].label.piece == Piece::adapter_a)
    return set(0, "l_" + std::string(letters_of(program_[op.inputs[1]].scope.role).weight));
  if (joins_embedding(program_, op)) return set(0, letter(op.inputs[0]) + "′");
  if (is(op, split_operation) || is(op, join_operation)) return;  // its outputs have letters of their own
  if (is(op, route_operation)) {
    set(0, "e");
    return set(1, "w");
  }
  if (is(op, embed_operation) && op.scope.role.part == Part::expert_scale) return set(0, "s");
  if (is(op, activate_operation) && op.scope.role.part == Part::expert_scale) return set(0, "w");
  if (is(op, unstack_operation) || is(op, predict_operation) || is(op, correct_operation)) {
    const std::string_view word = is(op, unstack_operation) ? "t_" : "x_";
    for (std::size_t i = 0; i < op.outputs.size(); ++i) set(i, std::string(word) + std::to_string(i));
    return;
  }
  // Folded into the latent and back out of it: the query of the latent, then the heads' outputs.
  if (is(op, head_matmul_operation)) return set(0, op.attributes<HeadMatmulAttributes>().into_latent ? "q_c" : "o");
  if (is(op, attend_chosen_operation)) return set(0, "o");
  if (is(op, open_streams_operation) || is(op, connect_operation)) return set(0, "x");
  const std::string name = output_letter(op.scope.role);
  set(0, name.empty() ? input(op, 0) : name);
}

// What is added to a tensor of its own letter, or to the one that it is a convolution of, has another one.
void Notation::name_summand(const Op& sum) {
  const TensorId to = sum.inputs[0], added = sum.inputs[1];
  const auto convolves = [&](const Op& op) {
    return is(op, short_convolution_operation) && op.outputs[0] == added && op.inputs[0] == to;
  };
  std::string& name = letters_[static_cast<std::size_t>(added)];
  if (std::any_of(program_.ops.begin(), program_.ops.end(), convolves))
    name = "c_" + letter(to);
  else if (added != to && (name.empty() || name == letter(to)))
    name = letter(to) + "′";
}

std::string Notation::input(const Op& op, std::size_t i) const {
  return i < op.inputs.size() && op.inputs[i] != no_tensor ? letter(op.inputs[i]) : std::string();
}

std::string Notation::formula(const Op& op) const {
  const std::string y = letter(op.outputs[0]), x = input(op, 0), second = input(op, 1), third = input(op, 2);
  const auto equation = [&](const std::string& right) { return y + (y == x ? " ← " : " = ") + right; };
  const auto plus = [](const std::string& term) { return term.empty() ? term : " + " + term; };

  if (is(op, embed_operation)) return equation(x + "[" + second + "]");
  if (is(op, matmul_operation)) return equation(x + "·" + second + "ᵀ" + plus(third));
  if (is(op, head_matmul_operation))
    return equation(x + "·" + second + (op.attributes<HeadMatmulAttributes>().into_latent ? "" : "ᵀ"));
  if (is(op, grouped_matmul_operation))
    return equation(x + "·" + second + "[e]ᵀ" + (third.empty() ? "" : " + " + third + "[e]"));
  if (is_norm(op)) {
    const bool layer = is(op, layer_norm_operation);
    std::string right =
        layer ? "(" + x + " − mean(" + x + ")) / √(var(" + x + ") + ε)" : x + " / √(mean(" + x + "²) + ε)";
    if (!second.empty())
      right += op.attributes<NormAttributes>().weight_plus_one ? "·(1 + " + second + ")" : "·" + second;
    return equation(right + plus(third));
  }
  if (is(op, rope_operation)) return equation("R·" + x);
  if (is(op, scores_operation)) {
    const auto& a = op.attributes<ScoresAttributes>();
    const Dim width = program_[op.inputs[0]].shape[-1];
    std::string right = x + "·" + second + "ᵀ";
    if (plain_scale(a.scale, width)) {
      const std::string_view symbol = symbol_text(width.symbol);
      right += " / √" + (symbol.empty() ? std::to_string(width.size) : std::string(symbol));
    } else if (a.scale != 1.0) {
      right = decimal(a.scale) + "·" + right;
    }
    if (a.softcap != 0.0) right = decimal(a.softcap) + "·tanh(" + right + " / " + decimal(a.softcap) + ")";
    return equation(right);
  }
  if (is(op, choose_keys_operation))
    return equation(third.empty() ? "top_k(max over blocks of " + x + "·" + second + "ᵀ)"
                                  : "top_k(Σ " + third + "·ReLU(" + x + "·" + second + "ᵀ))");
  if (is(op, attend_chosen_operation)) {
    const std::string chosen = "[" + input(op, 3) + "]";
    return equation("softmax(" + decimal(op.attributes<AttendChosenAttributes>().scale) + "·" + x + "·" + second +
                    chosen + "ᵀ)·" + third + chosen);
  }
  if (is(op, multiply_operation) || is(op, scale_heads_operation)) return equation(second + "·" + x);
  if (is(op, head_convolution_operation))
    return equation("conv(" + x + " + " + third + ", " + second + ")" + plus(input(op, 3)));
  if (is(op, open_streams_operation)) return equation(x + " in each stream");
  if (is(op, hyper_weights_operation)) return equation("σ, 2·σ and Sinkhorn of " + third + "·" + x + plus(second));
  if (is(op, collapse_operation)) return equation("Σ " + second + "·" + x);
  if (is(op, connect_operation)) return equation(second + "·" + third + " + " + second + "·" + x);
  if (is(op, entries_operation)) return equation("norm(Σ softmax(" + second + plus(third) + ")·" + x + ")");
  if (is(op, attend_entries_operation)) {
    std::string key = second;
    if (!third.empty())
      key = "[" + second + ", " + third + (input(op, 3).empty() ? "" : "[" + input(op, 3) + "]") + "]";
    return equation("softmax(" + decimal(op.attributes<AttendEntriesAttributes>().scale) + "·" + x + "·" + key + "ᵀ, " +
                    input(op, 4) + ")·" + key);
  }
  if (is(op, delay_operation)) return equation(x + " of the token before");
  if (is(op, average_heads_operation)) return equation("(" + x + " + " + second + ")/2");
  if (is(op, take_operation)) return equation(x + "[vocabulary]");
  if (is(op, pass_identity_operation))
    return equation(second.empty() ? "0 where e makes nothing" : second + " where e is an identity expert");
  if (is(op, softmax_operation)) {
    std::string right = x;
    const auto& a = op.attributes<SoftmaxAttributes>();
    if (a.alibi != 0.0) right += " − slope·distance";
    if (!third.empty() && a.mask.keep == 0) right += " + " + third + "[distance]";
    if (a.mask.causal) right = "mask(" + right + ")";
    if (!second.empty()) right += ", " + second;
    if (!third.empty() && a.mask.keep > 0) right += " + " + third;
    return equation("softmax(" + right + ")");
  }
  if (is(op, mix_operation)) return equation(x + "·" + second);
  if (is(op, activate_operation)) {
    const auto& a = op.attributes<ActivateAttributes>();
    if (a.clamp != 0.0) return equation(x + "·σ(1.702·" + x + ")·(" + second + " + 1)");
    return equation(activation_name(a.activation) + "(" + x + ")" + (second.empty() ? "" : "·" + second));
  }
  if (is(op, add_operation)) return equation(x + " + " + second);
  if (is(op, scale_operation)) return equation(decimal(op.attributes<ScaleAttributes>().factor) + "·" + x);
  if (is(op, softcap_operation)) {
    const std::string cap = decimal(op.attributes<SoftcapAttributes>().cap);
    return equation(cap + "·tanh(" + x + " / " + cap + ")");
  }
  if (is(op, clip_operation))
    return equation("clamp(" + x + ", ±" + decimal(op.attributes<ClipAttributes>().limit) + ")");
  if (is(op, gate_operation))
    return equation(activation_name(op.attributes<GateAttributes>().activation) + "(" + second + ")·" + x);
  if (is(op, xielu_operation)) return equation("xIELU(" + x + ")");
  if (is(op, multiply_operation)) return equation(second + "·" + x);
  if (is(op, sparsify_operation))
    return equation("max(" + x + " − mean(" + x + ") − " + decimal(op.attributes<SparsifyAttributes>().quantile) +
                    "·deviation(" + x + "), 0)");
  if (is(op, unstack_operation)) return "[" + y + " … " + letter(op.outputs.back()) + "] = " + x;
  if (is(op, predict_operation)) return "xⱼ ← xⱼ + Σᵢ " + letter(op.inputs.back()) + "ⱼᵢ·xᵢ";
  if (is(op, correct_operation)) {
    const auto active = static_cast<std::size_t>(op.attributes<CorrectAttributes>().active);
    return "xᵢ ← xᵢ + (1 + " + letter(op.inputs.back()) + "ᵢ)·(" + letter(op.inputs[op.outputs.size()]) + " − " +
           letter(op.inputs[active]) + ")";
  }
  if (is(op, magnitude_operation)) return equation(x + "·|" + second + "| / |" + x + "|");
  if (is(op, difference_operation))
    return equation(x + "₁ − λ·" + x + "₂, λ = e^(a·b) − e^(c·d) + " +
                    decimal(op.attributes<DifferenceAttributes>().initial));
  if (is(op, outer_sum_operation)) return equation(x + "ᵢ + " + x + "ⱼ for each i, j");
  if (is(op, exponential_operation)) return equation("e^(" + second + "·" + x + ")");
  if (is(op, gather_heads_operation)) return equation(x + " for each token");
  if (is(op, scatter_heads_operation)) return equation(x + " for each e");
  if (is(op, position_scale_operation)) return equation("f(position)·" + x);
  if (is(op, weigh_operation)) return equation(second + "·" + x);
  if (is(op, route_operation)) {
    const Mixture::Scores scores = op.attributes<RouteAttributes>().scores;
    if (scores == Mixture::Scores::softmax_of_chosen) return "e = top_k(" + x + "), w = softmax(" + x + "[e])";
    return "e, w = top_k(" + std::string(scores == Mixture::Scores::sigmoid ? "σ" : "softmax") + "(" + x + "))";
  }
  if (is(op, dispatch_operation)) return equation(x + " for each e");
  if (is(op, combine_operation)) return equation("Σₑ " + (second.empty() ? "" : second + "·") + x);
  if (is(op, join_operation)) return equation("[" + x + ", " + second + (joins_embedding(program_, op) ? "_0]" : "]"));
  if (is(op, split_operation)) return "[" + y + ", " + letter(op.outputs[1]) + "] = " + x;
  if (is(op, append_operation)) return equation("[" + second + ", " + x + "]");
  if (is(op, last_operation)) return equation(x + "[last token]");
  if (is(op, block_matmul_operation)) return equation(x + "·" + second + "[head]ᵀ" + plus(third));
  if (is(op, short_convolution_operation)) return equation("conv(" + x + ", " + second + ")" + plus(third));
  if (is(op, softplus_operation)) return equation("softplus(" + x + plus(second) + ")");
  if (is(op, scan_operation)) {
    const std::string skip = input(op, scan_input::skip);
    if (op.attributes<ScanAttributes>().rule == ScanRule::rg_lru)
      return "α = e^(−8·Δ·softplus(a)), " + y + " ← α·" + y + " + √(1 − α²)·v";
    return (op.attributes<ScanAttributes>().rule == ScanRule::lightning ? "S ← e^(−a)·S + k·vᵀ, "
                                                                        : "S ← e^(−Δ·eᵃ)·S + k·(Δ·v)ᵀ, ") +
           y + " = Sᵀ·q" + (skip.empty() ? "" : " + " + skip + "·v");
  }
  if (is(op, delta_rule_operation)) return "S ← e^(−Δ·eᵃ)·S, S ← S + k·β·(v − Sᵀ·k)ᵀ, " + y + " = Sᵀ·q";
  if (is(op, cross_entropy_operation)) return equation("mean(log Σ eᶻ − z[label])");
  return "";
}

std::string Notation::remark(const Op& op) const {
  std::string text;
  const auto say = [&](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence; };
  if (is(op, scores_operation)) {
    const auto& a = op.attributes<ScoresAttributes>();
    const Shape &query = program_[op.inputs[0]].shape, &key = program_[op.inputs[1]].shape;
    if (plain_scale(a.scale, query[-1])) {
      say("Dividing by the root of the head's width keeps scores of wide and narrow heads alike.");
    }
    if (a.softcap != 0.0) say("A soft cap bounds each score.");
    if (query[2].size != key[2].size) {
      say(grouped(query[2].size / key[2].size) + " query heads share each key/value head.");
    }
  }
  if (is(op, softmax_operation)) {
    const auto& a = op.attributes<SoftmaxAttributes>();
    if (a.mask.causal) say("A token sees itself and those before it; what comes later has weight 0.");
    if (a.mask.chunked) {
      say("In this layer it sees only those of its own chunk of " + grouped(a.mask.window) + ".");
    } else if (a.mask.window > 0) {
      say("In this layer it sees only the last " + grouped(a.mask.window) + " of them, itself included.");
    }
    if (a.alibi != 0.0) say("ALiBi lowers a score by the distance, with a slope of its own for each head.");
    if (op.inputs[1] != no_tensor) {
      say("A learned sink per head takes its share of the weight, so that a head may attend to nothing.");
    }
    if (a.mask.keep > 0) say("Of the keys, it sees the " + grouped(a.mask.keep) + " with the largest δ.");
  }
  if (is(op, attend_chosen_operation)) {
    const std::int64_t block = op.attributes<AttendChosenAttributes>().block;
    const std::string top = grouped(program_[op.inputs[3]].shape[-1].size);
    say("Here a query meets only the " + top + (block > 1 ? " blocks of " + grouped(block) + " keys" : " keys") +
        " that the indexer chose; their softmax and the mixing follow at once.");
  }
  if (joins_embedding(program_, op)) say("Of each token it reads what was embedded, x_0, beside the stream.");
  if (is(op, pass_identity_operation) && op.inputs[1] == no_tensor)
    say("A token may choose to skip the experts: what is counted is one that does not.");
  if (is(op, pass_identity_operation) && op.inputs[1] != no_tensor)
    say("Identity experts give back what they read, for no FLOPs: what is counted is a token that chose none of them.");
  if (is(op, attend_entries_operation)) {
    const auto& a = op.attributes<AttendEntriesAttributes>();
    std::string entries;
    if (op.inputs[2] != no_tensor) {
      entries = " and of every " + grouped(a.every) + " tokens one entry";
      if (op.inputs[3] != no_tensor) entries += ", of those that the indexer chose";
    }
    say("A query sees the last " + grouped(a.window) + " keys, itself included" + (entries.empty() ? "" : ",") +
        entries + ".");
    say("Keys are values too; a learned sink per head takes its share of the weight.");
  }
  if (is(op, rope_operation)) {
    const Dim head = program_[op.inputs[0]].shape[-1], rotated = program_[op.inputs[1]].shape[-1];
    if (rotated.size < head.size) {
      say(std::string("Only the ") + (op.attributes<RopeAttributes>().trailing ? "last " : "first ") +
          grouped(rotated.size) + " of a head's " + grouped(head.size) + " elements turn.");
    }
  }
  if (is(op, activate_operation)) {
    const double clamp = op.attributes<ActivateAttributes>().clamp;
    if (clamp != 0.0) say("Both are clamped to ±" + decimal(clamp) + " first.");
  }
  if (is(op, matmul_operation) && op.scope.role == Role{Block::head} &&
      program_[op.inputs[1]].scope.role.part == Part::token) {
    say("The matrix is the token embedding itself (tied), so the head adds no parameters.");
  }
  if (is(op, grouped_matmul_operation) && op.inputs[1] != no_tensor) {
    const Shape& weight = program_[op.inputs[1]].shape;
    say("Of " + grouped(weight[0].size) + " experts a token uses " + grouped(program_[op.inputs[0]].shape[-2].size) +
        ".");
  }
  return text;
}

template <class Text>
std::string Notation::extents(const Shape& shape, const Text& text) const {
  const bool batch_of_one = shape.rank() > 1 && shape[0] == Dim(1, Symbol::batch);
  std::vector<std::string> texts;
  for (int i = batch_of_one ? 1 : 0; i < shape.rank(); ++i) texts.push_back(text(shape[i]));
  return texts.empty() ? "1" : fmt::format("{}", fmt::join(texts, " × "));
}

std::string Notation::symbols(const Shape& shape) const {
  return extents(shape, [&](Dim dim) {
    // The last token's row: one, though it counts tokens.
    const bool one_of_many = dim == Dim(1, Symbol::tokens) && program_.workload.tokens != 1;
    const std::string_view symbol = symbol_text(dim.symbol);
    return one_of_many || symbol.empty() ? grouped(dim.size) : std::string(symbol);
  });
}

std::string Notation::numbers(const Shape& shape) const {
  return extents(shape, [](Dim dim) { return grouped(dim.size); });
}

}  // namespace reckon
