#include "report/notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "files/numbers.h"
#include "ops/activate.h"
#include "ops/add.h"
#include "ops/append.h"
#include "ops/cross_entropy.h"
#include "ops/embed.h"
#include "ops/head_matmul.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/mixture.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/scale.h"
#include "ops/softcap.h"
#include "ops/softmax.h"
#include "ops/split.h"
#include "ops/view.h"

namespace reckon {
namespace {

struct Letter {
  std::string_view path, letter;
};

std::string_view find(const Letter* first, const Letter* last, std::string_view path) {
  for (; first != last; ++first) {
    if (path == first->path) return first->letter;
  }
  return {};
}

// What a product, a norm or a table makes, by where it stands.
constexpr Letter made[] = {
    {"embedding/token", "x"},
    {"embedding/project", "x"},
    {"embedding/position", "x_p"},
    {"attention/norm", "h"},
    {"attention/query", "q"},
    {"attention/key", "k"},
    {"attention/value", "v"},
    {"attention/query_down", "c_q"},
    {"attention/query_up", "q"},
    {"attention/kv_down", "c"},
    {"attention/kv_up", "kv"},
    {"attention/scores", "a"},
    {"attention/softmax", "p"},
    {"attention/mixing", "o"},
    {"attention/output", "y"},
    {"cross_attention/norm", "h"},
    {"cross_attention/query", "q"},
    {"cross_attention/key", "k"},
    {"cross_attention/value", "v"},
    {"cross_attention/scores", "a"},
    {"cross_attention/softmax", "p"},
    {"cross_attention/mixing", "o"},
    {"cross_attention/output", "y"},
    {"feed_forward/norm", "h"},
    {"feed_forward/router", "r"},
    {"feed_forward/dispatch", "h_e"},
    {"feed_forward/gate", "g"},
    {"feed_forward/up", "u"},
    {"feed_forward/activation", "m"},
    {"feed_forward/down", "y"},
    {"feed_forward/experts/gate", "g_e"},
    {"feed_forward/experts/up", "u_e"},
    {"feed_forward/experts/activation", "m_e"},
    {"feed_forward/experts/down", "y_e"},
    {"feed_forward/combine", "y"},
    {"feed_forward/shared/gate", "g_s"},
    {"feed_forward/shared/up", "u_s"},
    {"feed_forward/shared/activation", "m_s"},
    {"feed_forward/shared/down", "y_s"},
    {"final_norm", "h"},
    {"head/project", "h"},
    {"head", "z"},
    {"loss", "loss"},
};

// What the letter of a parameter is followed by, by where it stands.
constexpr Letter owner[] = {
    {"embedding/token", "e"},
    {"embedding/project", "i"},
    {"embedding/position", "p"},
    {"attention/query", "q"},
    {"attention/key", "k"},
    {"attention/value", "v"},
    {"attention/query_down", "dq"},
    {"attention/query_up", "uq"},
    {"attention/kv_down", "dkv"},
    {"attention/kv_up", "ukv"},
    {"attention/output", "o"},
    {"cross_attention/query", "q"},
    {"cross_attention/key", "k"},
    {"cross_attention/value", "v"},
    {"cross_attention/output", "o"},
    {"feed_forward/router", "r"},
    {"feed_forward/gate", "g"},
    {"feed_forward/up", "u"},
    {"feed_forward/down", "d"},
    {"feed_forward/experts/gate", "g"},
    {"feed_forward/experts/up", "u"},
    {"feed_forward/experts/down", "d"},
    {"feed_forward/shared/gate", "gs"},
    {"feed_forward/shared/up", "us"},
    {"feed_forward/shared/down", "ds"},
    {"head/project", "j"},
    {"head", "h"},
};

// Tensors whose own name says what they are.
constexpr Letter named[] = {
    {"ids", "ids"},
    {"encoder", "n"},
    {"positions", "positions"},
    {"labels", "labels"},
    {"table", "R"},
    {"sinusoids", "x_p"},
    {"query_nope", "q_n"},
    {"query_rope", "q_r"},
    {"rotated_query", ""},
    {"latent", "c"},
    {"latents", "c"},
    {"key_rope", "k_r"},
    {"keys_rope", "k_r"},
    {"keys_nope", "k_n"},
    {"folded_query", "q_c"},
    {"query", "q"},
    {"keys", "k"},
    {"values", "v"},
    {"choice", "e"},
    {"weights", "w"},
    {"key_cache", "cache_k"},
    {"value_cache", "cache_v"},
    {"latent_cache", "cache_c"},
};

bool is(const Op& op, const Operation& operation) { return op.operation == &operation; }
bool is_norm(const Op& op) { return is(op, layer_norm_operation) || is(op, rms_norm_operation); }

// Ops that hand on what they were given: in another form, at another place, scaled, or with something added.
bool keeps_letter(const Op& op) {
  const std::initializer_list<const Operation*> keeping = {&view_operation,  &append_operation,  &rope_operation,
                                                           &scale_operation, &softcap_operation, &last_operation,
                                                           &add_operation};
  if (std::find(keeping.begin(), keeping.end(), op.operation) != keeping.end()) return true;
  return is_norm(op) && find(std::begin(made), std::end(made), op.scope.path).empty();
}

std::string parameter_letter(const Tensor& tensor) {
  if (tensor.scope.path == "attention/sinks") return "sink";
  const std::string_view of = find(std::begin(owner), std::end(owner), tensor.scope.path);
  const bool bias = tensor.name == "bias";
  if (of.empty()) return bias ? "β" : "γ";  // norms
  return (bias ? "b_" : "W_") + std::string(of);
}

std::string decimal(double value) { return fmt::format("{:.6g}", value); }

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "GELU";
    case Activation::gelu_tanh:
      return "GELU_tanh";
    case Activation::relu:
      return "ReLU";
    case Activation::relu_squared:
      return "ReLU²";
    case Activation::silu:
      return "SiLU";
  }
  return "";
}

bool plain_scale(double scale, Dim width) {
  return std::abs(scale * std::sqrt(static_cast<double>(width.size)) - 1.0) < 1e-6;
}

}  // namespace

Notation::Notation(const Program& program) : program_(program), letters_(program.tensors.size()) {
  for (std::size_t i = 0; i < letters_.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    letters_[i] = tensor.kind == TensorKind::parameter
                      ? parameter_letter(tensor)
                      : std::string(find(std::begin(named), std::end(named), tensor.name));
  }
  for (const Op& op : program.ops) {
    if (op.stage == Stage::forward) name_outputs(op);
  }
}

void Notation::name_outputs(const Op& op) {
  const auto set = [&](std::size_t i, std::string name) {
    letters_[static_cast<std::size_t>(op.outputs[i])] = std::move(name);
  };
  if (keeps_letter(op)) return set(0, letter(op.inputs[0]));
  const bool own_names = is(op, split_operation) || is(op, join_operation) || is(op, route_operation);
  if (own_names) return;
  // Folded into the latent and back out of it: the query of the latent, then the heads' outputs.
  if (is(op, head_matmul_operation)) return set(0, op.attributes<HeadMatmulAttributes>().into_latent ? "q_c" : "o");
  set(0, std::string(find(std::begin(made), std::end(made), op.scope.path)));
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
  if (is(op, softmax_operation)) {
    std::string right = x;
    const auto& a = op.attributes<SoftmaxAttributes>();
    if (a.alibi != 0.0) right += " − slope·distance";
    if (a.mask.causal) right = "mask(" + right + ")";
    if (!second.empty()) right += ", " + second;
    return equation("softmax(" + right + ")");
  }
  if (is(op, mix_operation)) return equation(x + "·" + second);
  if (is(op, activate_operation)) {
    const auto& a = op.attributes<ActivateAttributes>();
    if (a.clamp != 0.0) return equation(x + "·σ(1.702·" + x + ")·(" + second + " + 1)");
    return equation(std::string(activation_name(a.activation)) + "(" + x + ")" + (second.empty() ? "" : "·" + second));
  }
  if (is(op, add_operation)) return equation(x + " + " + second);
  if (is(op, scale_operation)) return equation(decimal(op.attributes<ScaleAttributes>().factor) + "·" + x);
  if (is(op, softcap_operation)) {
    const std::string cap = decimal(op.attributes<SoftcapAttributes>().cap);
    return equation(cap + "·tanh(" + x + " / " + cap + ")");
  }
  if (is(op, route_operation)) {
    const Mixture::Scores scores = op.attributes<RouteAttributes>().scores;
    if (scores == Mixture::Scores::softmax_of_chosen) return "e = top_k(" + x + "), w = softmax(" + x + "[e])";
    return "e, w = top_k(" + std::string(scores == Mixture::Scores::sigmoid ? "σ" : "softmax") + "(" + x + "))";
  }
  if (is(op, dispatch_operation)) return equation(x + " for each e");
  if (is(op, combine_operation)) return equation("Σₑ " + second + "·" + x);
  if (is(op, join_operation)) return equation("[" + x + ", " + second + "]");
  if (is(op, split_operation)) return "[" + y + ", " + letter(op.outputs[1]) + "] = " + x;
  if (is(op, append_operation)) return equation("[" + second + ", " + x + "]");
  if (is(op, last_operation)) return equation(x + "[last token]");
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
    if (a.mask.window > 0) {
      say("In this layer it sees only the last " + grouped(a.mask.window) + " of them, itself included.");
    }
    if (a.alibi != 0.0) say("ALiBi lowers a score by the distance, with a slope of its own for each head.");
    if (op.inputs[1] != no_tensor) {
      say("A learned sink per head takes its share of the weight, so that a head may attend to nothing.");
    }
  }
  if (is(op, rope_operation)) {
    const Dim head = program_[op.inputs[0]].shape[-1], rotated = program_[op.inputs[1]].shape[-1];
    if (rotated.size < head.size) {
      say("Only the first " + grouped(rotated.size) + " of a head's " + grouped(head.size) + " elements turn.");
    }
  }
  if (is(op, activate_operation)) {
    const double clamp = op.attributes<ActivateAttributes>().clamp;
    if (clamp != 0.0) say("Both are clamped to ±" + decimal(clamp) + " first.");
  }
  if (is(op, matmul_operation) && op.scope.path == "head" && program_[op.inputs[1]].scope.path == "embedding/token") {
    say("The matrix is the token embedding itself (tied), so the head adds no parameters.");
  }
  if (is(op, grouped_matmul_operation) && op.inputs[1] != no_tensor) {
    const Shape& weight = program_[op.inputs[1]].shape;
    say("Of " + grouped(weight[0].size) + " experts a token uses " + grouped(program_[op.inputs[0]].shape[-2].size) +
        ".");
  }
  return text;
}

bool Notation::batch_of_one(const Shape& shape) const { return shape.rank() > 1 && shape[0] == Dim(1, Symbol::batch); }

std::string Notation::symbols(const Shape& shape) const {
  std::string text;
  for (int i = batch_of_one(shape) ? 1 : 0; i < shape.rank(); ++i) {
    const Dim dim = shape[i];
    // The last token's row: one, though it counts tokens.
    const bool one_of_many = dim == Dim(1, Symbol::tokens) && program_.workload.tokens != 1;
    const std::string_view symbol = symbol_text(dim.symbol);
    if (!text.empty()) text += " × ";
    text += one_of_many || symbol.empty() ? grouped(dim.size) : std::string(symbol);
  }
  return text.empty() ? "1" : text;
}

std::string Notation::numbers(const Shape& shape) const {
  std::string text;
  for (int i = batch_of_one(shape) ? 1 : 0; i < shape.rank(); ++i) {
    if (!text.empty()) text += " × ";
    text += grouped(shape[i].size);
  }
  return text.empty() ? "1" : text;
}

}  // namespace reckon
