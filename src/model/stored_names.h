// What each family calls its tensors in a file, as transformers' definition of it does. Facts only, which the families'
// readers state (families.h); stored.cpp lays them out.
#pragma once

#include <reckon/role.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace reckon {

// The modules of a feed-forward. Of a mixture's experts, "{}" stands for the expert: one module each, or without it one
// tensor of all.
struct FeedForwardNames {
  std::string_view gate{}, up{}, down{};
  std::string_view gate_up{};  // gate and up in one tensor, instead of the two
};

// Of Gemma 3n's and Gemma 4's parts. What is named in full has no ".weight".
struct StreamNames {
  // What layers read of the token: of the model, and of a layer.
  std::string_view table = "embed_tokens_per_layer", project = "per_layer_model_projection",
                   norm = "per_layer_projection_norm";
  std::string_view gate = "per_layer_input_gate", output = "per_layer_projection",
                   norm_after = "post_per_layer_input_norm";
  // AltUp's: a matrix for each stream but the first, and of a layer.
  std::string_view into = "altup_projections.{}", out_of = "altup_unembed_projections.{}";
  std::string_view router_norm = "altup.router_norm", router = "altup.modality_router",
                   predict = "altup.prediction_coefs", correct = "altup.correction_coefs";
  std::string_view scale = "altup.correct_output_scale";  // in full
  std::string_view laurel_down = "laurel.linear_left", laurel_up = "laurel.linear_right",
                   laurel_norm = "laurel.post_laurel_norm";
  std::string_view layer_scale = "layer_scalar";  // in full
};

// Of a mixture with norms of its own (Gemma 4).
struct OwnNormNames {
  std::string_view before_shared = "pre_feedforward_layernorm", after_shared = "post_feedforward_layernorm_1";
  std::string_view before_experts = "pre_feedforward_layernorm_2", after_experts = "post_feedforward_layernorm_2";
  std::string_view router = "router.scale", expert_scale = "router.per_expert_scale";  // in full
};

struct MixtureNames {
  std::string_view router;
  FeedForwardNames experts;
  bool transposed = false;            // stored in × out, all of them
  bool either = false;                // …or out × in, as their shapes say
  bool interleaved = false;           // gpt-oss: the columns of gate_up alternate
  bool flat = false;                  // DBRX: experts × rows is one axis
  bool down_transposed = false;       // …and down alone is in × out
  std::string_view into{}, out_of{};  // where experts have a width of their own
};

// The modules of a recurrence. Each name follows `module`.
struct RecurrenceNames {
  // A tensor with the rows of several parts, one after another; or by group of heads, in each of them part by part.
  struct Shared {
    std::string_view module;
    std::vector<Part> parts;
    bool by_group = false;
    bool alternate = false;  // row by row (Zamba)
    bool by_head = false;    // a matrix of each group of heads, in one tensor without ".weight" (Zamba)
  };
  std::string_view module{};
  std::string_view norm{};           // before it, where that has not attention's name
  std::vector<Shared> linears;       // every projection but the last, each in one of these
  std::vector<Shared> convolutions;  // of values, keys and queries (channels × 1 × width)
  std::string_view output;
  std::string_view gate_norm, step_norm, key_norm, query_norm;
  std::string_view step_gate, beta_gate;    // RG-LRU's; "_weight" and "_bias" follow
  std::string_view decay, step_bias, skip;  // in full, without ".weight"
  bool decay_of_four = false;               // stored as 1 × 1 × heads × 1 (Kimi)
  bool heads_apart = false;                 // decays, step biases and skips have an axis of groups (Zamba)
  std::string_view beside_attention{};      // stands before these names, its norm's too, in layers with attention
};

// The modules of an indexer.
struct IndexerNames {
  std::string_view query, query_norm, key, key_norm, weight;
};

// Of queries, keys and values that tokens before have a part in: in one tensor each of queries, then keys.
struct ConvolvedNames {
  std::string_view value_before, channels, heads;
  std::string_view key_scale;  // in full
};

// Of keys of several tokens: "wkv", "wgate", "ape" and "norm" follow the last two.
struct SharedKeyNames {
  std::string_view output_down, entries, index_entries;
};

// What stands before "hidden_states_scale" and "hidden_states_bias", of what is embedded or what a sublayer makes, and
// before "residual_scale" and "residual_bias", of the stream.
struct AffineNames {
  std::string_view embedding, attention, feed_forward;
};

// Of a router that is a network.
struct RouterNames {
  std::string_view down, norm, first, second;
  std::string_view state;  // in full
};

// Names of modules: ".weight" and ".bias" follow. An empty name says that the family has no such tensor.
// A layer's names follow `layer`, where "{}" stands for its number; both follow one of the prefixes. In a layer with
// several sublayers of a kind, "#" in a name stands for which one it is.
// What is set here are LLaMA's names; those of other families differ from them.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): they stand where one looks for them.
struct FamilyNames {
  std::vector<std::string_view> prefixes{"model.", "", "model.language_model.", "language_model.model."};
  std::string_view layer = "layers.{}.";

  std::string_view token_embedding = "embed_tokens";
  std::string_view position_embedding;
  std::string_view embedding_norm;
  std::string_view embedding_project, head_project;
  std::string_view final_norm = "norm";
  std::vector<std::string_view> heads{"lm_head", "language_model.lm_head"};  // in full, without a prefix

  bool transposed = false;  // linear layers are stored in × out (GPT-2's Conv1D)
  std::string_view attention_norm = "input_layernorm";
  std::string_view attention_norm_after, attention_norm_residual;
  std::string_view attention_norm_after_too;  // another name of the same, where a file has it (OLMo Hybrid)
  std::string_view query = "self_attn.q_proj", key = "self_attn.k_proj", value = "self_attn.v_proj";
  std::string_view query_key_value;  // instead of the three
  bool by_group = false;             // …whose rows go by group of heads (queries, key, value), not q, then k, then v
  std::int64_t blocks = 0;  // …or by so many blocks of heads, in each of which values stand before keys (CodeGen)
  std::string_view output = "self_attn.o_proj";
  std::string_view output_bias;  // in full, where it is not the output's own
  std::string_view output_gate;
  bool gate_with_query = false;  // the gate's rows follow those of each head's query, in one tensor
  std::string_view query_norm = "self_attn.q_norm", key_norm = "self_attn.k_norm";  // "{}": one tensor per head
  std::string_view sinks;                                                           // in full, without ".weight"
  std::string_view query_down, query_down_norm, query_up, kv_down, kv_down_norm, kv_up;
  std::string_view difference;                             // of two heads: "q1", "k1", "q2" and "k2" follow
  std::string_view key_value;                              // keys, then values, beside queries that are routed
  std::string_view query_router, output_shift;             // of routed queries; the second in full
  std::string_view mask, mask_decay;                       // that values make; the second in full
  std::string_view attention_stream, feed_forward_stream;  // factors of the stream, in full
  StreamNames streams;
  IndexerNames indexer;
  ConvolvedNames convolved;
  SharedKeyNames shared_key;
  std::string_view hyper_attention, hyper_feed_forward, hyper_head;  // "fn", "base" and "scale" follow
  std::string_view expert_table;                                     // in full
  AffineNames affine;
  RouterNames router;
  std::string_view norm_in_gated, norm_gate_down, norm_gate;  // of a norm with a gate, each follows the norm's name
  // Adapters of the network: in the names of the layer whose weights the sublayer has, "{}" stands for which of the
  // layers that have them it is; ".0" and ".1" follow.
  std::string_view query_adapter, key_adapter, value_adapter, feed_forward_adapter;
  std::string_view relative, profile;  // the latter in full, without ".weight"
  std::string_view key_convolution, value_convolution, attention_convolution, feed_forward_convolution;
  std::string_view factor, mixture_factor;  // in full
  std::string_view projection;              // behind a sublayer that projects what it makes

  std::string_view cross_norm, cross_query, cross_key_value, cross_output;

  std::string_view feed_forward_norm = "post_attention_layernorm";
  std::string_view feed_forward_norm_after, feed_forward_norm_residual;
  // In a parallel block with two norms, where these have names of their own.
  std::string_view parallel_attention_norm, parallel_feed_forward_norm;
  FeedForwardNames feed_forward{.gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj"};
  std::string_view activation = "mlp.act_fn";  // whose numbers are alpha_p, alpha_n, beta and eps (xIELU)

  RecurrenceNames recurrence;  // its norms are those of attention

  std::vector<MixtureNames> mixtures;  // the forms in which files are found; the usual one first
  // What follows the name of one tensor of all experts.
  std::string_view all_experts_weight, all_experts_bias = "_bias";
  std::string_view correction;   // in full, without ".bias"
  bool correction_rows = false;  // …whose one row is an axis of its own (Ernie 4.5)
  FeedForwardNames shared;       // of the shared expert
  std::string_view shared_gate = "mlp.shared_expert_gate";
  std::string_view mixture_norm_after;  // where it is not feed_forward_norm_after
  OwnNormNames own_norms;
  std::string_view mixture_shift;  // in full

  // Files that hold a tensor with this word in its name have other names.
  std::string_view sign;
  void (*otherwise)(FamilyNames&) = nullptr;

  // GGUF: what is fused in some files and apart in others (query_key_value, kv_up) is as the file has it.
  bool as_found = false;
  std::string_view key_up, value_up;  // instead of kv_up: of each head, the keys' part transposed
};

// What every family's tensors are called in a GGUF file.
FamilyNames gguf_names(std::string_view family);
// A name that only such files have, and all of them do.
inline constexpr std::string_view gguf_embedding = "token_embd.weight";

}  // namespace reckon
