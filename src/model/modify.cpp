#include "model/modify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/sublayers.h"
#include "model/validate.h"

namespace reckon {

namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw UsageError(sentence); }

void check_given(const char* field, const std::optional<std::int64_t>& given, std::int64_t least = 1,
                 std::int64_t most = largest_size) {
  if (given && (*given < least || *given > most))
    refuse(fmt::format("`{}` is {}; expected a whole number from {} to {}", field, *given, least, most));
}

double inverse_root(std::int64_t width) { return 1.0 / std::sqrt(static_cast<double>(width)); }

// size · numerator / denominator if that is a whole number above zero; else complains, naming the field that settles
// it.
std::int64_t scaled(std::int64_t size, std::int64_t numerator, std::int64_t denominator, const char* what,
                    const std::string& field) {
  if (size * numerator % denominator != 0 || size * numerator < denominator)
    refuse(fmt::format("{} would be {} · {} / {}, which is not a whole number; say it with {}", what, size, numerator,
                       denominator, field));
  return size * numerator / denominator;
}

struct Pattern {
  std::size_t start, period;
};

// The layers before the stack's repeating pattern, and the length of that pattern: the pair with the least sum.
Pattern find_pattern(const Layers& layers) {
  Pattern best{0, layers.size()};
  for (std::size_t period = 1; period < best.start + best.period; ++period) {
    std::size_t start = layers.size() - period;  // from here on, every layer equals the one a period later
    while (start > 0 && layers[start - 1] == layers[start - 1 + period]) --start;
    if (start + period < best.start + best.period) best = {start, period};
  }
  return best;
}

void change_heads(Attention& attention, std::int64_t old_width, std::int64_t width, const Changes& changes) {
  const Attention old = attention;
  const bool derived = !old.latent && old.n_heads * old.d_head == old_width;
  if (old.latent && changes.kv_heads)
    refuse("`kv_heads` cannot be changed in latent attention: keys and values come from one latent");
  if (old.latent && changes.d_head)
    refuse("`d_head` cannot be changed in latent attention: a head has two parts of its own");

  attention.n_heads = changes.heads.value_or(old.n_heads);
  attention.n_kv_heads = changes.kv_heads.value_or(old.n_kv_heads == old.n_heads ? attention.n_heads : old.n_kv_heads);
  if (attention.n_heads % attention.n_kv_heads != 0)
    refuse(changes.kv_heads ? fmt::format("`kv_heads` is {}; expected a divisor of the {} heads", *changes.kv_heads,
                                          attention.n_heads)
                            : fmt::format("{} key-value heads do not divide {} heads; say them with `kv_heads`",
                                          attention.n_kv_heads, attention.n_heads));
  if (changes.d_head) {
    attention.d_head = *changes.d_head;
  } else if (derived) {
    if (width % attention.n_heads != 0)
      refuse(fmt::format("{} heads do not divide d_model, {}; change one of them or say `d_head`", attention.n_heads,
                         width));
    attention.d_head = width / attention.n_heads;
  }
  if (attention.d_head == old.d_head) return;

  attention.d_value = attention.d_head;
  if (old.scale == inverse_root(old.d_head)) attention.scale = inverse_root(attention.d_head);
  if (old.alibi_scale == old.scale) attention.alibi_scale = attention.scale;
  if (!attention.rope) return;
  if (attention.rope->scaling == Rope::Scaling::longrope)
    refuse(fmt::format("d_head would become {}, but LongRoPE's factors are for heads of {}", attention.d_head,
                       old.d_head));
  // What made the head so wide.
  const std::string cause = changes.d_head                     ? "`d_head`"
                            : changes.d_model && changes.heads ? "`d_model` or `heads`"
                            : changes.d_model                  ? "`d_model`"
                                                               : "`heads`";
  attention.rope->dims =
      scaled(old.rope->dims, attention.d_head, old.d_head, "the rotated part of a head", "another " + cause);
  if (attention.rope->dims % 2 != 0)
    refuse(fmt::format("a head would be {} wide, of which RoPE rotates {}, an odd number; choose another {}",
                       attention.d_head, attention.rope->dims, cause));
}

// Cross-attention spans the whole width: its heads follow the layer's as far as they divide it.
void fit_cross_attention(CrossAttention& cross, const Layer& layer, std::int64_t width) {
  const bool usual_scale = cross.d_head == 0 || cross.scale == inverse_root(cross.d_head);
  if (const Attention* attention = find<Attention>(layer)) cross.n_heads = attention->n_heads;
  if (width % cross.n_heads != 0)
    refuse(fmt::format("{} heads do not divide d_model, {}, as cross-attention needs", cross.n_heads, width));
  cross.d_head = width / cross.n_heads;
  if (usual_scale) cross.scale = inverse_root(cross.d_head);
}

void change_widths(Model& model, const Changes& changes) {
  if (changes.d_model && find<Recurrence>(model) != nullptr)
    refuse("`d_model` cannot be changed here: the sizes of this model's recurrences do not follow from it");
  const std::int64_t old_width = model.d_model;
  const std::int64_t width = changes.d_model.value_or(old_width);
  if (model.d_embedding == old_width) model.d_embedding = width;
  if (model.embedding_scale == std::sqrt(static_cast<double>(old_width)))
    model.embedding_scale = std::sqrt(static_cast<double>(width));
  model.d_model = width;
  const auto follow = [&](std::int64_t& size, bool settled, const char* what, const char* field) {
    if (!settled) size = scaled(size, width, old_width, what, field);
  };
  for (Layer& layer : model.layers) {
    for_each<Attention>(layer, [&](Attention& attention) { change_heads(attention, old_width, width, changes); });
    for_each<CrossAttention>(layer, [&](CrossAttention& cross) { fit_cross_attention(cross, layer, width); });
    for_each<FeedForward>(
        layer, [&](FeedForward& dense) { follow(dense.d_ff, changes.d_ff || changes.match_d_ff, "d_ff", "`d_ff`"); });
    for_each<Mixture>(layer, [&](Mixture& mixture) {
      follow(mixture.expert.d_ff, changes.d_expert.has_value(), "the width of an expert", "`d_expert`");
      if (mixture.shared)
        follow(mixture.shared->d_ff, changes.d_shared.has_value(), "the width of the shared expert", "`d_shared`");
    });
  }
}

void set_form(FeedForward& feed_forward, Changes::FeedForwardForm form) {
  const FeedForward old = feed_forward;
  using Form = Changes::FeedForwardForm;
  feed_forward.gated = form == Form::swiglu || form == Form::geglu;
  if (form == Form::relu) {
    feed_forward.activation = Activation::relu;
  } else if (form == Form::silu || form == Form::swiglu) {
    feed_forward.activation = Activation::silu;
  } else if (old.activation != Activation::gelu_tanh) {  // which is a GELU already
    feed_forward.activation = Activation::gelu;
  }
  if (feed_forward != old) feed_forward.clamp = 0.0;  // gpt-oss's clamp belongs to its own SwiGLU
}

// A width that the model has nothing for would change nothing: better to say so.
void check_feed_forward_widths(const Model& model, const Changes& changes) {
  const bool dense = find<FeedForward>(model) != nullptr, experts = find<Mixture>(model) != nullptr;
  bool shared = false;
  for_each<Mixture>(model.layers.written(), [&](const Mixture& mixture) { shared = shared || mixture.shared; });
  if ((changes.d_ff || changes.match_d_ff) && !dense)
    refuse(
        "`d_ff` is the width of a dense feed-forward, but here every layer is a mixture; say the width of its experts "
        "with `d_expert`");
  if (changes.d_expert && !experts)
    refuse(
        "`d_expert` is the width of an expert, but here every layer is dense; say its width with `d_ff`, or make it a "
        "mixture with `experts` and `active_experts`");
  if (changes.d_shared && !shared)
    refuse("`d_shared` is the width of the shared expert of a mixture, but here no layer has one");
}

void change_feed_forward(Model& model, const Changes& changes) {
  check_feed_forward_widths(model, changes);
  for_each<FeedForward>(model.layers, [&](FeedForward& dense) {
    if (changes.ffn) set_form(dense, *changes.ffn);
    dense.d_ff = changes.d_ff.value_or(dense.d_ff);
    if (changes.match_d_ff) dense.d_ff = dense.gated ? (16 * model.d_model + 3) / 6 : 4 * model.d_model;
  });
  for_each<Mixture>(model.layers, [&](Mixture& mixture) {
    if (changes.ffn) set_form(mixture.expert, *changes.ffn);
    mixture.expert.d_ff = changes.d_expert.value_or(mixture.expert.d_ff);
    if (!mixture.shared) return;
    if (changes.ffn) set_form(*mixture.shared, *changes.ffn);
    mixture.shared->d_ff = changes.d_shared.value_or(mixture.shared->d_ff);
  });
}

bool has_biases(const Model& model) {
  bool some = false;
  for_each<Sublayer>(model.layers.written(), [&](const Sublayer& sublayer) {
    const auto* attention = std::get_if<Attention>(&sublayer.kind);
    const FeedForward* feed_forward = feed_forward_of(sublayer);
    some = some || (attention && attention->output_bias) || (feed_forward && feed_forward->bias);
  });
  return some;
}

template <class Change>
void for_each_norm(Model& model, const Change& change) {
  const auto each = [&](std::optional<Norm>& norm) {
    if (norm) change(*norm);
  };
  each(model.embedding_norm);
  each(model.final_norm);
  for (Predictor& predictor : model.predictors) {
    change(predictor.norm);
    each(predictor.final_norm);
  }
  for_each<Sublayer>(model.layers, [&](Sublayer& sublayer) {
    each(sublayer.norms.before);
    each(sublayer.norms.after);
    each(sublayer.norms.residual);
  });
  for_each<Attention>(model.layers, [&](Attention& attention) {
    each(attention.query_key_norm);
    if (attention.latent) change(attention.latent->norm);
  });
  for_each<Recurrence>(model.layers, [&](Recurrence& recurrence) {
    each(recurrence.norm);
    each(recurrence.inner_norm);
  });
}

void change_norm_kind(Model& model, Norm::Kind kind) {
  const bool bias = kind == Norm::Kind::layer && has_biases(model);
  for_each_norm(model, [&](Norm& norm) {
    if (norm.kind == kind) return;
    norm.kind = kind;
    norm.bias = bias && norm.weight;
  });
}

void change_norm_position(Model& model, Changes::NormPosition position) {
  const bool post = position == Changes::NormPosition::post;
  std::optional<Norm> last;
  for_each<Sublayer>(model.layers, [&](Sublayer& sublayer) {
    if (post && sublayer.reads != Sublayer::Reads::stream)
      refuse(
          "`norm_position` post makes no sense here: the blocks of this model add attention and feed-forward in "
          "parallel");
    SublayerNorms& norms = sublayer.norms;
    const std::optional<Norm> norm = norms.before ? norms.before : norms.after ? norms.after : norms.residual;
    norms = {};
    (post ? norms.residual : norms.before) = norm;
    if (norm) last = norm;
  });
  if (post) {
    model.final_norm.reset();
  } else if (!model.final_norm) {
    model.final_norm = last;
  }
}

void change_positions(Model& model, Changes::PositionKind kind) {
  using Kind = Changes::PositionKind;
  const Positions::Kind added = kind == Kind::learned      ? Positions::Kind::learned
                                : kind == Kind::sinusoidal ? Positions::Kind::sinusoidal
                                                           : Positions::Kind::none;
  if (model.positions.kind != added) model.positions = {added, 0};  // else OPT keeps its extra rows
  for_each<Attention>(model.layers, [&](Attention& attention) {
    if (attention.latent && kind != Kind::rope)
      refuse("`positions` cannot be changed in latent attention: a part of each head is there for RoPE");
    if (kind != Kind::rope) attention.rope.reset();
    if (kind == Kind::rope && !attention.rope) {
      if (attention.d_head % 2 != 0)
        refuse(fmt::format("RoPE needs heads of even width; d_head is {}", attention.d_head));
      attention.rope.emplace().dims = attention.d_head;
    }
    if (kind != Kind::alibi) attention.alibi_scale = 1.0;
    attention.alibi = kind == Kind::alibi;
  });
}

void change_bias(Model& model, bool bias) {
  for_each<Attention>(model.layers, [&](Attention& attention) {
    attention.output_bias = bias;
    if (attention.latent) {
      attention.latent->down_bias = bias;  // the projections up from the latents never have one
    } else {
      attention.query_bias = attention.key_bias = attention.value_bias = bias;
    }
  });
  for_each<CrossAttention>(model.layers, [&](CrossAttention& cross) { cross.bias = bias; });
  for_each<Recurrence>(model.layers, [&](Recurrence& recurrence) { recurrence.bias = recurrence.output_bias = bias; });
  for_each<FeedForward>(model.layers, [&](FeedForward& dense) { dense.bias = bias; });
  for_each<Mixture>(model.layers, [&](Mixture& mixture) {
    mixture.expert.bias = bias;
    if (mixture.shared) mixture.shared->bias = bias;
  });
  for_each_norm(model, [&](Norm& norm) { norm.bias = bias && norm.kind == Norm::Kind::layer && norm.weight; });
}

void change_qkv_bias(Model& model, bool bias) {
  for_each<Attention>(model.layers, [&](Attention& attention) {
    if (attention.latent)
      refuse("`qkv_bias` makes no sense in latent attention, which has no query, key and value projections");
    attention.query_bias = attention.key_bias = attention.value_bias = bias;
  });
}

void change_window(Model& model, std::int64_t window) {
  const bool some = first_window(model) > 0;
  for_each<Attention>(model.layers, [&](Attention& attention) {
    if (!some || attention.window > 0) attention.window = window;
  });
}

void change_experts(Model& model, const Changes& changes) {
  const bool dense = find<Mixture>(model) == nullptr;
  if (dense && !(changes.experts && changes.active_experts))
    refuse("a dense model becomes a mixture with both `experts` and `active_experts`");
  for_each<Sublayer>(model.layers, [&](Sublayer& sublayer) {
    const auto* feed_forward = std::get_if<FeedForward>(&sublayer.kind);
    if (!dense || feed_forward == nullptr) return;
    Mixture mixture;
    mixture.expert = *feed_forward;
    mixture.normalize = true;
    sublayer.kind = mixture;
  });
  for_each<Mixture>(model.layers, [&](Mixture& mixture) {
    // Those that every token takes are neither asked for nor counted here.
    const std::int64_t experts = changes.experts.value_or(mixture.n_experts - mixture.n_always);
    const std::int64_t active = changes.active_experts.value_or(mixture.n_active - mixture.n_always);
    if (active > experts)
      refuse(fmt::format("`active_experts` is {}; expected at most the {} experts", active, experts));
    mixture.n_experts = experts + mixture.n_always;
    mixture.n_active = active + mixture.n_always;
  });
}

void change_cross_attention(Model& model, bool wanted) {
  const auto crosses = [](const Sublayer& s) { return std::holds_alternative<CrossAttention>(s.kind); };
  for (Layer& layer : model.layers) {
    std::vector<Sublayer>& sublayers = layer.sublayers;
    if (!wanted) std::erase_if(sublayers, crosses);
    if (!wanted || find<CrossAttention>(layer)) continue;
    const auto attends = std::find_if(sublayers.begin(), sublayers.end(),
                                      [](const Sublayer& s) { return std::holds_alternative<Attention>(s.kind); });
    if (attends == sublayers.end()) continue;
    CrossAttention cross;
    cross.bias = std::get<Attention>(attends->kind).output_bias;
    fit_cross_attention(cross, layer, model.d_model);
    sublayers.insert(attends + 1, Sublayer{.kind = cross, .norms = {}});
  }
}

// The layers of what predicts further tokens change as those of the stack do: behind it, while it is changed.
void lay_predictors_behind(Model& model) {
  for (const Predictor& predictor : model.predictors)
    for (const Layer& layer : predictor.layers.written()) model.layers.push_back(layer);
}

void take_predictors_back(Model& model) {
  std::size_t at = model.layers.size();
  for (const Predictor& predictor : model.predictors) at -= predictor.layers.written().size();
  const std::size_t stack = at;
  for (Predictor& predictor : model.predictors) {
    Layers changed;
    const std::size_t written = predictor.layers.written().size(), all = predictor.layers.size();
    for (std::size_t i = 0; i < written; ++i) changed.push_back(std::as_const(model.layers)[at++]);
    if (all > written) changed.repeat(written - 1, 1, all);  // layers that are alike
    predictor.layers = std::move(changed);
  }
  if (stack < model.layers.size()) model.layers.resize(stack);
}

}  // namespace

Model modify(Model model, const Changes& changes) {
  check_given("layers", changes.layers, 1, most_layers);
  check_given("d_model", changes.d_model);
  check_given("heads", changes.heads);
  check_given("kv_heads", changes.kv_heads);
  check_given("d_head", changes.d_head);
  check_given("d_ff", changes.d_ff);
  check_given("d_expert", changes.d_expert);
  check_given("d_shared", changes.d_shared);
  check_given("vocab", changes.vocab);
  check_given("context", changes.context);
  check_given("window", changes.window, 0);
  check_given("experts", changes.experts);
  check_given("active_experts", changes.active_experts);
  if (changes.d_ff && changes.match_d_ff) refuse("`d_ff` is both a number and match; expected one of them");

  // Layers are cut off before anything else is done. They are added last, by the pattern of the stack as it was given,
  // so that every other change meets each layer of the pattern once.
  const std::size_t n_layers = changes.layers ? static_cast<std::size_t>(*changes.layers) : model.layers.size();
  std::optional<Pattern> pattern;
  if (n_layers > model.layers.size()) pattern = find_pattern(model.layers);
  if (n_layers < model.layers.size()) model.layers.resize(n_layers);
  lay_predictors_behind(model);
  if (changes.experts || changes.active_experts) change_experts(model, changes);  // widths ask what a layer then is
  if (changes.d_model || changes.heads || changes.kv_heads || changes.d_head) change_widths(model, changes);
  change_feed_forward(model, changes);
  model.vocab_size = changes.vocab.value_or(model.vocab_size);
  model.context = changes.context.value_or(model.context);
  model.head.tied = changes.tied.value_or(model.head.tied);
  if (changes.norm_position) change_norm_position(model, *changes.norm_position);
  if (changes.positions) change_positions(model, *changes.positions);
  if (changes.norm) change_norm_kind(model, *changes.norm);
  if (changes.bias) change_bias(model, *changes.bias);
  if (changes.qkv_bias) change_qkv_bias(model, *changes.qkv_bias);
  if (changes.window) change_window(model, *changes.window);
  if (changes.cross_attention) change_cross_attention(model, *changes.cross_attention);
  take_predictors_back(model);
  if (pattern) model.layers.repeat(pattern->start, pattern->period, n_layers);
  try {
    validate(model);
  } catch (const Error& error) {  // the model made sense before: the changes do not
    throw UsageError(error.what());
  }
  return model;
}

}  // namespace reckon
