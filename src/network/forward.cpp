// Tokens in, logits or loss out: the embedding, the stack of layers, the final norm, the head.
#include "network/forward.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "files/numbers.h"
#include "model/sublayers.h"
#include "model/types.h"
#include "network/adapters.h"
#include "network/blocks.h"
#include "network/stages.h"
#include "ops/activate.h"
#include "ops/collectives.h"
#include "ops/cross_entropy.h"
#include "ops/elementwise.h"
#include "ops/embed.h"
#include "ops/hyper.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/view.h"

#include <algorithm>
#include <array>
#include <map>
#include <numbers>
#include <span>
#include <tuple>

namespace reckon {

TensorId Network::rope_table(const Rope& rope) const {
  for (const auto& [known, table] : rope_tables)
    if (known == rope) return table;
  throw Error("a layer's rotary positions have no table");
}

TensorId Network::position_table(const PositionScale& scale) const {
  for (const auto& [known, table] : position_tables)
    if (known == scale) return table;
  throw Error("a layer's position scale has no table");
}

TensorId apply_norm(Network& n, const Norm& rule, TensorId x, Role role, Shape parameter) {
  Builder& b = n.builder;
  b.set_role(role);
  if (parameter.rank() == 0) parameter.push(b.shape(x)[-1]);
  const TensorId weight = rule.weight ? b.parameter(role, Piece::weight, parameter) : no_tensor;
  const TensorId bias = rule.bias ? b.parameter(role, Piece::bias, parameter) : no_tensor;
  return norm(b, rule, x, weight, bias, "normed");
}

TensorId apply_linear(Network& n, TensorId x, Dim out, bool bias, Role role) {
  Builder& b = n.builder;
  b.set_role(role);
  const TensorId weight = b.parameter(role, Piece::weight, {out, b.shape(x)[-1]});
  const TensorId shift = bias ? b.parameter(role, Piece::bias, {out}) : no_tensor;
  const TensorId y = linear(b, x, weight, shift, "out");
  return add_adapter(n, adapter(n, role, out, b.shape(x)[-1]), x, y);
}

namespace {

// Which layers have weights, or keys and values, in common. All of it is empty where every layer has its own.
struct Sharing {
  struct Kin {
    std::size_t first, last;
  };
  std::vector<Kin> kin;              // by layer: the first and the last that it takes them from or gives them to
  std::vector<std::int32_t> owners;  // by layer: whose weights they are in the end; empty where they are its own

  // Whether so many layers from `first` on have nothing in common with any other.
  bool apart(std::size_t first, std::size_t layers) const {
    for (std::size_t i = first; i < first + layers && !kin.empty(); ++i)
      if (kin[i].first < first || kin[i].last >= first + layers) return false;
    return true;
  }
};

// The layer that this one takes something from, which is so many before it.
std::size_t taken_from(std::size_t layer, std::int64_t before) {
  if (before < 0 || before > static_cast<std::int64_t>(layer))
    throw Error("layer " + std::to_string(layer) + " has no layer " + std::to_string(before) + " before it");
  return layer - static_cast<std::size_t>(before);
}

// How many layers before it a sublayer takes its weights, its keys and values or the choice of its keys from.
std::int64_t reach_of(const Sublayer& sublayer) {
  const auto* attention = std::get_if<Attention>(&sublayer.kind);
  if (attention == nullptr) return sublayer.shares;
  return std::max({sublayer.shares, attention->kv_from, attention->indexer ? attention->indexer->from : 0});
}

bool reads_embedding(const Sublayer& sublayer) { return sublayer.reads == Sublayer::Reads::embedded; }

bool stands_alone(const Layer& layer) {
  return layer.shares == 0 && std::none_of(layer.sublayers.begin(), layer.sublayers.end(), [](const Sublayer& one) {
           return reach_of(one) != 0 || reads_embedding(one);
         });
}

Sharing sharing_of(const Model& model) {
  const Layers& layers = model.layers;
  const std::span<const Layer> written = layers.written();
  Sharing sharing;
  // What is made for all layers at once binds all of them together.
  const bool bound = model.layer_inputs || model.altup;
  if (!bound && std::all_of(written.begin(), written.end(), stands_alone)) return sharing;
  const bool weights = std::any_of(written.begin(), written.end(), [](const Layer& l) { return l.shares != 0; });
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t from = taken_from(i, layers[i].shares);
    std::size_t first = from, last = bound ? layers.size() : i;
    if (from < i) sharing.kin[from].last = std::max(sharing.kin[from].last, i);
    for (const Sublayer& sublayer : layers[i].sublayers) {
      const std::size_t reached = taken_from(i, reach_of(sublayer));
      first = std::min(first, reached);
      if (reached < i) sharing.kin[reached].last = std::max(sharing.kin[reached].last, i);
      // What was embedded stands outside of all bodies.
      if (reads_embedding(sublayer)) last = layers.size();
    }
    sharing.kin.push_back({first, last});
    if (weights) sharing.owners.push_back(from == i ? static_cast<std::int32_t>(i) : sharing.owners[from]);
  }
  return sharing;
}

// A pattern of `layers` layers, `count` times over.
struct Pattern {
  std::size_t first;
  std::int32_t layers;
  std::int64_t count;
};

// The types that the parameters of each layer are stored in, where they are not all of one.
using LayerTypes = std::map<std::int32_t, std::vector<std::tuple<Role, Piece, DType>>>;

LayerTypes layer_types(const Workload& workload) {
  LayerTypes types;
  if (!workload.parameter_types) return types;
  for (const auto& [key, dtype] : *workload.parameter_types) {
    types[key.scope.layer].emplace_back(key.scope.role, key.piece, dtype);
  }
  return types;
}

// The first layer, from `first` + `period` on, that is not like the one `period` before it.
std::size_t alike_until(const Layers& layers, const LayerTypes& types, std::size_t first, std::size_t period) {
  const std::size_t end = layers.repeats_until(first, period);
  if (types.empty()) return end;
  const auto of = [&](std::size_t layer) {  // a layer with the weights of another has none of its own
    const auto found = types.find(static_cast<std::int32_t>(layer));
    return found == types.end() ? LayerTypes::mapped_type{} : found->second;
  };
  std::size_t same = first + period;
  while (same < end && of(same) == of(same - period)) ++same;
  return same;
}

// Finds patterns that repeat (all alike; sliding, full, sliding, full, …), so that each is written once. An
// iteration has its own weights: where they are in common with other layers, each layer is a pattern. So is each
// layer before `alone`.
std::vector<Pattern> patterns(const Layers& layers, const LayerTypes& types, const Sharing& sharing,
                              const LayerRange& range, std::size_t alone) {
  constexpr std::size_t longest_pattern = 8;
  std::vector<Pattern> found;
  std::size_t first = range.first;
  for (; first < std::min(alone, range.last); ++first) found.push_back({first, 1, 1});
  while (first < range.last) {
    Pattern best{first, 1, 1};
    for (std::size_t period = 1; period <= longest_pattern && first + period <= range.last; ++period) {
      std::size_t count = (std::min(alike_until(layers, types, first, period), range.last) - first) / period;
      for (std::size_t k = 0; k < count && !sharing.kin.empty(); ++k)
        if (!sharing.apart(first + k * period, period)) count = k;
      const std::size_t covered = count * period;
      if ((count > 1 || period == 1) && covered > static_cast<std::size_t>(best.count * best.layers)) {
        best = {first, static_cast<std::int32_t>(period), static_cast<std::int64_t>(count)};
      }
      if (first + covered == range.last) break;  // nothing is left for a longer pattern
    }
    found.push_back(best);
    first += static_cast<std::size_t>(best.count * best.layers);
  }
  return found;
}

// The same of all pieces of the stack that a rank has. Where a pattern goes on in the next piece, it is one.
std::vector<Pattern> patterns(const Layers& layers, const LayerTypes& types, const Sharing& sharing,
                              const std::vector<LayerRange>& ranges, std::size_t alone) {
  std::vector<Pattern> all;
  for (const LayerRange& range : ranges) {
    for (const Pattern& next : patterns(layers, types, sharing, range, alone)) {
      const bool begins = !all.empty() && next.first == range.first;
      bool goes_on = begins && types.empty() && all.back().layers == next.layers;
      for (std::size_t i = 0; goes_on && i < static_cast<std::size_t>(next.layers); ++i)
        goes_on = layers[all.back().first + i] == layers[next.first + i];
      if (goes_on) {
        all.back().count += next.count;
      } else {
        all.push_back(next);
      }
    }
  }
  return all;
}

Shape table_shape(const Network& n) {
  const Model& model = n.model;
  const Dim d_embedding = model.d_embedding == model.d_model ? n.d_model : Dim(model.d_embedding, Symbol::d_embedding);
  return {{model.vocab_size + model.padding_rows, Symbol::vocabulary}, d_embedding};
}

// The table of tokens. The last stage of a pipeline has its own copy of one that is tied to the head; the two are
// kept alike.
TensorId token_table(Network& n) {
  Builder& b = n.builder;
  const Role token{Block::embedding, Part::token};
  b.set_role(token);
  const TensorId table = b.parameter(token, Piece::weight, table_shape(n));
  const Workload& workload = b.program().workload;
  if (n.model.head.tied && workload.layout.pipeline > 1 && workload.phase == Phase::train)
    b.emit(keep_alike_operation, {table}, {}, {Group::pipeline, 2});
  return table;
}

// (x + b)·s
TensorId shift_and_scale(Network& n, TensorId x, Role role) {
  Builder& b = n.builder;
  const TensorId scales = b.parameter(role, Piece::weight, {n.d_model});
  const TensorId shifts = b.parameter(role, Piece::bias, {n.d_model});
  b.set_role(role);
  return multiply(b, add(b, x, shifts, "shifted"), scales, "scaled");
}

TensorId embedding(Network& n, TensorId ids, TensorId& table) {
  const Model& model = n.model;
  Builder& b = n.builder;
  const Role token{Block::embedding, Part::token}, position{Block::embedding, Part::position};
  table = token_table(n);
  TensorId x = embed(b, table, ids, "embedded");  // (B × T × dₑ)
  if (model.d_embedding != model.d_model) x = apply_linear(n, x, n.d_model, false, {Block::embedding, Part::project});
  b.set_role(token);
  if (model.embedding_scale != 1.0) x = scale(b, x, model.embedding_scale, "scaled");
  b.set_role(position);
  if (model.positions.kind == Positions::Kind::learned) {
    const Dim rows(model.context + model.positions.extra_rows, Symbol::positions);
    const TensorId positions = b.tensor(TensorKind::input, Piece::positions, n.positions, DType::int32);
    const TensorId rows_table = b.parameter(position, Piece::weight, {rows, n.d_model});
    x = add(b, x, embed(b, rows_table, positions, "positioned"), "embedded");
  } else if (model.positions.kind != Positions::Kind::none) {
    const TensorId waves = b.tensor(TensorKind::input, Piece::sinusoids, Shape(n.positions).push(n.d_model),
                                    b.program().workload.precision.activations);
    x = add(b, x, waves, "embedded");
  }
  if (model.embedding_norm) x = apply_norm(n, *model.embedding_norm, x, {Block::embedding, Part::norm});
  return model.embedding_affine ? shift_and_scale(n, x, {Block::embedding, Part::stream_scale}) : x;
}

// What a predictor's layers start from: W·[norm(made); norm(embedded)], of what the stack made, in the two halves of W.
// Of several streams, each is projected by itself.
TensorId join_made(Network& n, TensorId embedded, const Norm& norm) {
  Builder& b = n.builder;
  const Role project{Block::prediction, Part::project}, normed{Block::prediction, Part::norm};
  const std::int64_t streams = n.model.hyper ? n.model.hyper->streams : 1;
  const Shape one{n.batch, n.tokens, streams, n.d_model};
  b.set_role({Block::input});
  TensorId made = b.tensor(TensorKind::input, Piece::other, one, b.program().workload.precision.activations);
  made = apply_linear(n, apply_norm(n, norm, made, normed), n.d_model, false, project);
  made = view(b, made, {n.batch, n.tokens, streams == 1 ? n.d_model : Dim(streams * n.d_model.size)});
  b.set_sublayer(-1, 1);
  embedded = apply_linear(n, apply_norm(n, norm, embedded, normed), n.d_model, false, project);
  b.set_sublayer(-1, 0);
  b.set_role(project);
  if (streams > 1) embedded = open_streams(b, embedded, streams, "streams");
  return add(b, made, embedded, "joined");
}

TensorId drop(Network& n, TensorId x, int stream) {
  const Workload& workload = n.builder.program().workload;
  if (workload.phase != Phase::train || workload.dropout == 0.0) return x;
  return dropout(n.builder, x, workload.dropout, stream, "dropped");
}

// What a layer made of the active stream corrects all of them; what the layer then reads of the token is added to
// all but the first.
void add_to_streams(Network& n, const Sublayer& sublayer, TensorId made) {
  Builder& b = n.builder;
  correct_streams(n, made);
  TensorId y = n.streams[static_cast<std::size_t>(n.model.altup->active)];
  const Role at{Block::streams, Part::stream_scale};
  const TensorId factors = b.parameter(at, Piece::weight, {n.d_model});  // which is there all the same
  b.set_role(at);
  if (n.model.altup->scaled) y = multiply(b, y, factors, "scaled");
  y = apply(n, std::get<LayerInput>(sublayer.kind), y);
  if (sublayer.norms.after) y = apply_norm(n, *sublayer.norms.after, y, {Block::layer_input, Part::norm_after});
  b.set_role({Block::layer_input, Part::residual});
  for (std::size_t i = 1; i < n.streams.size(); ++i) n.streams[i] = add(b, n.streams[i], y, "residual");
}

// y·σ(W·SiLU(V·y)), by way of so many elements.
TensorId gate_norm(Network& n, TensorId y, std::int64_t rank, Block block) {
  Builder& b = n.builder;
  const Role role{block, Part::norm_gate};
  FeedForward rule;
  rule.activation = Activation::silu;
  TensorId gate = apply_linear(n, y, rank, false, {block, Part::norm_gate_down});
  gate = activate(b, rule, gate, no_tensor, "activated");
  gate = apply_linear(n, gate, n.d_model, false, role);
  b.set_role(role);
  rule.activation = Activation::sigmoid;
  return activate(b, rule, gate, y, "gated");
}

// Layer i of the model: each sublayer reads the residual stream, and adds to it.
TensorId layer(Network& n, std::size_t i, TensorId x) {
  using Reads = Sublayer::Reads;
  Builder& b = n.builder;
  const Layer& layer = n.model.layers[i];
  const std::int32_t owner = n.owners.empty() ? -1 : n.owners[i];
  n.layer = i;
  b.set_sublayer(static_cast<std::int32_t>(i), 0, owner);
  if (n.model.altup) x = predict_streams(n);
  const TensorId entry = x;
  TensorIds read;  // by the f of each sublayer
  TensorId made = no_tensor;
  int dropouts = 0;
  for (std::size_t k = 0; k < layer.sublayers.size(); ++k) {
    const Sublayer& sublayer = layer.sublayers[k];
    const SublayerNorms& norms = sublayer.norms;
    const Block block = block_of(sublayer);
    const std::int32_t nth = nth_of_block(layer, k);
    const bool shares = sublayer.shares > 0;
    b.set_sublayer(static_cast<std::int32_t>(i), nth,
                   shares ? static_cast<std::int32_t>(static_cast<std::int64_t>(i) - sublayer.shares) : owner);
    if (n.model.altup && block == Block::layer_input) {
      add_to_streams(n, sublayer, x);
      continue;
    }
    const TensorId weights = n.model.hyper ? stream_weights(n, x, block) : no_tensor;
    b.set_role({block, Part::norm});
    TensorId y = n.model.hyper ? collapse(b, x, weights, n.d_model, "read") : x;
    if (sublayer.reads == Reads::entry) y = entry;
    if (sublayer.reads == Reads::first) y = read[sublayer.beside];
    if (sublayer.reads == Reads::embedded) y = join(b, x, n.embedded, 2 * n.d_model.size, "read");
    if (sublayer.reads == Reads::made) y = made;
    if (sublayer.reads == Reads::sum) y = add(b, x, made, "read");
    if (norms.before) y = apply_norm(n, *norms.before, y, {block, Part::norm});
    if (sublayer.norm_gate > 0) y = gate_norm(n, y, sublayer.norm_gate, block);
    if (sublayer.norms_stream) x = y;
    read.push_back(y);
    if (sublayer.read_scale != 1.0) {
      b.set_role({block, Part::norm});
      y = scale(b, y, sublayer.read_scale, "scaled");
    }
    y = std::visit([&](const auto& kind) { return apply(n, kind, y); }, sublayer.kind);
    if (shares) b.set_sublayer(static_cast<std::int32_t>(i), nth);
    if (sublayer.projects) y = apply_linear(n, y, n.d_model, false, {block, Part::project});
    y = add_convolved(n, y, sublayer.conv_width, {block, Part::query_convolution});
    if (!sublayer.adds) {
      made = y;
      continue;
    }
    if (norms.after) y = apply_norm(n, *norms.after, y, {block, Part::norm_after});
    if (sublayer.affine) {
      y = shift_and_scale(n, y, {block, Part::result_scale});
      x = shift_and_scale(n, x, {block, Part::stream_scale});
    }
    b.set_role({block, Part::residual});
    if (sublayer.residual_scale != 1.0) y = scale(b, y, sublayer.residual_scale, "scaled");
    if (sublayer.stream_scale != 1.0) x = scale(b, x, sublayer.stream_scale, "scaled");
    if (sublayer.stream_weight) {
      const Role at{block, Part::stream_scale};
      b.set_role(at);
      x = multiply(b, x, b.parameter(at, Piece::weight, {n.d_model}), "scaled");
      b.set_role({block, Part::residual});
    }
    if (block != Block::cross_attention) y = drop(n, y, ++dropouts);  // cross-attention is counted, never trained
    x = n.model.hyper ? connect(b, x, weights, y, "residual") : add(b, x, y, "residual");
    if (sublayer.laurel) {
      const TensorId beside = laurel(n, *sublayer.laurel, read.back());
      b.set_role({block, Part::residual});
      x = scale(b, add(b, x, beside, "residual"), 1.0 / std::numbers::sqrt2, "scaled");
    }
    if (norms.residual) x = apply_norm(n, *norms.residual, x, {block, Part::norm_residual});
  }
  if (layer.scaled) {
    const Role at{Block::feed_forward, Part::stream_scale};
    b.set_sublayer(static_cast<std::int32_t>(i), 0, owner);
    b.set_role(at);
    x = multiply(b, x, b.weight(TensorKind::constant, at, Piece::weight, {1}, DType::float32), "scaled");
  }
  return x;
}

TensorId head(Network& n, TensorId x, TensorId table) {
  const Model& model = n.model;
  Builder& b = n.builder;
  if (model.hyper) x = collapse(b, x, stream_weights(n, x, Block::streams, true), n.d_model, "read");
  if (model.final_norm) x = apply_norm(n, *model.final_norm, x, {Block::final_norm});
  const Shape shape = table_shape(n);
  if (model.d_embedding != model.d_model) x = apply_linear(n, x, shape[1], false, {Block::head, Part::project});
  if (model.head.tied && table == no_tensor) table = token_table(n);
  b.set_role({Block::head});
  const TensorId weight = model.head.tied ? table : b.parameter({Block::head}, Piece::weight, shape);
  const TensorId bias = model.head.bias ? b.parameter({Block::head}, Piece::bias, {shape[0]}) : no_tensor;
  TensorId logits = linear(b, x, weight, bias, "logits");
  if (model.padding_rows > 0) logits = take(b, logits, model.vocab_size, "logits");
  if (model.head.scale != 1.0) logits = scale(b, logits, model.head.scale, "logits");
  if (model.head.softcap != 0.0) logits = softcap(b, logits, model.head.softcap, "logits");
  return logits;
}

}  // namespace

std::string_view phase_name(Phase phase) {
  constexpr std::array<std::string_view, 4> names{"forward", "prefill", "decode", "train"};  // in the enum's order
  return names[static_cast<std::size_t>(phase)];
}

Workload workload_of(Phase phase) {
  Workload workload;
  workload.phase = phase;
  if (phase == Phase::prefill || phase == Phase::decode) workload.logits = Logits::last;
  return workload;
}

namespace {

constexpr std::int64_t largest_rank = 1 << 16;  // of adapters

// Quantised weights can be computed with, not trained.
void check_trained_types(const Workload& w) {
  if (w.phase != Phase::train) return;
  const auto check = [](DType type, const std::string& what) {
    if (type == DType::float32 || type == DType::bfloat16 || type == DType::float16 || type == DType::float64) return;
    throw UsageError(
        fmt::format("{} of {}, which cannot be trained; expected float32, bfloat16 or float16, or adapters (`lora`) "
                    "beside matrices of layers that are frozen",
                    what, encoding_of(type).name));
  };
  check(w.precision.weights, w.lora.rank > 0 ? "adapters and all weights are" : "weights are");
  if (!w.parameter_types || w.lora.rank > 0) return;
  for (const auto& [key, type] : *w.parameter_types) check(type, full_name(key) + " is");
}

}  // namespace

Workload resolve(const Model& model, Workload w) {
  if (w.tokens == 0) w.tokens = w.phase == Phase::decode ? 1 : model.context;
  if (w.past < 0) w.past = w.phase == Phase::decode ? std::max<std::int64_t>(model.context - w.tokens, 0) : 0;
  const bool crossed = find<CrossAttention>(model) != nullptr;
  const auto refuse = [](const std::string& sentence) { throw UsageError(sentence); };
  if (w.encoder_tokens != 0 && !crossed)
    refuse(fmt::format("`encoder_tokens` is {}, but {} has no cross-attention; give it some with `cross_attention`",
                       w.encoder_tokens, model.name));
  if (w.encoder_tokens == 0 && crossed) w.encoder_tokens = w.phase == Phase::decode ? model.context : w.tokens;
  const auto sensible = [&](std::int64_t value, const char* field, std::int64_t least = 1) {
    if (value < least || value > largest_workload)
      refuse(fmt::format("`{}` is {}; expected {} to 2^40", field, value, least));
  };
  sensible(w.batch, "batch");
  sensible(w.tokens, "tokens");
  if (crossed) sensible(w.encoder_tokens, "encoder_tokens");
  sensible(w.past, "past", 0);
  const std::int64_t length = w.past + w.tokens;
  if (w.capacity != 0 && w.capacity < length)
    refuse(fmt::format("`capacity` is {}; expected room for {} tokens", w.capacity, length));
  if (w.chunk != 0 && w.chunk < w.tokens)
    refuse(fmt::format("`chunk` is {}; expected room for {} new tokens", w.chunk, w.tokens));
  if (w.past > 0 && (w.phase == Phase::forward || w.phase == Phase::train))
    refuse(fmt::format("`past` is {} in phase {}, which has no cache; expected 0, or phase prefill or decode", w.past,
                       phase_name(w.phase)));
  const auto probability = [&](double value, const char* field) {
    if (!(value >= 0.0 && value < 1.0))
      refuse(fmt::format("`{}` is {:f}; expected 0 up to, but not including, 1", field, value));
  };
  probability(w.dropout, "dropout");
  probability(w.attention_dropout, "attention_dropout");
  if (w.lora.rank < 0 || w.lora.rank > largest_rank)
    refuse(fmt::format("`lora` is {}; expected 1 to {}, or 0 for none", w.lora.rank, largest_rank));
  if (w.lora.rank > 0 && first_adapted(w.lora, model.layers) == model.layers.size())
    refuse(
        fmt::format("`lora` is given, but no matrix of {} has adapters; expected a model with attention or a "
                    "feed-forward that is none "
                    "of a router's experts",
                    model.name));
  check_trained_types(w);
  if (w.phase == Phase::train) check_trainable(model);
  if (w.phase == Phase::train && w.logits != Logits::all) refuse("training needs every logit; expected `logits` all");
  if (model.positions.kind == Positions::Kind::learned && length > model.context)
    refuse(fmt::format("{} has {} learned positions, but {} are asked for; give it more with `context`", model.name,
                       grouped(model.context), grouped(length)));
  validate_layout(model, w);
  check_operations(model, w.layout);
  return w;
}

namespace {

// Each that some attention has, once.
template <class What>
std::vector<What> distinct(const Model& model, std::optional<What> Attention::*which) {
  std::vector<What> found;
  for_each<Attention>(model.layers.written(), [&](const Attention& attention) {
    const std::optional<What>& one = attention.*which;
    if (one && std::find(found.begin(), found.end(), *one) == found.end()) found.push_back(*one);
  });
  return found;
}

}  // namespace

std::vector<Rope> distinct_ropes(const Model& model) { return distinct(model, &Attention::rope); }
std::vector<PositionScale> distinct_position_scales(const Model& model) {
  return distinct(model, &Attention::position_scale);
}

namespace {

bool any_hashed(const Model& model, const std::vector<LayerRange>& ranges) {
  bool any = false;
  for (const LayerRange& range : ranges)
    for (std::size_t i = range.first; i < range.last && !any; ++i)
      for_each<Mixture>(model.layers[i], [&](const Mixture& m) { any = any || m.hashed; });
  return any;
}

// The width of what the router of that layer reads of the router before it; 0: nothing, or there is no such layer.
std::int64_t chained_width(const Model& model, std::size_t layer) {
  const Mixture* mixture = layer < model.layers.size() ? find<Mixture>(model.layers[layer]) : nullptr;
  return mixture != nullptr && mixture->router_chained ? mixture->router_rank : 0;
}

// `joined`: of a predictor, whose stack this is; else null.
Program write(const Model& model, const Workload& asked, const Norm* joined) {
  Program program;
  program.workload = resolve(model, asked);
  program.width = {model.d_model, Symbol::d_model};
  const Workload workload = program.workload;
  const Layout& layout = workload.layout;
  const std::vector<LayerRange> ranges = stage_layers(model, layout);
  for (const LayerRange& range : ranges) program.layers += static_cast<std::int64_t>(range.last - range.first);
  Builder b(std::move(program));
  const Dim batch(workload.batch, Symbol::batch), tokens(workload.tokens, Symbol::tokens);
  const bool decode = workload.phase == Phase::decode;
  Network n{.model = model,
            .builder = b,
            .batch = batch,
            .tokens = tokens,
            .d_model = b.program().width,
            // Sequences that share a cache have positions of their own.
            .positions = workload.capacity != 0 ? Shape{batch, tokens} : Shape{tokens},
            .capacity = capacity(workload),
            .chunk = workload.chunk != 0 ? workload.chunk : workload.tokens,
            .decode = decode,
            .cached = decode || workload.phase == Phase::prefill};

  b.set_role({Block::input});
  TensorId table = no_tensor, x;
  const Dim width = model.hyper ? Dim(model.hyper->streams * model.d_model) : n.d_model;
  const Shape stream{n.batch, n.tokens, width};
  if (first_stage(layout)) {
    const TensorId ids = b.tensor(TensorKind::input, Piece::ids, {n.batch, n.tokens}, DType::int32);
    const TensorId embedded = embedding(n, ids, table);
    x = drop(n, embedded, 0);
    if (model.layer_inputs) make_layer_inputs(n, ids, embedded);
    if (model.altup) open_streams(n, x);
    if (joined != nullptr) {
      x = join_made(n, x, *joined);
    } else if (model.hyper) {
      x = open_streams(b, x, model.hyper->streams, "streams");
    }
    n.ids = ids;
  } else {
    x = receive(b, no_tensor, stream, layout.pipeline);
    const std::int64_t of_routers = chained_width(model, ranges.front().first);
    if (of_routers > 0) n.router_state = receive(b, no_tensor, {n.batch, n.tokens, of_routers}, layout.pipeline);
    // Layers whose experts the tokens themselves name read those wherever they are.
    if (any_hashed(model, ranges)) n.ids = b.tensor(TensorKind::input, Piece::ids, {n.batch, n.tokens}, DType::int32);
  }

  b.set_role({Block::attention, Part::rope});
  const Attention& attention = first_attention(model);
  for (const Rope& rope : distinct_ropes(model)) {
    const Symbol symbol = attention.latent                ? Symbol::d_rope
                          : rope.dims == attention.d_head ? Symbol::d_head
                                                          : Symbol::none;
    const Dim rows = n.capacity == workload.tokens ? n.tokens : Dim(n.capacity);
    const Shape shape{rows, {rope.dims, symbol}};
    n.rope_tables.push_back({rope, b.tensor(TensorKind::constant, Piece::table, shape, DType::float32)});
  }
  for (const PositionScale& scale : distinct_position_scales(model)) {
    const Dim rows = n.capacity == workload.tokens ? n.tokens : Dim(n.capacity);
    n.position_tables.push_back({scale, b.tensor(TensorKind::constant, Piece::positions, {rows, 1}, DType::float32)});
  }
  if (find<CrossAttention>(model) != nullptr) {
    n.encoder_tokens = {workload.encoder_tokens, Symbol::encoder_tokens};
    if (!n.decode) {
      b.set_role({Block::input});
      n.encoder = b.tensor(TensorKind::input, Piece::encoder, {n.batch, n.encoder_tokens, n.d_model},
                           workload.precision.activations);
    }
  }

  Sharing sharing = sharing_of(model);
  // What enters the first layer with adapters needs no gradient, other than what enters those behind it.
  std::size_t alone = 0;
  if (workload.phase == Phase::train && workload.lora.rank > 0 && first_stage(layout))
    alone = std::min(first_adapted(workload.lora, model.layers) + 1, model.layers.size());
  const std::vector<Pattern> stack = patterns(model.layers, layer_types(workload), sharing, ranges, alone);
  n.owners = std::move(sharing.owners);
  n.embedded = x;
  n.choices.assign(model.layers.size(), no_tensor);
  for (const Pattern& pattern : stack) {
    const TensorId entering = x;
    const auto layers = static_cast<std::size_t>(pattern.layers);
    const TensorId router_entering = n.router_state;
    // What the first of chained routers makes is read by another layer; each of the others hands it on.
    const Mixture* mixture = find<Mixture>(model.layers[pattern.first]);
    const bool opens = mixture != nullptr && mixture->router_rank > 0 && router_entering == no_tensor;
    const bool repeats = sharing.apart(pattern.first, layers) && !opens;
    if (repeats) b.begin_repeat(pattern.count, pattern.layers);
    for (std::size_t i = 0; i < layers; ++i) x = layer(n, pattern.first + i, x);
    std::vector<std::pair<TensorId, TensorId>> carried{{entering, x}};
    if (router_entering != n.router_state) carried.emplace_back(router_entering, n.router_state);
    if (repeats) b.end_repeat(std::move(carried));
  }
  b.set_sublayer(-1, 0);

  if (model.altup) x = close_streams(n);

  // Between its pieces, an interleaved pipeline goes on at the other ranks. As pieces are alike, that is written
  // behind all of them.
  b.set_role({Block::input});
  if (ranges.size() > 1) {
    const TensorId entering = x;
    b.begin_repeat(static_cast<std::int64_t>(ranges.size()) - 1, 0);
    x = receive(b, send(b, x, layout.pipeline), stream, layout.pipeline);
    b.end_repeat({{entering, x}});
  }
  if (!last_stage(layout)) {
    if (chained_width(model, ranges.back().last) > 0) send(b, n.router_state, layout.pipeline);
    b.program().output = send(b, x, layout.pipeline);
    return b.finish();
  }

  if (workload.logits == Logits::none) {
    // The head's parameters are there all the same; its work is not.
    const std::size_t ops = b.program().ops.size();
    head(n, x, table);
    b.program().ops.resize(ops);
    b.program().output = x;
    return b.finish();
  }
  if (workload.logits == Logits::last && workload.tokens > 1) {
    b.set_role({Block::final_norm});
    x = last(b, x, "last");
  }
  TensorId output = head(n, x, table);
  if (workload.phase == Phase::train) {
    b.set_role({Block::loss});
    const TensorId labels = b.tensor(TensorKind::input, Piece::labels, {n.batch, n.tokens}, DType::int32);
    output = cross_entropy(b, output, labels, "loss");
  }
  b.program().output = output;
  return b.finish();
}

}  // namespace

Program forward(const Model& model, const Workload& workload) { return write(model, workload, nullptr); }

Program forward(const Predictor& predictor, Model model, const Workload& workload) {
  model.layers = predictor.layers;
  model.final_norm = predictor.final_norm;
  return write(model, workload, &predictor.norm);
}

}  // namespace reckon
