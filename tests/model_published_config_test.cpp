// Configs in the form in which their authors published them, with all the fields that do not matter: every one must be
// read, and what is peculiar to it must be right.
#include <gtest/gtest.h>

#include <reckon/reckon.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/read.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

Model read_published(const char* text) { return read_config(nlohmann::json::parse(text), "config.json"); }

TEST(PublishedConfig, Gpt2IsRead) {
  const Model model =
      read_published(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
    "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})");
  EXPECT_EQ(model.context, 1024);
}

TEST(PublishedConfig, DistilGpt2IsRead) {
  const Model model =
      read_published(R"({"_num_labels": 1, "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
    "initializer_range": 0.02, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
    "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6, "n_positions": 1024, "resid_pdrop": 0.1,
    "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
    "summary_type": "cls_index", "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257})");
  EXPECT_EQ(model.layers.size(), 6u);
}

TEST(PublishedConfig, GptNeo13BIsRead) {
  const Model model = read_published(R"({"activation_function": "gelu_new", "architectures": ["GPTNeoForCausalLM"],
    "attention_dropout": 0, "attention_layers": ["global", "local", "global", "local"],
    "attention_types": [[["global", "local"], 2]], "bos_token_id": 50256, "embed_dropout": 0, "eos_token_id": 50256,
    "gradient_checkpointing": false, "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": null,
    "layer_norm_epsilon": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neo", "num_heads": 16,
    "num_layers": 4, "resid_dropout": 0, "summary_activation": null, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true}}, "tokenizer_class": "GPT2Tokenizer",
    "transformers_version": "4.9.0.dev0", "use_cache": true, "vocab_size": 50257, "window_size": 256})");
  EXPECT_EQ(find<Attention>(model.layers[3])->window, 256);
}

TEST(PublishedConfig, GptJIsRead) {
  const Model model =
      read_published(R"({"activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop": 0.0,
    "bos_token_id": 50256, "embd_pdrop": 0.0, "eos_token_id": 50256, "gradient_checkpointing": false,
    "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 4096, "n_head": 16,
    "n_inner": null, "n_layer": 28, "n_positions": 2048, "resid_pdrop": 0.0, "rotary": true, "rotary_dim": 64,
    "scale_attn_weights": true, "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
    "summary_type": "cls_index", "summary_use_proj": true, "task_specific_params": {"text-generation": {}},
    "tie_word_embeddings": false, "tokenizer_class": "GPT2Tokenizer", "transformers_version": "4.18.0.dev0",
    "use_cache": true, "vocab_size": 50400})");
  EXPECT_EQ(find<Attention>(model.layers[0])->rope->dims, 64);
}

TEST(PublishedConfig, PythiaIsRead) {
  const Model model = read_published(R"({"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0,
    "hidden_act": "gelu", "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
    "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 12,
    "num_hidden_layers": 12, "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false,
    "torch_dtype": "float16", "transformers_version": "4.24.0", "use_cache": true, "use_parallel_residual": true,
    "vocab_size": 50304})");
  EXPECT_EQ(find<Attention>(model.layers[0])->rope->dims, 16);
}

TEST(PublishedConfig, GptNeox20BIsRead) {
  const Model model = read_published(R"({"architectures": ["GPTNeoXForCausalLM"], "attention_probs_dropout_prob": 0,
    "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu_fast", "hidden_dropout_prob": 0, "hidden_size": 6144,
    "initializer_range": 0.02, "intermediate_size": 24576, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
    "model_type": "gpt_neox", "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_emb_base": 10000,
    "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.19.0.dev0",
    "use_cache": true, "vocab_size": 50432})");
  EXPECT_EQ(feed_forward_of(model.layers[0])->activation, Activation::gelu_tanh);
}

TEST(PublishedConfig, Opt350MIsRead) {
  const Model model =
      read_published(R"({"_name_or_path": "opt-350m", "_remove_final_layer_norm": false, "activation_dropout": 0.0,
    "activation_function": "relu", "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2,
    "do_layer_norm_before": false, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 4096, "hidden_size": 1024,
    "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 16,
    "num_hidden_layers": 24, "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16",
    "transformers_version": "4.20.0.dev0", "use_cache": true, "vocab_size": 50272, "word_embed_proj_dim": 512})");
  EXPECT_EQ(model.d_embedding, 512);
  EXPECT_FALSE(model.final_norm);
}

TEST(PublishedConfig, Bloom560MIsReadInItsMegatronForm) {
  const Model model = read_published(R"({"apply_residual_connection_post_layernorm": false, "attention_dropout": 0.0,
    "attention_softmax_in_fp32": true, "bias_dropout_fusion": true, "bos_token_id": 1, "eos_token_id": 2,
    "pad_token_id": 3, "unk_token_id": 0, "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
    "masked_softmax_fusion": true, "model_type": "bloom", "n_embed": 1024, "n_inner": null, "n_layer": 24,
    "num_attention_heads": 16, "offset_alibi": 100, "pretraining_tp": 1, "seq_length": 2048, "skip_bias_add": true,
    "skip_bias_add_qkv": false, "transformers_version": "4.20.0", "use_cache": true, "vocab_size": 250880,
    "architectures": ["BloomForCausalLM"]})");
  EXPECT_EQ(feed_forward_of(model.layers[0])->d_ff, 4096);
}

TEST(PublishedConfig, Falcon40BIsRead) {
  const Model model = read_published(R"({"alibi": false, "apply_residual_connection_post_layernorm": false,
    "architectures": ["FalconForCausalLM"], "attention_dropout": 0.0, "auto_map": {"AutoConfig": "x--y.Z"}, "bias": false,
    "bos_token_id": 11, "eos_token_id": 11, "hidden_dropout": 0.0, "hidden_size": 8192, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "falcon", "multi_query": true, "new_decoder_architecture": true,
    "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8, "parallel_attn": true,
    "torch_dtype": "bfloat16", "transformers_version": "4.27.4", "use_cache": true, "vocab_size": 65024})");
  EXPECT_EQ(find<Attention>(model.layers[0])->n_kv_heads, 8);
  EXPECT_EQ(find<Attention>(model.layers[0])->d_head, 64);
}

TEST(PublishedConfig, Falcon11BIsRead) {
  const Model model = read_published(R"({"activation": "gelu", "alibi": false, "architectures": ["FalconForCausalLM"],
    "attention_dropout": 0.0, "bias": false, "bos_token_id": 11, "eos_token_id": 11, "ff_factor": 4,
    "ffn_hidden_size": 16384, "hidden_dropout": 0.0, "hidden_size": 4096, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "max_position_embeddings": 8192, "model_type": "falcon", "multi_query": true,
    "new_decoder_architecture": true, "num_attention_heads": 32, "num_hidden_layers": 60, "num_kv_heads": 8,
    "num_ln_in_parallel_attn": 1, "parallel_attn": true, "rope_scaling": null, "rope_theta": 500042.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.39.2", "use_cache": true,
    "vocab_size": 65024})");
  EXPECT_EQ(model.layers[0].sublayers[1].reads, Sublayer::Reads::first);
  EXPECT_FALSE(model.head.tied);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->rope->theta, 500042.0);
}

TEST(PublishedConfig, Llama1IsRead) {
  const Model model = read_published(R"({"architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
    "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 11008, "initializer_range": 0.02,
    "max_sequence_length": 2048, "max_position_embeddings": 2048, "model_type": "llama", "num_attention_heads": 32,
    "num_hidden_layers": 32, "pad_token_id": 0, "rms_norm_eps": 1e-06, "torch_dtype": "float16",
    "transformers_version": "4.28.0.dev0", "use_cache": true, "vocab_size": 32000})");
  EXPECT_EQ(find<Attention>(model.layers[0])->n_kv_heads, 32);
  EXPECT_FALSE(model.head.tied);
}

TEST(PublishedConfig, Llama31IsRead) {
  const Model model =
      read_published(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.43.0.dev0", "use_cache": true,
    "vocab_size": 128256})");
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->rope->original_context, 8192);
}

TEST(PublishedConfig, SmolLM2IsRead) {
  const Model model =
      read_published(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
    "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "model_type": "llama",
    "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": true,
    "vocab_size": 49152})");
  EXPECT_EQ(find<Attention>(model.layers[0])->d_head, 64);
}

TEST(PublishedConfig, MistralNemoIsRead) {
  const Model model =
      read_published(R"({"architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
    "eos_token_id": 2, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "initializer_range": 0.02,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "model_type": "mistral", "num_attention_heads": 32,
    "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0,
    "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.43.0.dev0", "use_cache": true, "vocab_size": 131072})");
  EXPECT_EQ(find<Attention>(model.layers[0])->d_head, 128);
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 0);
}

TEST(PublishedConfig, Mixtral8x7BIsRead) {
  const Model model =
      read_published(R"({"architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
    "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
    "max_position_embeddings": 32768, "model_type": "mixtral", "num_attention_heads": 32, "num_experts_per_tok": 2,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8, "output_router_logits": false,
    "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02, "sliding_window": null,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.36.0.dev0", "use_cache": true,
    "vocab_size": 32000})");
  EXPECT_EQ(find<Mixture>(model.layers[31])->n_experts, 8);
}

TEST(PublishedConfig, Qwen25IsRead) {
  const Model model =
      read_published(R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
    "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02,
    "intermediate_size": 18944, "max_position_embeddings": 131072, "max_window_layers": 28, "model_type": "qwen2",
    "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.40.1", "use_cache": true, "use_mrope": false, "use_sliding_window": false,
    "vocab_size": 152064})");
  EXPECT_EQ(find<Attention>(model.layers[27])->window, 0);
}

TEST(PublishedConfig, Qwen330BA3BIsRead) {
  const Model model =
      read_published(R"({"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 151643, "decoder_sparse_step": 1, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
    "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 6144, "max_position_embeddings": 40960,
    "max_window_layers": 48, "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": 768,
    "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
    "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false, "rms_norm_eps": 1e-06,
    "rope_scaling": null, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001, "sliding_window": null,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true,
    "use_sliding_window": false, "vocab_size": 151936})");
  EXPECT_TRUE(find<Mixture>(model.layers[0])->normalize);
}

TEST(PublishedConfig, Gemma29BIsRead) {
  const Model model =
      read_published(R"({"architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "attn_logit_softcapping": 50.0, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
    "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 14336,
    "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 16, "num_hidden_layers": 42,
    "num_key_value_heads": 8, "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
    "rope_theta": 10000.0, "sliding_window": 4096, "sliding_window_size": 4096, "torch_dtype": "float32",
    "transformers_version": "4.42.0.dev0", "use_cache": true, "vocab_size": 256000})");
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->scale, 1.0 / 16);
}

TEST(PublishedConfig, Gemma31BIsRead) {
  const Model model =
      read_published(R"({"architectures": ["Gemma3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "attn_logit_softcapping": null, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": [1, 106],
    "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
    "initializer_range": 0.02, "intermediate_size": 6912, "max_position_embeddings": 32768, "model_type": "gemma3_text",
    "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1, "pad_token_id": 0,
    "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000, "rope_scaling": null,
    "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16",
    "transformers_version": "4.50.0.dev0", "use_cache": true, "vocab_size": 262144})");
  EXPECT_EQ(find<Attention>(model.layers[5])->window, 0);
  EXPECT_DOUBLE_EQ(model.head.softcap, 0);
}

TEST(PublishedConfig, Phi2IsRead) {
  const Model model =
      read_published(R"({"architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 50256,
    "embd_pdrop": 0.0, "eos_token_id": 50256, "hidden_act": "gelu_new", "hidden_size": 2560, "initializer_range": 0.02,
    "intermediate_size": 10240, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "phi",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "partial_rotary_factor": 0.4,
    "qk_layernorm": false, "resid_pdrop": 0.1, "rope_scaling": null, "rope_theta": 10000.0, "tie_word_embeddings": false,
    "torch_dtype": "float16", "transformers_version": "4.37.0", "use_cache": true, "vocab_size": 51200})");
  EXPECT_EQ(find<Attention>(model.layers[0])->rope->dims, 32);
}

TEST(PublishedConfig, Phi3MiniIsRead) {
  const Model model =
      read_published(R"({"_name_or_path": "Phi-3-mini-4k-instruct", "architectures": ["Phi3ForCausalLM"],
    "attention_dropout": 0.0, "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config"}, "bos_token_id": 1,
    "embd_pdrop": 0.0, "eos_token_id": 32000, "hidden_act": "silu", "hidden_size": 3072, "initializer_range": 0.02,
    "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3", "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "original_max_position_embeddings": 4096, "pad_token_id": 32000,
    "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0, "sliding_window": 2047,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.40.2", "use_cache": true,
    "attention_bias": false, "vocab_size": 32064})");
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 2047);
}

TEST(PublishedConfig, Olmo2IsRead) {
  const Model model =
      read_published(R"({"architectures": ["Olmo2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "eos_token_id": 100257, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "olmo2", "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "pad_token_id": 100277, "rms_norm_eps": 1e-06,
    "rope_scaling": null, "rope_theta": 500000, "tie_word_embeddings": false, "torch_dtype": "float32",
    "transformers_version": "4.47.0.dev0", "use_cache": true, "vocab_size": 100352})");
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->query_key_norm->epsilon, 1e-6);
}

TEST(PublishedConfig, Starcoder23BIsRead) {
  const Model model = read_published(R"({"activation_function": "gelu", "architectures": ["Starcoder2ForCausalLM"],
    "attention_dropout": 0.1, "attention_softmax_in_fp32": true, "bos_token_id": 0, "embedding_dropout": 0.1,
    "eos_token_id": 0, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 3072, "initializer_range": 0.018042,
    "intermediate_size": 12288, "layer_norm_epsilon": 1e-05, "max_position_embeddings": 16384, "mlp_type": "default",
    "model_type": "starcoder2", "norm_epsilon": 1e-05, "norm_type": "layer_norm", "num_attention_heads": 24,
    "num_hidden_layers": 30, "num_key_value_heads": 2, "residual_dropout": 0.1, "rope_theta": 999999.4420358813,
    "scale_attention_softmax_in_fp32": true, "scale_attn_weights": true, "sliding_window": 4096,
    "torch_dtype": "bfloat16", "transformers_version": "4.37.0.dev0", "use_bias": true, "use_cache": true,
    "vocab_size": 49152})");
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 4096);
  EXPECT_TRUE(model.head.tied);
}

TEST(PublishedConfig, StableLm2IsRead) {
  const Model model =
      read_published(R"({"architectures": ["StableLmForCausalLM"], "bos_token_id": 100257, "eos_token_id": 100257,
    "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 5632,
    "max_position_embeddings": 4096, "model_type": "stablelm", "layer_norm_eps": 1e-05, "num_attention_heads": 32,
    "num_hidden_layers": 24, "num_key_value_heads": 32, "partial_rotary_factor": 0.25, "rope_theta": 10000,
    "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.38.0", "use_cache": true,
    "use_qkv_bias": true, "vocab_size": 100352})");
  EXPECT_EQ(find<Attention>(model.layers[0])->rope->dims, 16);
}

TEST(PublishedConfig, CommandRIsRead) {
  const Model model =
      read_published(R"({"architectures": ["CohereForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 5, "eos_token_id": 255001, "hidden_act": "silu", "hidden_size": 8192, "initializer_range": 0.02,
    "intermediate_size": 22528, "layer_norm_eps": 1e-05, "logit_scale": 0.0625, "max_position_embeddings": 8192,
    "model_max_length": 131072, "model_type": "cohere", "num_attention_heads": 64, "num_hidden_layers": 40,
    "num_key_value_heads": 64, "pad_token_id": 0, "pretraining_tp": 1, "rope_scaling": null, "rope_theta": 8000000.0,
    "torch_dtype": "float16", "transformers_version": "4.38.2", "use_cache": true, "use_qk_norm": false,
    "vocab_size": 256000})");
  EXPECT_DOUBLE_EQ(model.head.scale, 0.0625);
}

TEST(PublishedConfig, Granite3IsRead) {
  const Model model =
      read_published(R"({"architectures": ["GraniteForCausalLM"], "attention_bias": false, "attention_dropout": 0.1,
    "attention_multiplier": 0.0078125, "bos_token_id": 0, "embedding_multiplier": 12.0, "eos_token_id": 0,
    "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 12800,
    "logits_scaling": 16.0, "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "granite",
    "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8, "pad_token_id": 0,
    "residual_multiplier": 0.22, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.46.0.dev0", "use_cache": true,
    "vocab_size": 49155})");
  EXPECT_DOUBLE_EQ(model.head.scale, 1.0 / 16);
}

TEST(PublishedConfig, DeepseekV2IsRead) {
  const Model model = read_published(R"({"architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV2Config"},
    "aux_loss_alpha": 0.001, "bos_token_id": 100000, "eos_token_id": 100001, "first_k_dense_replace": 1,
    "hidden_act": "silu", "hidden_size": 5120, "initializer_range": 0.02, "intermediate_size": 12288,
    "kv_lora_rank": 512, "max_position_embeddings": 163840, "model_type": "deepseek_v2", "moe_intermediate_size": 1536,
    "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 160, "n_shared_experts": 2, "norm_topk_prob": false,
    "num_attention_heads": 128, "num_experts_per_tok": 6, "num_hidden_layers": 60, "num_key_value_heads": 128,
    "pretraining_tp": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
    "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
    "original_max_position_embeddings": 4096, "type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 16.0,
    "scoring_func": "softmax", "seq_aux": true, "tie_word_embeddings": false, "topk_group": 3,
    "topk_method": "group_limited_greedy", "torch_dtype": "bfloat16", "transformers_version": "4.39.3",
    "use_cache": true, "v_head_dim": 128, "vocab_size": 102400})");
  EXPECT_EQ(find<Mixture>(model.layers[1])->n_active_groups, 3);
}

TEST(PublishedConfig, DeepseekR1IsRead) {
  const Model model = read_published(R"({"architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
    "aux_loss_alpha": 0.001, "bos_token_id": 0, "eos_token_id": 1, "ep_size": 1, "first_k_dense_replace": 3,
    "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432,
    "kv_lora_rank": 512, "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
    "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
    "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
    "num_nextn_predict_layers": 1, "pretraining_tp": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3",
    "quant_method": "fp8", "weight_block_size": [128, 128]}, "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32,
    "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
    "type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "seq_aux": true,
    "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc", "torch_dtype": "bfloat16",
    "transformers_version": "4.46.3", "use_cache": true, "v_head_dim": 128, "vocab_size": 129280})");
  const double mscale = 0.1 * std::log(40.0) + 1;
  EXPECT_NEAR(find<Attention>(model.layers[0])->scale, mscale * mscale / std::sqrt(192.0), 1e-12);
}

TEST(PublishedConfig, KimiK2IsReadAsDeepseekV3) {
  const Model model = read_published(R"({"architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false,
    "attention_dropout": 0.0, "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
    "aux_loss_alpha": 0.001, "bos_token_id": 163584, "eos_token_id": 163585, "first_k_dense_replace": 1,
    "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432,
    "kv_lora_rank": 512, "max_position_embeddings": 131072, "model_type": "kimi_k2", "moe_intermediate_size": 2048,
    "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1, "norm_topk_prob": true,
    "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64,
    "num_nextn_predict_layers": 0, "pretraining_tp": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3",
    "quant_method": "fp8", "weight_block_size": [128, 128]}, "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 1.0,
    "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
    "type": "yarn"}, "rope_theta": 50000.0, "routed_scaling_factor": 2.827, "scoring_func": "sigmoid", "seq_aux": true,
    "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc", "torch_dtype": "bfloat16",
    "transformers_version": "4.48.3", "use_cache": true, "v_head_dim": 128, "vocab_size": 163840})");
  EXPECT_EQ(model.family, "deepseek_v3");
  // Attention 101,124,096 a layer; feed-forward 3·d·18,432 in one, in 60 a router of 384·d and 385 experts of
  // 3·d·2,048.
  const std::int64_t d = 7168;
  EXPECT_EQ(count_parameters(model),
            61 * (101'124'096 + 2 * d) + 3 * d * 18'432 + 60 * (384 * d + 385 * 3 * d * 2048) + d + 2 * 163'840 * d);
}

TEST(PublishedConfig, GptOssIsRead) {
  const Model model =
      read_published(R"({"architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0,
    "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880,
    "initial_context_length": 4096, "initializer_range": 0.02, "intermediate_size": 2880,
    "layer_types": ["sliding_attention", "full_attention"], "max_position_embeddings": 131072, "model_type": "gpt_oss",
    "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 2, "num_key_value_heads": 8,
    "num_local_experts": 32, "output_router_logits": false, "pad_token_id": 199999,
    "quantization_config": {"modules_to_not_convert": ["model.layers.*.self_attn"], "quant_method": "mxfp4"},
    "rms_norm_eps": 1e-05, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0,
    "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": false}, "rope_theta": 150000,
    "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0, "tie_word_embeddings": false,
    "transformers_version": "4.55.0.dev0", "use_cache": true, "vocab_size": 201088})");
  EXPECT_EQ(find<Attention>(model.layers[0])->window, 128);
  EXPECT_DOUBLE_EQ(feed_forward_of(model.layers[0])->clamp, 7);
}

}  // namespace
}  // namespace reckon
