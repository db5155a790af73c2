// The names of tensors in GGUF files. They are nearly the same for all families, and so is the layout: rows of queries,
// then keys, then values where they share a tensor, no matrix in × out but the keys' part of a latent.
#include "model/stored_names.h"

namespace reckon {

FamilyNames gguf_names(std::string_view family) {
  FamilyNames names;
  names.as_found = true;
  names.prefixes = {""};
  names.layer = "blk.{}.";
  names.token_embedding = "token_embd";
  names.position_embedding = "position_embd";
  names.embedding_norm = "token_embd_norm";
  names.final_norm = "output_norm";
  names.heads = {"output"};

  names.attention_norm = "attn_norm";
  names.attention_norm_after = "post_attention_norm";
  names.query = "attn_q";
  names.key = "attn_k";
  names.value = "attn_v";
  names.query_key_value = "attn_qkv";
  names.output = "attn_output";
  names.query_norm = "attn_q_norm";
  names.key_norm = "attn_k_norm";
  names.sinks = "attn_sinks.weight";
  names.query_down = "attn_q_a";
  names.query_down_norm = "attn_q_a_norm";
  names.query_up = "attn_q_b";
  names.kv_down = "attn_kv_a_mqa";
  names.kv_down_norm = "attn_kv_a_norm";
  names.kv_up = "attn_kv_b";
  names.key_up = "attn_k_b";
  names.value_up = "attn_v_b";

  names.feed_forward_norm = "ffn_norm";
  names.feed_forward_norm_after = "post_ffw_norm";
  names.feed_forward = {.gate = "ffn_gate", .up = "ffn_up", .down = "ffn_down"};
  names.mixtures = {
      {"ffn_gate_inp", {.gate = "ffn_gate_exps", .up = "ffn_up_exps", .down = "ffn_down_exps"}},
      {"ffn_gate_inp", {.down = "ffn_down_exps", .gate_up = "ffn_gate_up_exps"}},
      {"ffn_gate_inp", {.gate = "ffn_gate.{}", .up = "ffn_up.{}", .down = "ffn_down.{}"}},  // Mixtral before 2024-04
  };
  names.all_experts_weight = ".weight";
  names.all_experts_bias = ".bias";
  names.correction = "exp_probs_b.bias";
  names.shared = {.gate = "ffn_gate_shexp", .up = "ffn_up_shexp", .down = "ffn_down_shexp"};
  names.shared_gate = "ffn_gate_inp_shexp";

  if (family == "phi3") names.feed_forward.gate_up = "ffn_up";
  if (family == "gpt_oss") names.feed_forward_norm = "post_attention_norm";
  if (family == "falcon") {  // with two norms, the one that Falcon-7B shares is the feed-forward's
    names.parallel_attention_norm = "attn_norm_2";
    names.parallel_feed_forward_norm = "attn_norm";
  }
  return names;
}

}  // namespace reckon
