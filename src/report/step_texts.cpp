// What each step is called, why it is there and what it is a part of, by its role.
#include <reckon/error.h>

#include <algorithm>
#include <array>

#include "report/steps.h"

namespace reckon {
namespace {

using Detail = StepKey::Detail;

constexpr std::string_view norm_why =
    "Each token's vector is brought to a common size before the sublayer reads it. This keeps deep stacks trainable.";
constexpr std::string_view residual_why =
    "The result is added to the stream, which itself passes unchanged. So the gradient reaches every layer directly.";
constexpr std::string_view norm_after_why = "The sublayer's result is normalised before it is added to the stream.";
constexpr std::string_view norm_residual_why = "The stream itself is normalised after each sum (post-norm).";
constexpr std::string_view up_why = "Each token, by itself, is taken to a wider space.";
constexpr std::string_view activation_why =
    "The one non-linear function between two matrices: without it their product would be a single matrix.";
constexpr std::string_view down_why = "And back to the width of the stream.";
constexpr std::string_view scores_why =
    "The dot product of every query with every key, in each head. Its cost is a product of two lengths: this and the "
    "mixing are the steps that outgrow all others in long contexts.";
constexpr std::string_view softmax_why = "Each query's scores become weights that are positive and sum to one.";
constexpr std::string_view mixing_why = "Each head's answer is the mean of the values, by those weights.";
constexpr std::string_view output_why = "The heads stand side by side again, and one matrix blends their answers.";
constexpr std::string_view stream_scale_why = "Stored numbers say how much of the stream is kept.";
constexpr std::string_view convolution_why =
    "Each channel, by itself, is blended with its last few tokens. The cache keeps only these.";
constexpr std::string_view hyper_why =
    "The residual stream is several. What they hold says how much of each the sublayer reads, how much each gets of "
    "what it makes, and by which matrix, whose rows and columns all sum to one, they are mixed meanwhile.";
constexpr std::string_view norm_gate_why =
    "What was normalised says, by way of a few elements, how much of each of its own is let through.";
constexpr std::string_view heads_why =
    "The vectors are cut into heads, which attend independently. Nothing is computed.";

constexpr StepText texts[] = {
    {{{Block::input}}, "tokens", "A text arrives as numbers, one per token: its row in the vocabulary."},
    {{{Block::embedding, Part::token}},
     "token embedding",
     "Each token picks its row of a learned table. A look-up needs no arithmetic, only memory."},
    {{{Block::embedding, Part::project}},
     "embedding projection",
     "The table is narrower than the stream; one matrix widens its rows."},
    {{{Block::embedding, Part::position}},
     "positions",
     "Attention alone does not see order, so a row for each position is added."},
    {{{Block::embedding, Part::norm}}, "embedding norm", "The stream starts normalised."},

    {{{Block::attention, Part::norm}}, "norm before attention", norm_why},
    {{{Block::attention, Part::query}},
     "queries, keys, values",
     "Three linear maps of the same vector: what a token looks for, what it can be found by, and what it hands over."},
    {{{Block::attention, Part::query_down}},
     "query latent",
     "Queries go through a narrow latent: two thin matrices instead of one large one."},
    {{{Block::attention, Part::query_down_norm}},
     "norm of the query latent",
     "The latent is normalised before it is expanded."},
    {{{Block::attention, Part::query_up}},
     "queries from the latent",
     "The latent becomes one query per head, in two parts: one that knows no position and one that will be rotated."},
    {{{Block::attention, Part::kv_down}},
     "key/value latent",
     "Keys and values of all heads are pressed into one small latent per token, with one rotated key for all heads "
     "beside it. Only these two are cached."},
    {{{Block::attention, Part::kv_down_norm}},
     "norm of the key/value latent",
     "The latent is normalised before it is expanded."},
    {{{Block::attention, Part::kv_up}},
     "keys and values from the latent",
     "One matrix rebuilds every head's key and value from the latent. In decoding its key half is folded into the "
     "query "
     "instead, so that cached latents are never expanded."},
    {{{Block::attention, Part::kv_up}, Detail::values},
     "values from the latent",
     "What was mixed are latents; the matrix's value half turns each head's mean into its answer."},
    {{{Block::attention}, Detail::heads}, "heads", heads_why},
    {{{Block::attention, Part::query_norm}},
     "norms of queries and keys",
     "Normalised queries and keys keep the scores within bounds."},
    {{{Block::attention, Part::rope}},
     "rotary positions",
     "Pairs of elements turn by an angle that grows with the position, so that a query and a key meet at an angle that "
     "depends on their distance alone. The angles are fixed: no parameters."},
    {{{Block::attention, Part::rope}, Detail::key},
     "rotary position of the shared key",
     "It turns like the queries do, once for all heads."},
    {{{Block::attention, Part::cache}},
     "cache",
     "Keys and values of earlier tokens are kept, not computed again; the new ones join them. It costs memory instead "
     "of FLOPs."},
    {{{Block::attention, Part::index_query}},
     "indexer",
     "A small attention of its own, whose keys are cached too, scores the tokens before; training leaves it as it is."},
    {{{Block::attention, Part::choice}},
     "choice of keys",
     "The keys with the best scores are chosen for each query: only with these does it go on, however long the text."},
    {{{Block::attention, Part::entry}},
     "keys of several tokens",
     "Of every so many tokens one key is made, a mean that gates weigh element by element, and kept: far back, a query "
     "sees these in the place of the tokens."},
    {{{Block::attention, Part::hyper}}, "weights of the streams", hyper_why},
    {{{Block::feed_forward, Part::hyper}}, "weights of the streams", hyper_why},
    {{{Block::streams, Part::hyper}}, "weights of the streams", hyper_why},
    {{{Block::embedding, Part::stream_scale}}, "shift and scale", stream_scale_why},
    {{{Block::attention, Part::relative}},
     "positions by distance",
     "Each query makes, for each head, a number for every distance to a key, which is added to that key's score."},
    {{{Block::attention, Part::value_convolution}}, "short convolution", convolution_why},
    {{{Block::feed_forward, Part::value_convolution}}, "short convolution", convolution_why},
    {{{Block::feed_forward, Part::factor}}, "learned factor", "One learned number multiplies what the sublayer makes."},
    {{{Block::attention, Part::norm_gate}}, "gate of the norm", norm_gate_why},
    {{{Block::feed_forward, Part::norm_gate}}, "gate of the norm", norm_gate_why},
    {{{Block::feed_forward, Part::project}},
     "projection of the shared block",
     "The block is shared by several layers; a matrix of the layer's own fits what it makes to the place."},
    {{{Block::attention, Part::scores}}, "scores", scores_why},
    {{{Block::attention, Part::softmax}}, "softmax", softmax_why},
    {{{Block::attention, Part::mixing}}, "mixing", mixing_why},
    {{{Block::attention, Part::output}}, "output", output_why},
    {{{Block::attention, Part::difference}},
     "difference of heads",
     "Heads attend in pairs to the same values, and what the second mixed is subtracted, a learned number of times: "
     "what "
     "both attend to by mere habit cancels."},
    {{{Block::attention, Part::mask}},
     "dynamic mask",
     "A token's values say how much its key should be seen, whoever asks; the keys for which that is the most are "
     "kept."},
    {{{Block::attention, Part::stream_scale}}, "scale of the stream", stream_scale_why},
    {{{Block::attention, Part::router}},
     "router of the heads",
     "A small matrix scores every expert for each token, and the best make its queries."},
    {{{Block::attention, Part::dispatch}},
     "dispatch to the heads",
     "Each token's vector is copied to its experts. Nothing is computed."},
    {{{Block::attention, Part::query, Expert::routed}},
     "queries of the experts",
     "Each chosen expert makes a query for every key head; keys and values are the same for all of them."},
    {{{Block::attention, Part::output, Expert::routed}},
     "output of the experts",
     "What an expert's queries mixed is projected by that expert's own matrix."},
    {{{Block::attention, Part::combine}},
     "combine the heads",
     "The experts' answers are summed by the router's weights."},
    {{{Block::attention, Part::laurel_down}},
     "beside attention",
     "What attention reads also goes past it, with a low-rank map of itself: a learned residual (LAuReL)."},
    {{{Block::attention, Part::norm_after}}, "norm after attention", norm_after_why},
    {{{Block::attention, Part::residual}}, "residual", residual_why},
    {{{Block::attention, Part::norm_residual}}, "norm of the sum", norm_residual_why},

    {{{Block::cross_attention, Part::norm}}, "norm before cross-attention", norm_why},
    {{{Block::cross_attention, Part::query}},
     "cross-attention: queries, keys, values",
     "Queries come from the stream, keys and values from the encoder's output n."},
    {{{Block::cross_attention}, Detail::heads}, "cross-attention: heads", heads_why},
    {{{Block::cross_attention, Part::cache}},
     "cross-attention: cache",
     "The encoder's keys and values are made once and kept."},
    {{{Block::cross_attention, Part::scores}}, "cross-attention: scores", scores_why},
    {{{Block::cross_attention, Part::softmax}}, "cross-attention: softmax", softmax_why},
    {{{Block::cross_attention, Part::mixing}}, "cross-attention: mixing", mixing_why},
    {{{Block::cross_attention, Part::output}}, "cross-attention: output", output_why},
    {{{Block::cross_attention, Part::norm_after}}, "norm after cross-attention", norm_after_why},
    {{{Block::cross_attention, Part::residual}}, "cross-attention: residual", residual_why},
    {{{Block::cross_attention, Part::norm_residual}}, "cross-attention: norm of the sum", norm_residual_why},

    {{{Block::feed_forward, Part::norm}}, "norm before the feed-forward", norm_why},
    {{{Block::feed_forward, Part::up}}, "up", up_why},
    {{{Block::feed_forward, Part::gate}},
     "gate and up",
     "Each token, by itself, is taken to a wider space twice: one copy will gate the other."},
    {{{Block::feed_forward, Part::activation}}, "activation", activation_why},
    {{{Block::feed_forward, Part::down}}, "down", down_why},
    {{{Block::attention, Part::gate}},
     "output gate",
     "A map of the input decides, element by element or head by head, how much of the answer is let through."},
    {{{Block::feed_forward, Part::router, Expert::shared}},
     "shared expert: gate",
     "One number a token says how much of the shared expert's answer is taken."},
    {{{Block::feed_forward, Part::router}},
     "router",
     "A small matrix scores every expert for each token, and the best are chosen."},
    {{{Block::feed_forward, Part::into_experts}},
     "into the experts' space",
     "The experts are narrower than the stream: what they read is projected once for all of them."},
    {{{Block::feed_forward, Part::out_of_experts}}, "out of the experts' space", down_why},
    {{{Block::feed_forward, Part::dispatch}},
     "dispatch",
     "Each token's vector is copied to its experts. Nothing is computed."},
    {{{Block::feed_forward, Part::up, Expert::routed}}, "experts: up", up_why},
    {{{Block::feed_forward, Part::gate, Expert::routed}},
     "experts: gate and up",
     "Each expert is a feed-forward of its own: all are stored, few are computed."},
    {{{Block::feed_forward, Part::activation, Expert::routed}}, "experts: activation", activation_why},
    {{{Block::feed_forward, Part::down, Expert::routed}}, "experts: down", down_why},
    {{{Block::feed_forward, Part::combine}}, "combine", "The experts' answers are summed by the router's weights."},
    {{{Block::feed_forward, Part::up, Expert::shared}}, "shared expert: up", up_why},
    {{{Block::feed_forward, Part::gate, Expert::shared}},
     "shared expert: gate and up",
     "One expert serves every token, beside the chosen ones."},
    {{{Block::feed_forward, Part::activation, Expert::shared}}, "shared expert: activation", activation_why},
    {{{Block::feed_forward, Part::down, Expert::shared}}, "shared expert: down", down_why},
    {{{Block::feed_forward, Part::whole, Expert::shared}, Detail::sum},
     "shared expert: sum",
     "Its answer joins those of the chosen experts."},
    {{{Block::feed_forward, Part::norm, Expert::routed}}, "norm before the experts", norm_why},
    {{{Block::feed_forward, Part::norm, Expert::shared}}, "norm before the shared expert", norm_why},
    {{{Block::feed_forward, Part::norm_after, Expert::routed}}, "norm after the experts", norm_after_why},
    {{{Block::feed_forward, Part::norm_after, Expert::shared}}, "norm after the shared expert", norm_after_why},
    {{{Block::feed_forward, Part::stream_scale}}, "scale of the stream", stream_scale_why},
    {{{Block::feed_forward, Part::norm_after}}, "norm after the feed-forward", norm_after_why},
    {{{Block::feed_forward, Part::residual}}, "residual", residual_why},
    {{{Block::feed_forward, Part::norm_residual}}, "norm of the sum", norm_residual_why},

    {{{Block::recurrence, Part::norm}}, "norm before the recurrence", norm_why},
    {{{Block::recurrence, Part::query}},
     "values, keys, queries",
     "Linear maps of the same vector: what enters the state, where it is written to, and where it is read from."},
    {{{Block::recurrence, Part::query_norm}},
     "norm of steps, keys and queries",
     "What the state is moved by is brought to a common size first."},
    {{{Block::recurrence, Part::value_convolution}}, "short convolution", convolution_why},
    {{{Block::recurrence}, Detail::heads}, "recurrence: heads", heads_why},
    {{{Block::recurrence, Part::step}},
     "steps",
     "Each token says, for each head, how far it moves the state: how much is forgotten, and how much is written."},
    {{{Block::recurrence, Part::state}},
     "state",
     "Instead of looking at all tokens before it, a token meets a state of fixed size: that decays, takes the token "
     "in, "
     "and is asked by its query. Its cost and its memory do not grow with the text."},
    {{{Block::recurrence, Part::gate}}, "gate", "A map of the input decides, element by element, what is let through."},
    {{{Block::recurrence, Part::gate_norm}}, "norm of the result", norm_after_why},
    {{{Block::recurrence, Part::output}}, "recurrence: output", output_why},
    {{{Block::recurrence, Part::norm_after}}, "norm after the recurrence", norm_after_why},
    {{{Block::recurrence, Part::residual}}, "recurrence: residual", residual_why},
    {{{Block::recurrence, Part::norm_residual}}, "recurrence: norm of the sum", norm_residual_why},

    {{{Block::layer_input, Part::token}},
     "embedding for the layers",
     "Each token also picks a row with a short vector for every layer: memory that is looked up, not computed with."},
    {{{Block::layer_input, Part::project}},
     "projection for the layers",
     "The embedding, too, is mapped to a short vector for every layer."},
    {{{Block::layer_input, Part::norm}},
     "norm of the layers' inputs",
     "The projected part is brought to a common size."},
    {{{Block::layer_input, Part::combine}},
     "the layers' inputs",
     "Both parts are averaged, and each layer gets its own piece."},
    {{{Block::layer_input, Part::gate}},
     "gate of the layer's input",
     "A narrow map of the stream says which of the layer's own vector is wanted here."},
    {{{Block::layer_input, Part::activation}},
     "the layer's input",
     "The gate lets elements of the vector that the token brought for this layer through."},
    {{{Block::layer_input, Part::output}}, "layer's input: output", down_why},
    {{{Block::layer_input, Part::norm_after}}, "layer's input: norm", norm_after_why},
    {{{Block::layer_input, Part::residual}}, "layer's input: residual", residual_why},
    {{{Block::streams, Part::project}},
     "streams",
     "The embedding is copied into several streams by a matrix each, all of the same magnitude. Layers run on one of "
     "them; the others make the stream wider at little cost (AltUp)."},
    {{{Block::streams, Part::norm}}, "norm before the streams' router", norm_why},
    {{{Block::streams, Part::router}},
     "router of the streams",
     "A few numbers between −1 and 1 for each token say how the streams are to be mixed."},
    {{{Block::streams, Part::predict}},
     "prediction of the streams",
     "Before the layer runs, every stream is predicted as a mixture of all of them."},
    {{{Block::streams, Part::correct}},
     "correction of the streams",
     "What the layer really made of the active stream, less what was predicted, corrects all of them."},
    {{{Block::streams, Part::stream_scale}}, "scale of the corrected stream", stream_scale_why},
    {{{Block::streams, Part::output}},
     "one stream again",
     "Every stream is mapped back by a matrix of its own, brought to the magnitude of the first, and averaged."},

    {{{Block::final_norm}},
     "final norm",
     "The stream has grown with every sum; it is brought to a common size once more."},
    {{{Block::head, Part::project}}, "head projection", "Back to the width of the embedding table."},
    {{{Block::head}},
     "head",
     "Every token's vector meets every row of the vocabulary: a logit for each possible next token."},
    {{{Block::loss}},
     "loss",
     "The surprise at the true next token, averaged: its negative log-probability under softmax(z)."},

    {{{}, Detail::squared_norm}, "norm of all gradients", "Its length decides whether the step is clipped."},
    {{{}, Detail::adamw},
     "AdamW",
     "Two running means per parameter, of the gradient and of its square, set the size of each parameter's own step."},
};

}  // namespace

NetworkPart part_of(Role role) {
  const Part part = role.part;
  if (role.block == Block::input) return NetworkPart::tokens;
  if (role.block == Block::embedding) {
    return part == Part::token      ? NetworkPart::token_embedding
           : part == Part::project  ? NetworkPart::embedding_projection
           : part == Part::position ? NetworkPart::positions
                                    : NetworkPart::embedding_norm;
  }
  if (role.block == Block::final_norm) return NetworkPart::final_norm;
  if (role.block == Block::head) return NetworkPart::head;
  if (role.block == Block::loss) return NetworkPart::loss;
  if (role.block == Block::streams) return NetworkPart::streams;
  if (role.block == Block::layer_input && part != Part::residual) return NetworkPart::layer_input;
  if (part == Part::norm || part == Part::norm_after || part == Part::norm_residual) return NetworkPart::norm;
  if (part == Part::residual) return NetworkPart::residual;
  if (part == Part::router) return NetworkPart::router;
  if (part == Part::combine) return NetworkPart::combine;
  if (part == Part::dispatch || role.expert == Expert::routed) return NetworkPart::experts;
  if (role.expert == Expert::shared) return NetworkPart::shared_expert;
  return role.block == Block::attention         ? NetworkPart::attention
         : role.block == Block::cross_attention ? NetworkPart::cross_attention
         : role.block == Block::recurrence      ? NetworkPart::recurrence
                                                : NetworkPart::feed_forward;
}

std::string_view name_of(NetworkPart part) {
  static constexpr std::array names = std::to_array<std::string_view>({"tokens",
                                                                       "encoder",
                                                                       "token embedding",
                                                                       "embedding projection",
                                                                       "+ positions",
                                                                       "embedding norm",
                                                                       "norm",
                                                                       "+",
                                                                       "attention",
                                                                       "cross-attention",
                                                                       "recurrence",
                                                                       "layer's input",
                                                                       "streams",
                                                                       "feed-forward",
                                                                       "router",
                                                                       "experts",
                                                                       "combine",
                                                                       "shared expert",
                                                                       "final norm",
                                                                       "head",
                                                                       "logits",
                                                                       "loss"});
  static_assert(names.size() == static_cast<std::size_t>(NetworkPart::loss) + 1);
  return names[static_cast<std::size_t>(part)];
}

std::string path_of(const StepKey& key) {
  static constexpr std::array details =
      std::to_array<std::string_view>({"", "heads", "values", "key", "sum", "squared_norm", "adamw"});
  static_assert(details.size() == static_cast<std::size_t>(Detail::adamw) + 1);
  std::string path = full_name(Scope{key.role, -1, key.nth});
  std::replace(path.begin(), path.end(), '.', '/');
  const std::string_view detail = details[static_cast<std::size_t>(key.detail)];
  if (!path.empty() && !detail.empty()) path += '/';
  path += detail;
  return path;
}

const StepText& step_text(const StepKey& key) {
  for (const StepText& text : texts) {
    if (text.key.role == key.role && text.key.detail == key.detail) return text;
  }
  throw Error("no explanation of the step '" + path_of(key) + "'");
}

}  // namespace reckon
