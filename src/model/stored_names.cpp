// The names are those of Hugging Face's files, as transformers' definition of each family gives them.
#include "model/stored_names.h"

#include <reckon/error.h>

#include <algorithm>
#include <array>

#include "files/quote.h"

namespace reckon {
namespace {

// Experts one by one, as published; transformers 5 may also write them fused.
const std::vector<MixtureNames> qwen_mixtures{
    {.router = "mlp.gate",
     .gate_up = {},
     .gate = "mlp.experts.{}.gate_proj",
     .up = "mlp.experts.{}.up_proj",
     .down = "mlp.experts.{}.down_proj"},
    {.router = "mlp.gate",
     .gate_up = "mlp.experts.gate_up_proj",
     .gate = {},
     .up = {},
     .down = "mlp.experts.down_proj"},
};

FamilyNames llama() { return {}; }

// Norms on both sides of each sublayer (Gemma 2 and 3), or only after it (OLMo 2).
FamilyNames norms_after() {
  FamilyNames names = llama();
  names.attention_norm_after = "post_attention_layernorm";
  names.feed_forward_norm = "pre_feedforward_layernorm";
  names.feed_forward_norm_after = "post_feedforward_layernorm";
  return names;
}

FamilyNames mixtral() {
  FamilyNames names = llama();
  names.mixtures = {{.router = "block_sparse_moe.gate",
                     .gate_up = {},
                     .gate = "block_sparse_moe.experts.{}.w1",
                     .up = "block_sparse_moe.experts.{}.w3",
                     .down = "block_sparse_moe.experts.{}.w2"},
                    qwen_mixtures.back()};
  return names;
}

FamilyNames qwen_moe() {
  FamilyNames names = llama();
  names.mixtures = qwen_mixtures;
  return names;
}

FamilyNames deepseek() {
  FamilyNames names = llama();
  names.query_down = "self_attn.q_a_proj";
  names.query_down_norm = "self_attn.q_a_layernorm";
  names.query_up = "self_attn.q_b_proj";
  names.kv_down = "self_attn.kv_a_proj_with_mqa";
  names.kv_down_norm = "self_attn.kv_a_layernorm";
  names.kv_up = "self_attn.kv_b_proj";
  names.mixtures = qwen_mixtures;
  names.correction = "mlp.gate.e_score_correction_bias";
  names.shared_gate = "mlp.shared_experts.gate_proj";
  names.shared_up = "mlp.shared_experts.up_proj";
  names.shared_down = "mlp.shared_experts.down_proj";
  return names;
}

FamilyNames gpt_oss() {
  FamilyNames names = llama();
  names.sinks = "self_attn.sinks";
  names.mixtures = {{.router = "mlp.router",
                     .gate_up = "mlp.experts.gate_up_proj",
                     .gate = {},
                     .up = {},
                     .down = "mlp.experts.down_proj",
                     .interleaved = true}};
  return names;
}

FamilyNames phi() {
  FamilyNames names = llama();
  names.final_norm = "final_layernorm";
  names.output = "self_attn.dense";
  names.query_norm = "self_attn.q_layernorm";
  names.key_norm = "self_attn.k_layernorm";
  names.up = "mlp.fc1";
  names.down = "mlp.fc2";
  return names;
}

FamilyNames phi3() {
  FamilyNames names = llama();
  names.query_key_value = "self_attn.qkv_proj";
  names.gate_up = "mlp.gate_up_proj";
  return names;
}

FamilyNames starcoder2() {
  FamilyNames names = llama();
  names.up = "mlp.c_fc";
  names.down = "mlp.c_proj";
  return names;
}

FamilyNames stablelm() {
  FamilyNames names = llama();
  names.query_norm = "self_attn.q_layernorm.norms.{}";
  names.key_norm = "self_attn.k_layernorm.norms.{}";
  return names;
}

FamilyNames opt() {
  FamilyNames names = llama();
  names.prefixes = {"model.decoder.", "decoder.", ""};
  names.position_embedding = "embed_positions";
  names.embedding_project = "project_in";
  names.head_project = "project_out";
  names.final_norm = "final_layer_norm";
  names.attention_norm = names.attention_norm_residual = "self_attn_layer_norm";  // before, but after in 350M
  names.feed_forward_norm = names.feed_forward_norm_residual = "final_layer_norm";
  names.output = "self_attn.out_proj";
  names.up = "fc1";
  names.down = "fc2";
  return names;
}

// What the families that descend from the first GPT code share.
FamilyNames gpt() {
  FamilyNames names = llama();
  names.prefixes = {"transformer.", ""};
  names.heads = {"lm_head"};
  names.layer = "h.{}.";
  names.token_embedding = "wte";
  names.position_embedding = "wpe";
  names.final_norm = "ln_f";
  names.attention_norm = "ln_1";
  names.feed_forward_norm = "ln_2";
  names.up = "mlp.c_fc";
  names.down = "mlp.c_proj";
  return names;
}

FamilyNames gpt2() {
  FamilyNames names = gpt();
  names.transposed = true;
  names.query_key_value = "attn.c_attn";
  names.output = "attn.c_proj";
  names.cross_norm = "ln_cross_attn";
  names.cross_query = "crossattention.q_attn";
  names.cross_key_value = "crossattention.c_attn";
  names.cross_output = "crossattention.c_proj";
  return names;
}

FamilyNames gpt_neo() {
  FamilyNames names = gpt();
  names.query = "attn.attention.q_proj";
  names.key = "attn.attention.k_proj";
  names.value = "attn.attention.v_proj";
  names.output = "attn.attention.out_proj";
  return names;
}

FamilyNames gptj() {
  FamilyNames names = gpt();
  names.query = "attn.q_proj";
  names.key = "attn.k_proj";
  names.value = "attn.v_proj";
  names.output = "attn.out_proj";
  names.up = "mlp.fc_in";
  names.down = "mlp.fc_out";
  return names;
}

// What GPT-NeoX, BLOOM and Falcon share: Megatron's names for the feed-forward, q/k/v by group of heads.
FamilyNames megatron() {
  FamilyNames names = llama();
  names.by_group = true;
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  return names;
}

FamilyNames gpt_neox() {
  FamilyNames names = megatron();
  names.prefixes = {"gpt_neox.", ""};
  names.heads = {"embed_out", "lm_head"};
  names.token_embedding = "embed_in";
  names.final_norm = "final_layer_norm";
  names.query_key_value = "attention.query_key_value";
  names.output = "attention.dense";
  return names;
}

FamilyNames bloom() {
  FamilyNames names = megatron();
  names.prefixes = {"transformer.", ""};
  names.heads = {"lm_head"};
  names.layer = "h.{}.";
  names.token_embedding = "word_embeddings";
  names.embedding_norm = "word_embeddings_layernorm";
  names.final_norm = "ln_f";
  names.query_key_value = "self_attention.query_key_value";
  names.output = "self_attention.dense";
  return names;
}

FamilyNames falcon() {
  FamilyNames names = bloom();
  names.parallel_attention_norm = "ln_attn";
  names.parallel_feed_forward_norm = "ln_mlp";
  return names;
}

struct Family {
  std::string_view name;
  FamilyNames (*names)();
};
constexpr std::array families{
    Family{"arcee", llama},
    Family{"bloom", bloom},
    Family{"cohere", llama},
    Family{"deepseek_v2", deepseek},
    Family{"deepseek_v3", deepseek},
    Family{"falcon", falcon},
    Family{"gemma", llama},
    Family{"gemma2", norms_after},
    Family{"gemma3_text", norms_after},
    Family{"gpt2", gpt2},
    Family{"gpt_neo", gpt_neo},
    Family{"gpt_neox", gpt_neox},
    Family{"gpt_oss", gpt_oss},
    Family{"gptj", gptj},
    Family{"granite", llama},
    Family{"llama", llama},
    Family{"mistral", llama},
    Family{"mixtral", mixtral},
    Family{"olmo2", norms_after},
    Family{"opt", opt},
    Family{"phi", phi},
    Family{"phi3", phi3},
    Family{"qwen2", llama},
    Family{"qwen3", llama},
    Family{"qwen3_moe", qwen_moe},
    Family{"stablelm", stablelm},
    Family{"starcoder2", starcoder2},
};

}  // namespace

FamilyNames names_of_family(const std::string& family) {
  const auto found = std::find_if(families.begin(), families.end(), [&](const Family& f) { return f.name == family; });
  if (found == families.end())
    throw Error("the names of tensors in files of the family " + quote(family) + " are not known");
  return found->names();
}

}  // namespace reckon
