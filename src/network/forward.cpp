// Tokens in, logits or loss out: the embedding, the stack of blocks, the final norm, the head.
#include "network/forward.h"

#include <reckon/error.h>

#include "network/blocks.h"
#include "ops/add.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embed.h"
#include "ops/last.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/scale.h"
#include "ops/softcap.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace reckon {

TensorId Network::rope_table(const Rope& rope) const {
  for (const RopeTable& entry : rope_tables) {
    if (entry.rope == rope) return entry.table;
  }
  throw Error("a layer's rotary positions have no table");
}

TensorId apply_norm(Network& n, const Norm& rule, TensorId x, Role role) {
  Builder& b = n.builder;
  b.set_role(role);
  const Shape shape{b.shape(x)[-1]};
  const TensorId weight = rule.weight ? b.parameter(role, Piece::weight, shape) : no_tensor;
  const TensorId bias = rule.bias ? b.parameter(role, Piece::bias, shape) : no_tensor;
  return norm(b, rule, x, weight, bias, "normed");
}

TensorId apply_linear(Network& n, TensorId x, Dim out, bool bias, Role role) {
  Builder& b = n.builder;
  b.set_role(role);
  const TensorId weight = b.parameter(role, Piece::weight, {out, b.shape(x)[-1]});
  const TensorId shift = bias ? b.parameter(role, Piece::bias, {out}) : no_tensor;
  return linear(b, x, weight, shift, "out");
}

namespace {

// A stretch of the stack: `layers` layers, `count` times over.
struct Stretch {
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
  const auto of = [&](std::size_t layer) -> const auto& { return types.at(static_cast<std::int32_t>(layer)); };
  std::size_t same = first + period;
  while (same < end && of(same) == of(same - period)) ++same;
  return same;
}

// Finds patterns that repeat (all alike; sliding, full, sliding, full, …), so that each is written once.
std::vector<Stretch> stretches(const Layers& layers, const LayerTypes& types) {
  constexpr std::size_t longest_pattern = 8;
  std::vector<Stretch> found;
  for (std::size_t first = 0; first < layers.size();) {
    Stretch best{first, 1, 1};
    for (std::size_t period = 1; period <= longest_pattern && first + period <= layers.size(); ++period) {
      const std::size_t same = alike_until(layers, types, first, period);
      const auto count = static_cast<std::int64_t>((same - first) / period);
      const auto covered = count * static_cast<std::int64_t>(period);
      if ((count > 1 || period == 1) && covered > best.count * best.layers) {
        best = {first, static_cast<std::int32_t>(period), count};
      }
      if (same == layers.size() && (same - first) % period == 0) break;  // nothing is left for a longer pattern
    }
    found.push_back(best);
    first += static_cast<std::size_t>(best.count * best.layers);
  }
  return found;
}

TensorId embedding(Network& n, TensorId ids, TensorId& table) {
  const Model& model = n.model;
  Builder& b = n.builder;
  const Role token{Block::embedding, Part::token}, position{Block::embedding, Part::position};
  b.set_role(token);
  const Dim d_embedding = model.d_embedding == model.d_model ? n.d_model : Dim(model.d_embedding, Symbol::d_embedding);
  table = b.parameter(token, Piece::weight, {{model.vocab_size, Symbol::vocabulary}, d_embedding});
  TensorId x = embed(b, table, ids, "embedded");  // (B × T × dₑ)
  if (model.d_embedding != model.d_model) x = apply_linear(n, x, n.d_model, false, {Block::embedding, Part::project});
  b.set_role(token);
  if (model.embedding_scale != 1.0) x = scale(b, x, model.embedding_scale, "scaled");
  b.set_role(position);
  if (model.positions.kind == Positions::Kind::learned) {
    const Dim rows(model.context + model.positions.extra_rows, Symbol::positions);
    const TensorId positions = b.tensor(TensorKind::input, Piece::positions, {n.tokens}, DType::int32);
    const TensorId rows_table = b.parameter(position, Piece::weight, {rows, n.d_model});
    x = add(b, x, embed(b, rows_table, positions, "positioned"), "embedded");
  } else if (model.positions.kind == Positions::Kind::sinusoidal) {
    const TensorId waves = b.tensor(TensorKind::input, Piece::sinusoids, {n.tokens, n.d_model},
                                    b.program().workload.precision.activations);
    x = add(b, x, waves, "embedded");
  }
  if (model.embedding_norm) x = apply_norm(n, *model.embedding_norm, x, {Block::embedding, Part::norm});
  return x;
}

TensorId drop(Network& n, TensorId x, int stream) {
  const Workload& workload = n.builder.program().workload;
  if (workload.phase != Phase::train || workload.dropout == 0.0) return x;
  return dropout(n.builder, x, workload.dropout, stream, "dropped");
}

// What a sublayer makes of its input, ready to be added to the residual stream.
TensorId finish(Network& n, const Layer& layer, const SublayerNorms& norms, TensorId y, Block block) {
  if (norms.after) y = apply_norm(n, *norms.after, y, {block, Part::norm_after});
  n.builder.set_role({block, Part::residual});
  if (layer.residual_scale != 1.0) y = scale(n.builder, y, layer.residual_scale, "scaled");
  return drop(n, y, block == Block::attention ? 1 : 2);
}

TensorId block(Network& n, const Layer& layer, TensorId x) {
  Builder& b = n.builder;
  const SublayerNorms& an = layer.attention_norms;
  const SublayerNorms& fn = layer.feed_forward_norms;

  const TensorId h = an.before ? apply_norm(n, *an.before, x, {Block::attention, Part::norm}) : x;
  TensorId y = attention(n, layer.attention, h);
  y = finish(n, layer, an, y, Block::attention);
  TensorId sum = add(b, x, y, "residual");
  if (an.residual) sum = apply_norm(n, *an.residual, sum, {Block::attention, Part::norm_residual});

  if (layer.cross_attention) {
    y = cross_attention(n, *layer.cross_attention, sum);
    b.set_role({Block::cross_attention, Part::residual});
    sum = add(b, sum, y, "residual");
  }

  TensorId in = layer.parallel ? x : sum;
  if (layer.parallel && layer.shared_norm) {
    in = h;
  } else if (fn.before) {
    in = apply_norm(n, *fn.before, in, {Block::feed_forward, Part::norm});
  }
  y = feed_forward(n, layer, in);
  y = finish(n, layer, fn, y, Block::feed_forward);
  sum = add(b, sum, y, "residual");
  if (fn.residual) sum = apply_norm(n, *fn.residual, sum, {Block::feed_forward, Part::norm_residual});
  return sum;
}

TensorId head(Network& n, TensorId x, TensorId table) {
  const Model& model = n.model;
  Builder& b = n.builder;
  if (model.final_norm) x = apply_norm(n, *model.final_norm, x, {Block::final_norm});
  const Shape table_shape = b.shape(table);
  if (model.d_embedding != model.d_model) x = apply_linear(n, x, table_shape[1], false, {Block::head, Part::project});
  b.set_role({Block::head});
  const TensorId weight = model.head.tied ? table : b.parameter({Block::head}, Piece::weight, table_shape);
  const TensorId bias = model.head.bias ? b.parameter({Block::head}, Piece::bias, {table_shape[0]}) : no_tensor;
  TensorId logits = linear(b, x, weight, bias, "logits");
  if (model.head.scale != 1.0) logits = scale(b, logits, model.head.scale, "logits");
  if (model.head.softcap != 0.0) logits = softcap(b, logits, model.head.softcap, "logits");
  return logits;
}

bool has_cross_attention(const Model& model) {
  const std::span<const Layer> layers = model.layers.written();
  return std::any_of(layers.begin(), layers.end(),
                     [](const Layer& layer) { return layer.cross_attention.has_value(); });
}

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::prefill:
      return "prefill";
    case Phase::decode:
      return "decode";
    case Phase::train:
      return "train";
  }
  return "";
}

Workload workload_of(Phase phase) {
  Workload workload;
  workload.phase = phase;
  if (phase == Phase::prefill || phase == Phase::decode) workload.logits = Logits::last;
  return workload;
}

Workload resolve(const Model& model, Workload w) {
  if (w.tokens == 0) w.tokens = w.phase == Phase::decode ? 1 : model.context;
  if (w.past < 0) w.past = w.phase == Phase::decode ? std::max<std::int64_t>(model.context - w.tokens, 0) : 0;
  const bool crossed = has_cross_attention(model);
  if (w.encoder_tokens != 0 && !crossed) {
    throw UsageError("`encoder_tokens` is " + std::to_string(w.encoder_tokens) + ", but " + model.name +
                     " has no cross-attention; give it some with `cross_attention`");
  }
  if (w.encoder_tokens == 0 && crossed) w.encoder_tokens = w.phase == Phase::decode ? model.context : w.tokens;
  const auto sensible = [&](std::int64_t value, const std::string& field, std::int64_t least = 1) {
    if (value < least || value > largest_workload) {
      throw UsageError("`" + field + "` is " + std::to_string(value) + "; expected " + std::to_string(least) +
                       " to 2^40");
    }
  };
  sensible(w.batch, "batch");
  sensible(w.tokens, "tokens");
  if (crossed) sensible(w.encoder_tokens, "encoder_tokens");
  sensible(w.past, "past", 0);
  if (w.capacity != 0 && w.capacity < w.past + w.tokens) {
    throw UsageError("`capacity` is " + std::to_string(w.capacity) + "; expected room for " +
                     std::to_string(w.past + w.tokens) + " tokens");
  }
  if (w.chunk != 0 && w.chunk < w.tokens) {
    throw UsageError("`chunk` is " + std::to_string(w.chunk) + "; expected room for " + std::to_string(w.tokens) +
                     " new tokens");
  }
  if (w.past > 0 && (w.phase == Phase::forward || w.phase == Phase::train)) {
    throw UsageError("`past` is " + std::to_string(w.past) + " in phase " + std::string(phase_name(w.phase)) +
                     ", which has no cache; expected 0, or phase prefill or decode");
  }
  if (!(w.dropout >= 0.0 && w.dropout < 1.0)) {
    throw UsageError("`dropout` is " + std::to_string(w.dropout) + "; expected 0 up to, but not including, 1");
  }
  if (w.phase == Phase::train && w.logits != Logits::all) {
    throw UsageError("training needs every logit; expected `logits` all");
  }
  if (model.positions.kind == Positions::Kind::learned && w.past + w.tokens > model.context) {
    throw UsageError(model.name + " has " + std::to_string(model.context) + " learned positions, but " +
                     std::to_string(w.past + w.tokens) + " are asked for; give it more with `context`");
  }
  return w;
}

std::vector<Rope> distinct_ropes(const Model& model) {
  std::vector<Rope> found;
  for (const Layer& layer : model.layers.written()) {
    const std::optional<Rope>& rope = layer.attention.rope;
    if (rope && std::find(found.begin(), found.end(), *rope) == found.end()) found.push_back(*rope);
  }
  return found;
}

Program forward(const Model& model, const Workload& asked) {
  Program program;
  program.workload = resolve(model, asked);
  program.width = {model.d_model, Symbol::d_model};
  program.layers = static_cast<std::int64_t>(model.layers.size());
  const Workload workload = program.workload;
  Builder b(std::move(program));
  const bool decode = workload.phase == Phase::decode;
  const bool cached = decode || workload.phase == Phase::prefill;
  Network n{model,
            b,
            {workload.batch, Symbol::batch},
            {workload.tokens, Symbol::tokens},
            b.program().width,
            workload.capacity != 0 ? workload.capacity : workload.past + workload.tokens,
            workload.chunk != 0 ? workload.chunk : workload.tokens,
            cached,
            decode,
            {},
            no_tensor,
            {}};

  b.set_role({Block::input});
  const TensorId ids = b.tensor(TensorKind::input, Piece::ids, {n.batch, n.tokens}, DType::int32);
  TensorId table = no_tensor;
  TensorId x = drop(n, embedding(n, ids, table), 0);

  b.set_role({Block::attention, Part::rope});
  const Attention& first_attention = model.layers.front().attention;
  for (const Rope& rope : distinct_ropes(model)) {
    const Symbol symbol = first_attention.latent                ? Symbol::d_rope
                          : rope.dims == first_attention.d_head ? Symbol::d_head
                                                                : Symbol::none;
    const Dim rows = n.capacity == workload.tokens ? n.tokens : Dim(n.capacity);
    const Shape shape{rows, {rope.dims, symbol}};
    n.rope_tables.push_back({rope, b.tensor(TensorKind::constant, Piece::table, shape, DType::float32)});
  }
  if (has_cross_attention(model)) {
    n.encoder_tokens = {workload.encoder_tokens, Symbol::encoder_tokens};
    if (!n.decode) {
      b.set_role({Block::input});
      n.encoder = b.tensor(TensorKind::input, Piece::encoder, {n.batch, n.encoder_tokens, n.d_model},
                           workload.precision.activations);
    }
  }

  for (const Stretch& stretch : stretches(model.layers, layer_types(workload))) {
    const TensorId entering = x;
    b.begin_repeat(stretch.count, stretch.layers);
    for (std::int32_t i = 0; i < stretch.layers; ++i) {
      const std::size_t layer = stretch.first + static_cast<std::size_t>(i);
      b.set_layer(static_cast<std::int32_t>(layer));
      x = block(n, model.layers[layer], x);
    }
    b.end_repeat({{entering, x}});
  }
  b.set_layer(-1);

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

}  // namespace reckon
