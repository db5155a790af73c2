// What each step is called, why it is there and what it is a part of, by its path.
#include <reckon/error.h>

#include "report/steps.h"

namespace reckon {
namespace {

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
constexpr std::string_view heads_why =
    "The vectors are cut into heads, which attend independently. Nothing is computed.";

constexpr StepText texts[] = {
    {"input", "tokens", "A text arrives as numbers, one per token: its row in the vocabulary."},
    {"embedding/token", "token embedding",
     "Each token picks its row of a learned table. A look-up needs no arithmetic, only memory."},
    {"embedding/project", "embedding projection", "The table is narrower than the stream; one matrix widens its rows."},
    {"embedding/position", "positions", "Attention alone does not see order, so a row for each position is added."},
    {"embedding/norm", "embedding norm", "The stream starts normalised."},

    {"attention/norm", "norm before attention", norm_why},
    {"attention/query", "queries, keys, values",
     "Three linear maps of the same vector: what a token looks for, what it can be found by, and what it hands over."},
    {"attention/query_down", "query latent",
     "Queries go through a narrow latent: two thin matrices instead of one large one."},
    {"attention/query_down_norm", "norm of the query latent", "The latent is normalised before it is expanded."},
    {"attention/query_up", "queries from the latent",
     "The latent becomes one query per head, in two parts: one that knows no position and one that will be rotated."},
    {"attention/kv_down", "key/value latent",
     "Keys and values of all heads are pressed into one small latent per token, with one rotated key for all heads "
     "beside it. Only these two are cached."},
    {"attention/kv_down_norm", "norm of the key/value latent", "The latent is normalised before it is expanded."},
    {"attention/kv_up", "keys and values from the latent",
     "One matrix rebuilds every head's key and value from the latent. In decoding its key half is folded into the "
     "query "
     "instead, so that cached latents are never expanded."},
    {"attention/kv_up/values", "values from the latent",
     "What was mixed are latents; the matrix's value half turns each head's mean into its answer."},
    {"attention/heads", "heads", heads_why},
    {"attention/query_norm", "norms of queries and keys", "Normalised queries and keys keep the scores within bounds."},
    {"attention/rope", "rotary positions",
     "Pairs of elements turn by an angle that grows with the position, so that a query and a key meet at an angle that "
     "depends on their distance alone. The angles are fixed: no parameters."},
    {"attention/rope/key", "rotary position of the shared key", "It turns like the queries do, once for all heads."},
    {"attention/cache", "cache",
     "Keys and values of earlier tokens are kept, not computed again; the new ones join them. It costs memory instead "
     "of FLOPs."},
    {"attention/scores", "scores", scores_why},
    {"attention/softmax", "softmax", softmax_why},
    {"attention/mixing", "mixing", mixing_why},
    {"attention/output", "output", output_why},
    {"attention/norm_after", "norm after attention", norm_after_why},
    {"attention/residual", "residual", residual_why},
    {"attention/norm_residual", "norm of the sum", norm_residual_why},

    {"cross_attention/norm", "norm before cross-attention", norm_why},
    {"cross_attention/query", "cross-attention: queries, keys, values",
     "Queries come from the stream, keys and values from the encoder's output n."},
    {"cross_attention/heads", "cross-attention: heads", heads_why},
    {"cross_attention/cache", "cross-attention: cache", "The encoder's keys and values are made once and kept."},
    {"cross_attention/scores", "cross-attention: scores", scores_why},
    {"cross_attention/softmax", "cross-attention: softmax", softmax_why},
    {"cross_attention/mixing", "cross-attention: mixing", mixing_why},
    {"cross_attention/output", "cross-attention: output", output_why},
    {"cross_attention/residual", "cross-attention: residual", residual_why},

    {"feed_forward/norm", "norm before the feed-forward", norm_why},
    {"feed_forward/up", "up", up_why},
    {"feed_forward/gate", "gate and up",
     "Each token, by itself, is taken to a wider space twice: one copy will gate the other."},
    {"feed_forward/activation", "activation", activation_why},
    {"feed_forward/down", "down", down_why},
    {"feed_forward/router", "router", "A small matrix scores every expert for each token, and the best are chosen."},
    {"feed_forward/dispatch", "dispatch", "Each token's vector is copied to its experts. Nothing is computed."},
    {"feed_forward/experts/up", "experts: up", up_why},
    {"feed_forward/experts/gate", "experts: gate and up",
     "Each expert is a feed-forward of its own: all are stored, few are computed."},
    {"feed_forward/experts/activation", "experts: activation", activation_why},
    {"feed_forward/experts/down", "experts: down", down_why},
    {"feed_forward/combine", "combine", "The experts' answers are summed by the router's weights."},
    {"feed_forward/shared/up", "shared expert: up", up_why},
    {"feed_forward/shared/gate", "shared expert: gate and up",
     "One expert serves every token, beside the chosen ones."},
    {"feed_forward/shared/activation", "shared expert: activation", activation_why},
    {"feed_forward/shared/down", "shared expert: down", down_why},
    {"feed_forward/shared/sum", "shared expert: sum", "Its answer joins those of the chosen experts."},
    {"feed_forward/norm_after", "norm after the feed-forward", norm_after_why},
    {"feed_forward/residual", "residual", residual_why},
    {"feed_forward/norm_residual", "norm of the sum", norm_residual_why},

    {"final_norm", "final norm", "The stream has grown with every sum; it is brought to a common size once more."},
    {"head/project", "head projection", "Back to the width of the embedding table."},
    {"head", "head", "Every token's vector meets every row of the vocabulary: a logit for each possible next token."},
    {"loss", "loss", "The surprise at the true next token, averaged: its negative log-probability under softmax(z)."},

    {"squared_norm", "norm of all gradients", "Its length decides whether the step is clipped."},
    {"adamw", "AdamW",
     "Two running means per parameter, of the gradient and of its square, set the size of each parameter's own step."},
};

}  // namespace

std::string_view part_name(std::string_view path) {
  // The first prefix that fits holds.
  static constexpr struct {
    std::string_view prefix, name;
  } table[] = {
      {"input", "tokens"},
      {"embedding/token", "token embedding"},
      {"embedding/project", "embedding projection"},
      {"embedding/position", "+ positions"},
      {"embedding/norm", "embedding norm"},
      {"attention/norm", "norm"},
      {"attention/residual", "+"},
      {"attention/", "attention"},
      {"cross_attention/norm", "norm"},
      {"cross_attention/residual", "+"},
      {"cross_attention/", "cross-attention"},
      {"feed_forward/norm", "norm"},
      {"feed_forward/residual", "+"},
      {"feed_forward/router", "router"},
      {"feed_forward/dispatch", "experts"},
      {"feed_forward/experts", "experts"},
      {"feed_forward/combine", "combine"},
      {"feed_forward/shared", "shared expert"},
      {"feed_forward/", "feed-forward"},
      {"final_norm", "final norm"},
      {"head", "head"},
      {"loss", "loss"},
  };
  for (const auto& [prefix, name] : table) {
    if (path.starts_with(prefix)) return name;
  }
  return path;
}

const StepText& step_text(std::string_view key) {
  for (const StepText& text : texts) {
    if (text.key == key) return text;
  }
  throw Error("no explanation of the step '" + std::string(key) + "'");
}

}  // namespace reckon
