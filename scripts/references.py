#!/usr/bin/env python3
"""References of the model types from Hugging Face transformers' own model code.

    references.py --out OUT [--work DIR] [--jobs 16] [--types a,b|none] [--configs a,b|none] [--published DIR]
                  [--files a,b] [--limit 150] [--deadline 480]
    references.py --unpack OUT --into tests/data/families [--replace a,b]

For each type: random valid configs with their parameters and FLOPs (configs/), small models with their
weights, logits, greedy tokens and gradients (tiny/), and report.json. OUT gets report.json and everything
packed into references-N.tar.xz; --work keeps the files themselves. Each type runs in a process of its own, so that
one that fails stops no other. --configs names the types whose configs are made too (all, unless it is given), and
--files those of the published files that are counted. Past --limit seconds a type is left, past --deadline all.

The second form needs neither PyTorch nor transformers. It adds folders and configs that are new, or that --replace
names (`configs` names all configs), to those in the tree; of all others it says how far their logits are from those in the tree. It writes
report.json and adds to published/totals.json.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import argparse
import contextlib
import copy
import dataclasses
import importlib
import inspect
import json
import math
import multiprocessing
import random
import re
import shutil
import tarfile
import tempfile
import time
import traceback

TOKENS = 23
VOCABULARY = 43
LEAST_CHANGE = 1e-4  # of the largest logit, without a feature or a tensor


# ---------------------------------------------------------------------------------------------------------------
# Configs. Each function takes a Draw and gives the arguments of the type's config class. Called with the first
# value of each choice it gives the tiny model; otherwise it gives a random one.
# ---------------------------------------------------------------------------------------------------------------


class Draw:
    def __init__(self, mode, seed=0):
        self.mode = mode  # tiny, small or large
        self.random = random.Random(seed)
        self.tiny = mode == "tiny"

    def __call__(self, tiny, *choices, large=None):
        if self.tiny:
            return tiny
        if self.mode == "large" and large:
            return self.random.choice(large)
        return self.random.choice(choices or (tiny,))

    def types(self, count, *kinds, tiny=None):
        """One kind for each layer, each kind at least once when there are layers enough."""
        if self.tiny and tiny:
            return list(tiny)
        drawn = [kinds[i] if i < len(kinds) else self.random.choice(kinds) for i in range(count)]
        self.random.shuffle(drawn)
        return drawn


THETA = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "original_max_position_embeddings": 16,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


def yarn(**more):
    return {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 8,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        **more,
    }


def sizes(p, layers=2, tied=False, tie=False, hidden=24, inner=20, head_dim=8, heads=4, kv=2):
    """The fields that most types have. tied: a head is as wide as hidden_size / heads."""
    d = {}
    d["vocab_size"] = p(VOCABULARY, 61, 100, 257, large=[32000, 50304, 151936])
    d["num_hidden_layers"] = p(layers, 2, 3, 4, 5, large=[4, 12, 28])
    if tied:
        h = p(heads, 2, 4, 6, 8, large=[16, 32])
        width = p(hidden // heads, 8, 12, 16, large=[64, 128])
        d["hidden_size"] = h * width
    else:
        h = p(heads, 2, 4, 6, 8, large=[16, 32])
        d["hidden_size"] = p(hidden, 40, 48, 64, 96, large=[1024, 2048, 3072])
        d["hidden_size"] -= d["hidden_size"] % h
        d["head_dim"] = p(head_dim, 8, 12, 16, 24, large=[64, 128, 256])
    d["num_attention_heads"] = h
    d["num_key_value_heads"] = kv if p.tiny else p.random.choice([k for k in range(1, h + 1) if h % k == 0])
    d["intermediate_size"] = p(inner, 40, 72, 100, 128, large=[2816, 8192, 11008])
    d["max_position_embeddings"] = p(64, 128, 512, large=[4096, 32768])
    d["tie_word_embeddings"] = p(tie, True, False)
    d["rope_parameters"] = dict(p(THETA, THETA, {"rope_type": "default", "rope_theta": 500000.0}))
    d.update(pad_token_id=0, bos_token_id=1, eos_token_id=2)
    return d


def without(d, *names):
    return {k: v for k, v in d.items() if k not in names}


def biases(p, d, *names, tiny=True):
    for name in names:
        d[name] = p(tiny, True, False)
    return d


def latent(p, d, query=True):
    """Multi-head latent attention."""
    d = without(d, "head_dim")
    d["num_key_value_heads"] = d["num_attention_heads"]
    d["kv_lora_rank"] = p(12, 16, 24, 32, large=[256, 512])
    d["q_lora_rank"] = p(10, 20, 28, 32, large=[768, 1536]) if query else p(10, 20, None, 32, large=[768, 1536, None])
    d["qk_rope_head_dim"] = p(4, 4, 8, 16, large=[32, 64])
    d["qk_nope_head_dim"] = p(6, 8, 12, 16, large=[64, 128])
    d["v_head_dim"] = p(5, 8, 12, 16, large=[64, 128])
    return d


def mixture(p, d, experts="num_experts", top="num_experts_per_tok", width="moe_intermediate_size", count=4):
    d[experts] = p(count, 4, 6, 8, 12, large=[16, 64, 128])
    d[top] = p(2, 1, 2, 3, large=[2, 6, 8])
    if width:
        d[width] = p(8, 12, 16, 24, large=[512, 1408])
    return d


def grouped(p, d, experts="n_routed_experts"):
    d[experts] = p(8, 8, 12, 16, large=[64, 128])
    d["n_group"] = p(4, 1, 2, 4)
    d["topk_group"] = p(2, 1) if d["n_group"] == 1 else p(2, 1, 2)
    d["num_experts_per_tok"] = p(3, 1, 2)
    d["moe_intermediate_size"] = p(6, 12, 16, 24, large=[512, 1408])
    d["n_shared_experts"] = p(1, 1, 2)
    d["routed_scaling_factor"] = p(1.7, 1.0, 2.5)
    d["norm_topk_prob"] = p(True, True, False)
    return d


def dense_first(p, d, name="first_k_dense_replace"):
    d[name] = p(1, 0, 1, 2)
    return d


def windows(p, d, tiny=None, kinds=("sliding_attention", "full_attention")):
    d["sliding_window"] = p(5, 4, 16, 33, large=[512, 4096])
    d["layer_types"] = p.types(d["num_hidden_layers"], *kinds, tiny=tiny or kinds[: d["num_hidden_layers"]])
    return d


def two_ropes(p, d, first="full_attention", second="sliding_attention", one={}, two={}):
    d["rope_parameters"] = {
        first: {"rope_type": "default", "rope_theta": 50000.0, **one},
        second: {"rope_type": "default", "rope_theta": 1000.0, **two},
    }
    return d


def sparse_types(p, d):
    d["mlp_layer_types"] = p.types(
        d["num_hidden_layers"], "dense", "sparse", tiny=["dense"] + ["sparse"] * (d["num_hidden_layers"] - 1)
    )
    return d


def afmoe(p):
    d = windows(p, sizes(p, layers=2))
    d = biases(p, mixture(p, d), "mup_enabled")
    d["num_dense_layers"] = p(1, 0, 1, 2)
    d["num_shared_experts"] = p(1, 1, 2)
    d["route_scale"] = p(1.7, 1.0, 2.448)
    d["attention_bias"] = p(False, False, True)
    return d


def apertus(p):
    d = biases(p, sizes(p, tied=True), "attention_bias")
    d["hidden_act"] = "xielu"
    d["rope_parameters"] = dict(p(LLAMA3, LLAMA3, THETA))
    return d


def aria_text(p):
    d = biases(p, sizes(p, tied=True, inner=8), "attention_bias", "mlp_bias")
    d["intermediate_size"] = p(8, 12, 24, large=[1664])
    d["moe_num_experts"] = p(4, 4, 8, large=[64])
    d["moe_topk"] = p(2, 1, 3)
    d["moe_num_shared_experts"] = p(2, 1, 2)
    return d


def axk1(p):
    d = dense_first(p, grouped(p, latent(p, sizes(p))))
    d["attention_bias"] = p(False, False, True)
    d["rope_interleave"] = p(True, True, False)
    return d


def biogpt(p):
    d = without(sizes(p, tied=True, tie=True), "num_key_value_heads", "rope_parameters")
    d["scale_embedding"] = p(True, True, False)
    d["hidden_act"] = p("gelu", "gelu", "relu")
    return d


def codegen(p):
    h = p(4, 4, 8, large=[16])
    width = p(6, 8, 12, 16, large=[64, 256])
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[51200]),
        n_positions=p(64, 128, large=[2048]),
        n_ctx=p(64, 128, large=[2048]),
        n_embd=h * width,
        n_layer=p(2, 1, 2, 4, large=[20]),
        n_head=h,
        rotary_dim=p(4, 4, 8, large=[32, 64]),
        n_inner=p(40, None, 72),
        tie_word_embeddings=False,
        bos_token_id=1,
        eos_token_id=2,
    )


def cohere2(p):
    d = windows(p, sizes(p, tied=True, tie=True))
    d["logit_scale"] = p(0.25, 0.0625, 1.0)
    d["attention_bias"] = p(True, True, False)
    return d


def cohere2_moe(p):
    d = windows(p, without(sizes(p, layers=3, tie=True, inner=6), "rope_parameters"))
    if p.tiny:
        d["layer_types"] = ["full_attention", "sliding_attention", "full_attention"]
    else:
        d["intermediate_size"] = p(6, 8, 12, 24, large=[1024])
    d = sparse_types(p, mixture(p, d, width=None))
    d["num_shared_experts"] = p(1, 0, 1, 2)
    d["shared_expert_combination_strategy"] = p("average", "average", "sum")
    d["expert_selection_fn"] = p("sigmoid", "sigmoid", "softmax")
    d["norm_topk_prob"] = p(True, True, False)
    d["prefix_dense_intermediate_size"] = p(12, None, 40, large=[4096])
    d["prefix_dense_sliding_window_pattern"] = p(1, 1, 2)
    d["rms_norm_eps"] = p(None, None, 1e-5)
    d["logit_scale"] = p(0.25, 0.0625, 1.0)
    d["attention_bias"] = p(False, False, True)
    d["rope_theta"] = 10000.0
    return d


def cohere_compass_text(p):
    d = windows(p, sizes(p, tied=True, tie=True))
    half = d["hidden_size"] // d["num_attention_heads"] // 2
    section = [half - 2 * (half // 3), half // 3, half // 3]
    d["rope_parameters"] = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": section},
        "full_attention": p(None, None, {"rope_type": "default", "rope_theta": 50000.0, "mrope_section": section}),
    }
    d["logit_scale"] = p(0.25, None, 0.0625, 1.0)
    d["attention_bias"] = p(True, True, False)
    return d


def cwm(p):
    d = windows(p, sizes(p))
    d["rope_parameters"] = dict(LLAMA3)
    return d


def dbrx(p):
    h = p(4, 2, 4, 8, large=[16, 48])
    width = p(6, 8, 12, 16, large=[64, 128])
    experts = p(4, 4, 8, large=[16])
    return dict(
        d_model=h * width,
        n_heads=h,
        n_layers=p(2, 1, 2, 4, large=[8, 40]),
        max_seq_len=p(64, 128, large=[2048]),
        vocab_size=p(VOCABULARY, 61, 100, large=[100352]),
        attn_config=dict(kv_n_heads=p(2, 1, 2), clip_qkv=p(0.7, 1.5, 8.0), rope_theta=10000.0),
        ffn_config=dict(
            ffn_hidden_size=p(10, 24, 40, large=[3584]),
            moe_num_experts=experts,
            moe_top_k=p(2, 1, 3),
            moe_normalize_expert_weights=p(1.0, 1.0, None),
        ),
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )


def indexed(p, d):
    d["index_topk"] = p(5, 4, 7, 64, large=[512, 2048])
    d["index_head_dim"] = p(8, 16, 24, large=[64, 128])
    d["index_n_heads"] = p(8, 2, 4, large=[16, 64])
    return d


def deepseek_v32(p):
    d = dense_first(p, indexed(p, grouped(p, latent(p, sizes(p)))))
    d["attention_bias"] = p(False, False, True)
    return d


def diffllama(p):
    d = biases(p, sizes(p, kv=2), "attention_bias")
    d["num_key_value_heads"] = d["num_attention_heads"] if d["num_key_value_heads"] % 2 else d["num_key_value_heads"]
    d["lambda_std_dev"] = 0.1
    return d


def doge(p):
    d = biases(p, sizes(p, tied=True), "attention_bias", "mlp_bias")
    d["keep_window_size"] = p(5, 4, 16, large=[2048])
    d["sliding_window"] = p(None, None, 16)
    d["is_moe"] = p(False, True, False)
    d["num_experts"] = p(16, 16, 36, 64, large=[4096, 16384])
    d["num_experts_per_tok"] = p(3, 2, 4)
    d["norm_topk_prob"] = p(False, True, False)
    return d


def dots1(p):
    d = windows(p, sizes(p))
    d = dense_first(p, grouped(p, d))
    d["attention_bias"] = p(True, True, False)
    return d


def ernie4_5(p):
    return biases(p, sizes(p, tie=True), "use_bias")


def ernie4_5_moe(p):
    d = biases(p, mixture(p, sizes(p, layers=3, tied=True, tie=True), "moe_num_experts", "moe_k"), "use_bias")
    d["moe_num_shared_experts"] = p(1, 1, 2)
    d["moe_layer_start_index"] = p(1, 0, 1)
    d["moe_layer_interval"] = p(2, 1, 2)
    d["moe_layer_end_index"] = -1
    return d


def exaone4(p):
    return windows(p, sizes(p, tied=True))


def exaone_moe(p):
    d = windows(p, sizes(p, tied=True))
    d = sparse_types(p, grouped(p, d, "num_experts"))
    d["num_shared_experts"] = d.pop("n_shared_experts")
    return d


def flex_olmo(p):
    d = mixture(p, sizes(p, tied=True), width=None)
    d["intermediate_size"] = p(8, 12, 24, large=[2048])
    if p.tiny:  # the norm behind the experts would cancel what scales their weights
        d["rms_norm_eps"] = 0.05
    return biases(p, d, "norm_topk_prob")


def gemma3n_text(p):
    d = sizes(p, layers=4, tie=True, kv=1, inner=12)
    layers = d["num_hidden_layers"] = p(4, 4, 5, 6, large=[10, 35])
    d["sliding_window"] = p(5, 4, 16, large=[512])
    d["layer_types"] = [("sliding_attention", "full_attention")[i % 2] for i in range(layers)]
    d["num_kv_shared_layers"] = p(2, 0, 1, 2)
    d["vocab_size_per_layer_input"] = d["vocab_size"]
    d["hidden_size_per_layer_input"] = p(4, 4, 8, large=[256])
    d["altup_num_inputs"] = p(3, 2, 3, 4)
    d["altup_active_idx"] = p(1, 0, 1)
    d["altup_correct_scale"] = p(True, True, False)
    d["laurel_rank"] = p(4, 4, 8, large=[64])
    wide = d["intermediate_size"]
    d["intermediate_size"] = [wide if i % 2 else wide + p(4, 0, 8) for i in range(layers)]
    d["activation_sparsity_pattern"] = [p(0.7, 0.5, 0.95) if i < 2 else 0.0 for i in range(layers)]
    d["final_logit_softcapping"] = p(2.5, 30.0)
    d["tie_word_embeddings"] = True
    two_ropes(p, d)
    return d


def gemma4_text(p, moe=False):
    d = sizes(p, layers=4, tie=True, inner=16)
    layers = d["num_hidden_layers"] = p(2 if moe else 4, 4, 6, large=[12, 30])
    d["sliding_window"] = p(5, 4, 16, large=[512])
    d["layer_types"] = [("sliding_attention", "full_attention")[i % 2] for i in range(layers)]
    d["num_kv_shared_layers"] = p(0 if moe else 2, 0, 2)
    d["use_double_wide_mlp"] = p(not moe, True, False)
    d["hidden_size_per_layer_input"] = p(0 if moe else 4, 0, 4, 8, large=[256])
    d["vocab_size_per_layer_input"] = d["vocab_size"]
    d["attention_k_eq_v"] = p(moe, True, False)
    d["global_head_dim"] = p(12, 16, 24, large=[512])
    d["num_global_key_value_heads"] = p(1, None, 1, 2)
    d["enable_moe_block"] = p(moe, True, False)
    if d["enable_moe_block"]:
        mixture(p, d, top="top_k_experts")
    d["final_logit_softcapping"] = p(2.5, 30.0, None)
    d["tie_word_embeddings"] = True
    d["rope_parameters"] = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 50000.0},
    }
    return d


def gemma4_unified_text(p):
    d = gemma4_text(p)
    for name in (
        "hidden_size_per_layer_input",
        "vocab_size_per_layer_input",
        "enable_moe_block",
        "num_experts",
        "top_k_experts",
        "moe_intermediate_size",
    ):
        d.pop(name, None)
    if p.tiny:
        d["attention_k_eq_v"] = True
    d["use_bidirectional_attention"] = None
    return d


def glm(p):
    d = biases(p, sizes(p), "attention_bias")
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    return d


def glm4_moe(p):
    d = dense_first(p, grouped(p, glm(p)))
    return biases(p, d, "use_qk_norm")


def glm4_moe_lite(p):
    d = sparse_types(p, grouped(p, latent(p, sizes(p), query=False)))
    d["attention_bias"] = p(False, False, True)
    return d


def glm_moe_dsa(p):
    d = dense_first(p, indexed(p, grouped(p, latent(p, sizes(p, layers=3)))))
    layers = d["num_hidden_layers"]
    d["indexer_types"] = ["full"] + [p("shared", "shared", "full") if i % 2 else "full" for i in range(1, layers)]
    return d


def gpt_bigcode(p, multi=True):
    h = p(4, 2, 4, 8, large=[12, 16])
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[49152]),
        n_positions=p(64, 128, large=[2048]),
        n_embd=h * p(6, 8, 12, 16, large=[64, 128]),
        n_layer=p(2, 1, 2, 4, large=[24]),
        n_head=h,
        n_inner=p(40, None, 72),
        multi_query=p(multi, True, False),
        scale_attn_weights=True,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )


def gpt_neox_japanese(p):
    d = without(sizes(p, tied=True, tie=True), "num_key_value_heads", "intermediate_size")
    d["intermediate_multiple_size"] = p(2, 2, 3, 4)
    d["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}
    return d


def gpt_sw3(p):
    d = without(gpt_bigcode(p), "multi_query")
    return d


def multipliers(p, d):
    d["embedding_multiplier"] = p(3.0, 1.0, 12.0)
    d["logits_scaling"] = p(2.0, 1.0, 8.0)
    d["residual_multiplier"] = p(0.6, 1.0, 0.22)
    d["attention_multiplier"] = p(0.5, 0.25, 0.0078125)
    return d


def granite_swa(p):
    d = multipliers(p, windows(p, sizes(p, tied=True, tie=True)))
    d["layer_rope_theta"] = [p(10000.0, 10000.0, 0.0) if i != 1 else p(0.0, 0.0, 500000.0) for i in range(d["num_hidden_layers"])]
    if not p.tiny and not any(d["layer_rope_theta"]):
        d["layer_rope_theta"][0] = 10000.0
    return biases(p, d, "attention_bias", "mlp_bias")


def granitemoe(p):
    d = multipliers(p, mixture(p, sizes(p, tied=True), "num_local_experts", width=None))
    d["intermediate_size"] = p(8, 12, 24, large=[512])
    return biases(p, d, "attention_bias")


def granitemoeshared(p):
    d = granitemoe(p)
    d["shared_intermediate_size"] = p(12, 0, 16, 24, large=[1024])
    return d


def granitemoe_swa(p):
    d = windows(p, granitemoeshared(p))
    d["layer_rope_theta"] = [10000.0 if i != 1 else p(0.0, 0.0, 500000.0) for i in range(d["num_hidden_layers"])]
    return d


def helium(p):
    d = sizes(p, tied=True)
    d["head_dim"] = d["hidden_size"] // d["num_attention_heads"]
    d["attention_bias"] = p(False, True, False)
    d["mlp_bias"] = p(False, True, False)
    return d


def hunyuan_v1_dense(p):
    return biases(p, sizes(p), "attention_bias")


def hunyuan_v1_moe(p):
    d = mixture(p, sizes(p, inner=8), top="moe_topk", width=None)
    d["intermediate_size"] = p(8, 12, 24, large=[3072])
    return biases(p, d, "attention_bias")


def hy_v3(p):
    d = sparse_types(p, mixture(p, sizes(p)))
    d["num_shared_experts"] = p(1, 1, 2)
    d["router_scaling_factor"] = p(1.7, 1.0, 2.826)
    d["attention_bias"] = p(False, True, False)
    d["mlp_bias"] = p(False, True, False)
    return d


def hyperclovax(p):
    d = multipliers(p, sizes(p))
    d = biases(p, d, "use_post_norm", "attention_bias", "mlp_bias")
    return d


def jais2(p):
    d = biases(p, sizes(p, inner=30), "attention_bias", "mlp_bias")
    d["hidden_act"] = "relu2"
    return d


def jetmoe(p):
    d = without(sizes(p, tie=True), "head_dim", "num_attention_heads", "num_key_value_heads")
    d["num_key_value_heads"] = p(2, 1, 2, 4, large=[16])
    d["kv_channels"] = p(8, 8, 12, 16, large=[64, 128])
    d["num_local_experts"] = p(4, 4, 6, 8)
    d["num_experts_per_tok"] = p(2, 1, 2, 3)
    d["intermediate_size"] = p(6, 12, 24, large=[2048, 5632])
    return d


def laguna(p):
    d = windows(p, sizes(p, layers=3), tiny=["full_attention", "sliding_attention", "sliding_attention"])
    d = sparse_types(p, mixture(p, d))
    d["moe_intermediate_size"] = p(6, 12, 16, large=[512])
    d["shared_expert_intermediate_size"] = p(6, 12, 16, large=[512])
    kv = d["num_key_value_heads"]
    d["num_attention_heads_per_layer"] = [kv * p(2 if i % 2 == 0 else 3, 1, 2, 3) for i in range(d["num_hidden_layers"])]
    d["gating"] = p(True, True, "per-head", "per-element")
    d["moe_routed_scaling_factor"] = p(1.7, 1.0, 2.5)
    d["moe_router_logit_softcapping"] = p(0.9, 0.0, 30.0)
    d["attention_bias"] = p(False, True, False)
    return two_ropes(p, d, one={"partial_rotary_factor": 0.5}, two={"partial_rotary_factor": 1.0})


def llama4_text(p):
    d = sizes(p, layers=4, tied=False, inner=6)
    d["num_hidden_layers"] = p(4, 2, 4, 6, large=[8, 48])
    d["intermediate_size"] = p(6, 12, 24, large=[2048])
    d["intermediate_size_mlp"] = p(16, 24, 40, large=[4096])
    d["num_experts_per_tok"] = p(1, 1, 2)
    d["num_local_experts"] = p(4, 4, 8, large=[16, 128])
    d["interleave_moe_layer_step"] = p(2, 1, 2)
    d["no_rope_layer_interval"] = p(2, 2, 4)
    d["attention_chunk_size"] = p(7, 8, 16, large=[8192])
    d["use_qk_norm"] = p(True, True, False)
    d["attn_temperature_tuning"] = p(True, True, False)
    d["floor_scale"] = p(4, 8192)
    d["attn_scale"] = p(0.5, 0.1)
    d["attention_bias"] = p(False, True, False)
    return d


def longcat_flash(p):
    d = latent(p, sizes(p, heads=2, kv=2))
    d["num_layers"] = p(2, 1, 2, 3, large=[4, 28])
    d["num_hidden_layers"] = 2 * d["num_layers"]
    d.pop("intermediate_size")
    d["ffn_hidden_size"] = p(12, 40, 72, large=[4096])
    d["expert_ffn_hidden_size"] = p(6, 12, 24, large=[1024])
    d["n_routed_experts"] = p(4, 4, 8, large=[64, 512])
    d["zero_expert_num"] = p(2, 0, 2, 4)
    d["moe_topk"] = p(3, 2, 3, 4)
    d["routed_scaling_factor"] = p(1.7, 1.0, 6.0)
    d["head_dim"] = d["qk_rope_head_dim"]
    d["attention_bias"] = p(False, True, False)
    return d


def mellum(p):
    d = windows(p, sizes(p))
    d = sparse_types(p, mixture(p, d))
    d["norm_topk_prob"] = p(True, True, False)
    d["attention_bias"] = p(False, True, False)
    return two_ropes(p, d)


def mimo_v2_flash(p):
    d = sizes(p, layers=3, kv=1)
    d = windows(p, d, tiny=["full_attention", "sliding_attention", "full_attention"])
    d["num_attention_heads"] = p(4, 4, 8, large=[32, 64])
    d["num_key_value_heads"] = p(1, 1, 2, 4 if d["num_attention_heads"] > 4 else 2)
    d["head_dim"] = p(12, 12, 24, 48, large=[192])
    d["v_head_dim"] = p(8, 8, 16, large=[128])
    d = sparse_types(p, grouped(p, d))
    d.pop("n_shared_experts")
    d["attention_value_scale"] = p(0.707, 0.707, None)
    d["attention_bias"] = p(False, True, False)
    return two_ropes(p, d, one={"partial_rotary_factor": 0.334}, two={"partial_rotary_factor": 0.334})


def minicpm3(p):
    d = latent(p, sizes(p, tie=True))
    d["scale_emb"] = p(3.0, 12.0, 1.0)
    d["scale_depth"] = p(1.4, 1.4, 1.0)
    d["dim_model_base"] = p(16, 16, 256)
    d["attention_bias"] = p(False, True, False)
    return d


def minimax_m2(p):
    d = mixture(p, sizes(p, inner=8), "num_local_experts", width=None)
    d["intermediate_size"] = p(8, 12, 24, large=[1536])
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    return d


def ministral(p):
    return windows(p, sizes(p))


def ministral3(p):
    d = sizes(p)
    d["rope_parameters"] = yarn(mscale_all_dim=1.0, mscale=1.0, llama_4_scaling_beta=p(0.3, 0.1))
    d["sliding_window"] = p(None, None, 16)
    return d


def mistral4(p):
    d = dense_first(p, grouped(p, latent(p, sizes(p), query=False)))
    d["rope_parameters"] = yarn(mscale_all_dim=1.0, mscale=1.0, llama_4_scaling_beta=p(0.3, 0.1))
    d["attention_bias"] = p(False, True, False)
    return d


def mpt(p):
    h = p(4, 2, 4, 8, large=[16, 32])
    return dict(
        d_model=h * p(6, 8, 12, 16, large=[64, 128]),
        n_heads=h,
        n_layers=p(2, 1, 2, 4, large=[24, 32]),
        expansion_ratio=4,
        max_seq_len=p(64, 128, large=[2048]),
        vocab_size=p(VOCABULARY, 61, 100, large=[50432]),
        attn_config=dict(alibi=True, alibi_bias_max=8, clip_qkv=p(0.9, None, 6.0), softmax_scale=p(0.5, None)),
        no_bias=True,
        tie_word_embeddings=True,
    )


def nanochat(p):
    d = sizes(p, tied=True)
    d["final_logit_softcapping"] = p(1.5, 15.0, None)
    d["attention_bias"] = p(False, True, False)
    return d


def nemotron(p):
    d = biases(p, sizes(p, inner=30), "attention_bias", "mlp_bias")
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    return d


def olmo(p):
    d = biases(p, sizes(p, tied=True), "attention_bias")
    d["clip_qkv"] = p(0.7, None, 8.0)
    return d


def olmo3(p):
    d = windows(p, biases(p, sizes(p, tied=True), "attention_bias", tiny=False))
    return two_ropes(p, d)


def olmoe(p):
    d = mixture(p, sizes(p, tied=True), width=None)
    d["intermediate_size"] = p(8, 12, 24, large=[1024])
    d["clip_qkv"] = p(0.7, None, 8.0)
    return biases(p, d, "norm_topk_prob")


def openai_gpt(p):
    h = p(4, 2, 4, 8, large=[12])
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[40478, 32000]),
        n_positions=p(64, 128, large=[512, 1024]),
        n_embd=h * p(6, 8, 12, 16, large=[64, 128]),
        n_layer=p(2, 1, 2, 4, large=[12, 6]),
        n_head=h,
        afn=p("gelu", "gelu", "relu"),
        tie_word_embeddings=True,
    )


def persimmon(p):
    d = without(sizes(p, tied=True, hidden=32, inner=30), "num_key_value_heads")
    d["qk_layernorm"] = p(True, True, False)
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    return d


def phimoe(p):
    d = mixture(p, sizes(p, tied=True), "num_local_experts", width=None)
    d["num_experts_per_tok"] = 2
    d["intermediate_size"] = p(8, 12, 24, large=[1600])
    d["tie_word_embeddings"] = False
    d["router_jitter_noise"] = 0.01
    return biases(p, d, "attention_bias", "lm_head_bias")


def qwen2_moe(p):
    d = windows(p, sizes(p, layers=3, tied=True), tiny=["sliding_attention", "full_attention", "sliding_attention"])
    d["use_sliding_window"] = p(True, True, False)
    if not d["use_sliding_window"]:
        d["layer_types"] = ["full_attention"] * d["num_hidden_layers"]
    d = biases(p, mixture(p, d), "norm_topk_prob", "qkv_bias")
    d["shared_expert_intermediate_size"] = p(8, 16, 24, large=[5632])
    d["decoder_sparse_step"] = p(1, 1, 2)
    d["mlp_only_layers"] = p([1], [], [0])
    return d


def seed_oss(p):
    return biases(p, sizes(p), "attention_bias", "attention_out_bias", "mlp_bias")


def smollm3(p):
    d = biases(p, sizes(p, layers=3, tied=True, tie=True), "attention_bias", "mlp_bias")
    d["no_rope_layer_interval"] = p(2, 2, 4)
    d["use_sliding_window"] = p(True, True, False)
    d["sliding_window"] = p(5, 4, 16)
    return d


def solar_open(p):
    d = grouped(p, without(sizes(p), "intermediate_size"))
    d["attention_bias"] = p(False, True, False)
    return d


def vaultgemma(p):
    d = windows(p, sizes(p, tie=True))
    d["query_pre_attn_scalar"] = p(16, 16, 256)
    d["final_logit_softcapping"] = p(2.5, 30.0, None)
    d["attn_logit_softcapping"] = p(1.5, 50.0, None)
    d["attention_bias"] = p(False, True, False)
    return d


def xglm(p):
    h = p(4, 2, 4, 8, large=[16])
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[256008, 64000]),
        max_position_embeddings=p(64, 128, large=[2048, 1024]),
        d_model=h * p(6, 8, 12, 16, large=[64, 128]),
        ffn_dim=p(24, 40, 72, large=[4096, 3072]),
        num_layers=p(2, 1, 2, 4, large=[24, 12]),
        attention_heads=h,
        scale_embedding=p(True, True, False),
        tie_word_embeddings=True,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )


def youtu(p):
    d = latent(p, sizes(p, tie=True), query=False)
    d["attention_bias"] = p(False, True, False)
    d["rope_interleave"] = p(True, True, False)
    d["pad_token_id"] = None  # reading a file sets its row to zero
    return d


# Recurrent and hybrid stacks.


def delta(p, d):
    d["linear_conv_kernel_dim"] = p(4, 2, 3, 4)
    d["linear_key_head_dim"] = p(6, 8, 16, large=[128])
    d["linear_value_head_dim"] = p(5, 8, 16, large=[128])
    d["linear_num_key_heads"] = p(2, 2, 4, large=[16])
    d["linear_num_value_heads"] = d["linear_num_key_heads"] * p(2, 1, 2)
    return d


def hybrid_types(p, d, tiny=("linear_attention", "full_attention")):
    d["layer_types"] = p.types(d["num_hidden_layers"], "linear_attention", "full_attention", tiny=tiny)
    d["num_hidden_layers"] = len(d["layer_types"])
    return d


def qwen3_next(p):
    d = hybrid_types(p, delta(p, sizes(p, layers=3)), tiny=["linear_attention", "full_attention", "linear_attention"])
    d = mixture(p, d)
    d["moe_intermediate_size"] = p(5, 12, 16, large=[512])
    d["shared_expert_intermediate_size"] = p(6, 16, 24, large=[512])
    d["decoder_sparse_step"] = p(1, 1, 2)
    d["mlp_only_layers"] = p([0], [], [0])
    d["norm_topk_prob"] = p(True, True, False)
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    d["attention_bias"] = p(False, True, False)
    return d


def mrope(p, d):
    d["head_dim"] = p(8, 8, 16, large=[256])
    half = int(d["head_dim"] * 0.5) // 2
    third = half // 3
    d["rope_parameters"] = {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
        "mrope_section": [half - 2 * third, third, third],
        "mrope_interleaved": True,
    }
    return d


def qwen3_5_text(p):
    d = mrope(p, hybrid_types(p, delta(p, sizes(p, layers=3)), tiny=["linear_attention", "full_attention", "linear_attention"]))
    d["attention_bias"] = p(False, True, False)
    d["partial_rotary_factor"] = 0.5
    return d


def qwen3_5_moe_text(p):
    d = mixture(p, without(qwen3_5_text(p), "intermediate_size"))
    d["moe_intermediate_size"] = p(5, 12, 16, large=[512])
    d["shared_expert_intermediate_size"] = p(6, 16, 24, large=[512])
    return d


def olmo_hybrid(p):
    d = hybrid_types(p, delta(p, sizes(p, tied=True)))
    d["linear_num_value_heads"] = d["linear_num_key_heads"]
    d["linear_allow_neg_eigval"] = p(True, True, False)
    d["attention_bias"] = p(False, True, False)
    return d


def kimi_linear(p):
    """In Moonshot's form, with the layers of each kind counted from 1."""
    d = grouped(p, latent(p, without(sizes(p, layers=3), "rope_parameters")))
    d["q_lora_rank"] = p(None, None, 12)
    d["tie_word_embeddings"] = False
    kinds = p.types(d["num_hidden_layers"], "kda_layers", "full_attn_layers", tiny=["kda_layers", "full_attn_layers", "kda_layers"])
    d["linear_attn_config"] = dict(
        num_heads=p(3, 2, 4, large=[16, 32]),
        head_dim=p(8, 8, 16, large=[64, 128]),
        short_conv_kernel_size=p(4, 2, 3, 4),
        **{kind: [i + 1 for i, k in enumerate(kinds) if k == kind] for kind in ("kda_layers", "full_attn_layers")},
    )
    for ours, theirs in KIMI_NAMES.items():
        d[theirs] = d.pop(ours)
    d = dense_first(p, d)
    d.update(
        hidden_act="silu", rms_norm_eps=1e-5, mla_use_nope=True, moe_layer_freq=1, moe_router_activation_func="sigmoid",
        use_grouped_topk=True,
    )
    return d


KIMI_NAMES = {
    "n_routed_experts": "num_experts",
    "num_experts_per_tok": "num_experts_per_token",
    "n_shared_experts": "num_shared_experts",
    "n_group": "num_expert_group",
    "norm_topk_prob": "moe_renormalize",
    "max_position_embeddings": "model_max_length",
}


def kimi_linear_fields(d):
    """What transformers' class calls the same fields: it reads some of Moonshot's names and not others."""
    if not d:
        return d
    linear = d["linear_attn_config"]
    same = dict(
        linear_head_dim=linear["head_dim"], linear_num_heads=linear["num_heads"],
        linear_conv_kernel_dim=linear["short_conv_kernel_size"], num_local_experts=d["num_experts"],
    )
    return {**d, **{ours: d[theirs] for ours, theirs in KIMI_NAMES.items()}, **same}


def one_by_one(name, t, gate, up, down):
    """A tensor by its name; of all experts together, those of each, with these names for their matrices."""
    found = {}
    if name.endswith(".experts.gate_up_proj"):
        for i, expert in enumerate(t):
            one = name.replace("gate_up_proj", str(i))
            found[f"{one}.{gate}.weight"], found[f"{one}.{up}.weight"] = expert.chunk(2)
    elif name.endswith(".experts.down_proj"):
        for i, expert in enumerate(t):
            found[name.replace("down_proj", f"{i}.{down}.weight")] = expert
    else:
        found[name] = t
    return found


def kimi_linear_tensors(model):
    """The tensors under the names and in the shapes of Moonshot's files."""
    state = model.state_dict()
    mixtures = {name.split(".mlp.")[0] for name in state if ".mlp.experts." in name}
    found = {}
    for name, t in state.items():
        name = name.replace(".forget_gate.", ".")
        if name.split(".mlp.")[0] in mixtures:
            name = name.replace(".mlp.", ".block_sparse_moe.")
        if name.endswith(".A_log"):
            found[name] = t.reshape(1, 1, -1, 1)
        elif name.endswith(".dt_bias"):
            found[name] = t.reshape(-1)
        elif name.endswith(".conv1d.weight"):
            for part, piece in zip("qkv", t.chunk(3)):
                found[name.replace(".conv1d.", f".{part}_conv1d.")] = piece
        else:
            found.update(one_by_one(name, t, "w1", "w3", "w2"))
    return found


def mamba(p):
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[50280]),
        hidden_size=p(24, 32, 48, 64, large=[768, 2560]),
        state_size=p(4, 4, 8, 16, large=[16]),
        num_hidden_layers=p(2, 1, 2, 4, large=[24]),
        expand=p(2, 2, 1, 3),
        conv_kernel=p(4, 2, 3, 4),
        use_bias=p(True, True, False),
        use_conv_bias=p(True, True, False),
        time_step_rank=p(3, "auto", 4, 5),
        tie_word_embeddings=p(True, True, False),
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )


def mamba2(p):
    heads = p(6, 4, 8, large=[32, 64])
    width = p(8, 8, 16, large=[64])
    expand = 2
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[32768]),
        hidden_size=heads * width // expand,
        num_heads=heads,
        head_dim=width,
        expand=expand,
        state_size=p(5, 8, 16, large=[64, 128]),
        num_hidden_layers=p(2, 1, 2, 4, large=[24, 64]),
        conv_kernel=p(4, 2, 4),
        n_groups=p(2, 1, 2),
        use_bias=p(True, True, False),
        use_conv_bias=p(True, True, False),
        chunk_size=p(8, 8, 16, 256, large=[256]),
        tie_word_embeddings=p(False, True, False),
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )


def mamba2_part(p, d):
    """The fields of Mamba-2 in a hybrid stack whose inner width is twice the hidden size."""
    inner = 2 * d["hidden_size"]
    count = p(8, 4, 8)
    while inner % count:
        count //= 2
    d["mamba_n_heads"] = count
    d["mamba_d_head"] = inner // count
    d["mamba_n_groups"] = p(2, 1, 2) if count % 2 == 0 else 1
    d["mamba_d_state"] = p(5, 8, 16, large=[64, 128])
    d["mamba_d_conv"] = p(4, 2, 4)
    d["mamba_expand"] = 2
    d["mamba_chunk_size"] = p(8, 8, 16, 256)
    d["mamba_conv_bias"] = p(True, True, False)
    d["mamba_proj_bias"] = p(True, True, False)
    return d


def bamba(p):
    d = mamba2_part(p, sizes(p, tied=True, hidden=32, inner=16))
    layers = d["num_hidden_layers"]
    d["attn_layer_indices"] = [1] if p.tiny else sorted(p.random.sample(range(layers), 1))
    return biases(p, d, "attention_bias", "mlp_bias", tiny=False)


def jamba(p):
    d = without(mixture(p, sizes(p, layers=4, tied=True, inner=8), width=None, count=3), "rope_parameters")
    d["num_hidden_layers"] = p(3, 4, 6, 8, large=[8, 32])
    d["intermediate_size"] = p(8, 24, 40, large=[4096])
    d["attn_layer_period"] = p(3, 2, 4)
    d["attn_layer_offset"] = p(1, 0, 1)
    d["expert_layer_period"] = 2
    d["expert_layer_offset"] = p(1, 0, 1)
    d["mamba_d_state"] = p(4, 4, 8, 16)
    d["mamba_d_conv"] = p(4, 2, 4)
    d["mamba_expand"] = p(1, 1, 2)
    d["mamba_dt_rank"] = p(3, "auto", 4)
    d["mamba_conv_bias"] = p(True, True, False)
    d["mamba_proj_bias"] = p(True, True, False)
    d["use_mamba_kernels"] = False
    return d


def zamba(p):
    d = without(sizes(p, tied=True, hidden=16, inner=16, tie=True), "rope_parameters")
    d["layers_block_type"] = p.types(p(0, 4, 5, 6), "mamba", "hybrid", "hybrid", tiny=["mamba", "hybrid", "mamba", "hybrid"])
    d["num_hidden_layers"] = len(d["layers_block_type"])
    d["num_key_value_heads"] = d["num_attention_heads"]
    d["n_mamba_heads"] = p(2, 1, 2)
    d["mamba_d_state"] = p(4, 4, 8, 16)
    d["mamba_d_conv"] = p(4, 2, 4)
    d["mamba_expand"] = 2
    d["mamba_dt_rank"] = p(3, "auto", 4)
    d["mamba_conv_bias"] = p(True, True, False)
    d["mamba_proj_bias"] = p(False, True, False)
    d["use_mamba_kernels"] = False
    return d


def zamba2(p):
    d = sizes(p, tied=True, hidden=16, inner=16, tie=True)
    d["layers_block_type"] = p.types(
        p(0, 4, 5, 6), "mamba", "hybrid", "hybrid", tiny=["mamba", "hybrid", "hybrid", "mamba", "hybrid"]
    )
    d["num_hidden_layers"] = len(d["layers_block_type"])
    d["num_key_value_heads"] = d["num_attention_heads"]
    d["n_mamba_heads"] = p(4, 2, 4)
    d["mamba_d_state"] = p(5, 8, 16)
    d["mamba_d_conv"] = p(4, 2, 4)
    d["mamba_expand"] = 2
    d["mamba_ngroups"] = p(2, 1, 2)
    d["chunk_size"] = p(8, 8, 16)
    d["use_conv_bias"] = p(True, True, False)
    d["add_bias_linear"] = p(True, True, False)
    d["num_mem_blocks"] = p(2, 1, 2)
    d["use_shared_attention_adapter"] = p(True, True, False)
    d["adapter_rank"] = p(3, 4, 8)
    d["use_mem_rope"] = p(True, True, False)
    d["use_mamba_kernels"] = False
    return d


def falcon_h1(p):
    d = sizes(p, inner=16)
    heads = p(4, 2, 4, 8)
    d["mamba_d_ssm"] = heads * p(6, 8, 16)
    d["mamba_n_heads"] = heads
    d["mamba_d_head"] = d["mamba_d_ssm"] // heads
    d["mamba_n_groups"] = p(2, 1, 2)
    d["mamba_d_state"] = p(5, 8, 16)
    d["mamba_d_conv"] = p(4, 2, 4)
    d["mamba_chunk_size"] = p(8, 8, 16)
    d["mamba_conv_bias"] = p(True, True, False)
    d["mamba_proj_bias"] = p(False, True, False)
    d["mamba_norm_before_gate"] = p(False, True, False)
    d["mamba_rms_norm"] = p(True, True, False)
    d["projectors_bias"] = p(False, True, False)
    d["attention_bias"] = p(False, True, False)
    d["mlp_bias"] = p(False, True, False)
    d["lm_head_multiplier"] = p(0.7, 1.0, 0.04)
    d["embedding_multiplier"] = p(1.6, 1.0, 5.6)
    d["mlp_multipliers"] = p([0.8, 1.3], [1.0, 1.0], [0.88, 0.2])
    d["key_multiplier"] = p(1.4, 1.0, 0.39)
    d["attention_out_multiplier"] = p(1.2, 1.0, 0.9)
    d["attention_in_multiplier"] = p(0.8, 1.0)
    d["ssm_multipliers"] = p([0.8, 1.2, 0.9, 1.1, 1.3], [1.0] * 5)
    d["ssm_in_multiplier"] = p(1.3, 1.0)
    d["ssm_out_multiplier"] = p(0.7, 1.0)
    return d


def nemotron_h(p):
    d = without(sizes(p), "rope_parameters")
    d["layers_block_type"] = p.types(
        p(0, 4, 5, 6), "mamba", "moe", "attention", "mlp", tiny=["mamba", "moe", "attention", "mlp", "mamba"]
    )
    d.pop("num_hidden_layers")
    d["mamba_num_heads"] = p(6, 4, 8)
    d["mamba_head_dim"] = p(8, 8, 16)
    d["ssm_state_size"] = p(5, 8, 16)
    d["n_groups"] = p(2, 1, 2)
    d["conv_kernel"] = p(4, 2, 4)
    d["chunk_size"] = p(8, 8, 16)
    d["use_conv_bias"] = p(True, True, False)
    d["mamba_proj_bias"] = p(False, True, False)
    d["attention_bias"] = p(False, True, False)
    d["mlp_bias"] = p(False, True, False)
    d["use_bias"] = p(False, True, False)
    grouped(p, d)
    d["moe_shared_expert_intermediate_size"] = p(10, 16, 24)
    d["moe_latent_size"] = p(12, None, 16)
    d["use_mamba_kernels"] = False
    return d


def granitemoehybrid(p):
    d = mamba2_part(p, granitemoe(p))
    d["layer_types"] = p.types(d["num_hidden_layers"], "mamba", "attention", tiny=["mamba", "attention"])
    d["shared_intermediate_size"] = p(12, 16, 24, large=[1024])
    d["num_local_experts"] = p(4, 0, 4, 8)
    d["num_experts_per_tok"] = min(d["num_experts_per_tok"], d["num_local_experts"] or d["num_experts_per_tok"])
    d["position_embedding_type"] = p("rope", None, "rope")
    d["attention_bias"] = p(False, True, False)
    return d


def minimax(p):
    d = mixture(p, sizes(p, inner=8), "num_local_experts", width=None)
    d = hybrid_types(p, d, tiny=["full_attention", "linear_attention"])
    d["intermediate_size"] = p(8, 12, 24, large=[2048])
    d["block_size"] = p(8, 8, 16, large=[256])
    d["full_attn_alpha_factor"] = p(1.3, 1.0, 3.5)
    d["full_attn_beta_factor"] = p(0.8, 1.0)
    d["linear_attn_alpha_factor"] = p(1.2, 1.0, 3.5)
    d["linear_attn_beta_factor"] = p(0.9, 1.0)
    d["mlp_alpha_factor"] = p(1.1, 1.0, 3.5)
    d["mlp_beta_factor"] = p(0.7, 1.0)
    return d


def lfm2(p):
    d = sizes(p, layers=3, tied=True, tie=True)
    d["layer_types"] = p.types(d["num_hidden_layers"], "conv", "full_attention", tiny=["conv", "full_attention", "conv"])
    d["conv_L_cache"] = p(3, 2, 3, 4)
    d["conv_bias"] = p(True, True, False)
    d["block_auto_adjust_ff_dim"] = p(True, True, False)
    d["block_multiple_of"] = p(4, 4, 8, 256)
    d["block_ffn_dim_multiplier"] = p(1.0, 1.0, 1.5)
    return d


def lfm2_moe(p):
    d = mixture(p, sizes(p, layers=3, tied=True, tie=True))
    d["layer_types"] = p.types(d["num_hidden_layers"], "conv", "full_attention", tiny=["conv", "full_attention", "conv"])
    d["conv_L_cache"] = p(3, 2, 3, 4)
    d["conv_bias"] = p(True, True, False)
    d["num_dense_layers"] = p(1, 0, 1, 2)
    d["use_expert_bias"] = p(True, True, False)
    d["norm_topk_prob"] = p(True, True, False)
    d["routed_scaling_factor"] = p(1.7, 1.0)
    return d


def recurrent_gemma(p):
    d = without(sizes(p, layers=3, tied=True, tie=True, hidden=32, kv=1), "max_position_embeddings")
    d["num_hidden_layers"] = p(3, 3, 4, 5, large=[26])
    d["lru_width"] = d["hidden_size"] if p.tiny else d["num_attention_heads"] * p(8, 8, 16)
    d["attention_window_size"] = p(5, 4, 16, large=[2048])
    d["conv1d_width"] = p(4, 2, 4)
    d["logits_soft_cap"] = p(2.5, 30.0)
    d["block_types"] = p(["recurrent", "attention"], ["recurrent", "recurrent", "attention"], ["recurrent", "attention"])
    d["attention_bias"] = p(False, True, False)
    d["partial_rotary_factor"] = 0.5
    return d


# New forms.


def deepseek_v4(p):
    d = without(sizes(p, layers=3), "intermediate_size", "num_key_value_heads", "rope_parameters")
    d["num_hidden_layers"] = p(3, 3, 4, 5)
    d["head_dim"] = p(8, 8, 16, large=[128])
    d["partial_rotary_factor"] = 0.5
    d["rope_theta"] = 10000.0
    d["compress_rope_theta"] = 50000.0
    d["q_lora_rank"] = p(10, 16, 24, large=[512])
    d["o_groups"] = p(2, 1, 2)
    d["o_lora_rank"] = p(6, 8, 12, large=[256])
    d["layer_types"] = p.types(
        d["num_hidden_layers"], "sliding_attention", "heavily_compressed_attention", "compressed_sparse_attention"
    )
    if p.tiny:
        d["layer_types"] = ["sliding_attention", "heavily_compressed_attention", "compressed_sparse_attention"]
    d["compress_rates"] = {"compressed_sparse_attention": p(3, 2, 4), "heavily_compressed_attention": p(6, 5, 8)}
    d["mlp_layer_types"] = ["hash_moe"] + ["moe"] * (d["num_hidden_layers"] - 1)
    d["hc_mult"] = p(2, 2, 3, 4)
    d["hc_sinkhorn_iters"] = p(4, 5, 20)
    d["sliding_window"] = p(5, 4, 16)
    d["index_n_heads"] = p(8, 2, 4)
    d["index_head_dim"] = p(8, 8, 16, large=[64, 128])  # RoPE turns as many of its elements as of a head's
    d["index_topk"] = p(3, 2, 4)
    d["n_routed_experts"] = p(4, 4, 8)
    d["num_experts_per_tok"] = p(2, 1, 2)
    d["n_shared_experts"] = 1
    d["moe_intermediate_size"] = p(6, 12, 24)
    d["routed_scaling_factor"] = p(1.5, 1.0)
    d["swiglu_limit"] = p(0.6, 10.0)
    return d


def minimax_m3_vl_text(p):
    d = sizes(p, layers=3, inner=6)
    d["intermediate_size"] = p(6, 12, 24, large=[1024])
    d["dense_intermediate_size"] = p(12, 24, 40, large=[4096])
    d["shared_intermediate_size"] = p(6, 12, 24, large=[1024])
    mixture(p, d, "num_local_experts", width=None)
    d["layer_types"] = p.types(
        d["num_hidden_layers"], "full_attention", "minimax_m3_sparse", tiny=["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"]
    )
    sparse_types(p, d)
    d["index_n_heads"] = d["num_key_value_heads"]
    d["index_head_dim"] = d["head_dim"]
    d["index_block_size"] = p(4, 4, 8)
    d["index_topk_blocks"] = p(2, 2, 3)
    d["index_local_blocks"] = 1
    d["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    d["rotary_dim"] = d["head_dim"] // 2
    d["swiglu_limit"] = p(0.6, 7.0)
    d["routed_scaling_factor"] = p(1.7, 2.0)
    return d


def inkling_text(p):
    d = without(sizes(p, layers=3, inner=12), "rope_parameters", "tie_word_embeddings")
    d["swa_num_attention_heads"] = d["num_attention_heads"]
    d["swa_num_key_value_heads"] = p(4 if d["num_attention_heads"] == 4 else 1, 1, 2)
    d["swa_head_dim"] = p(6, 8, 12)
    d["sliding_window_size"] = p(5, 4, 16)
    d["d_rel"] = p(3, 4, 8)
    d["rel_extent"] = p(9, 16, 33)
    d["log_scaling_n_floor"] = p(4, None, 8)
    d["log_scaling_alpha"] = p(0.5, 0.1)
    d["layer_types"] = p.types(d["num_hidden_layers"], "hybrid_sliding", "hybrid", tiny=["hybrid_sliding", "hybrid", "hybrid_sliding"])
    d["mlp_layer_types"] = p.types(d["num_hidden_layers"], "dense", "sparse", tiny=["dense", "sparse", "sparse"])
    d["conv_kernel_size"] = p(4, 3, 4)
    d["moe_intermediate_size"] = p(5, 12, 24)
    d["n_routed_experts"] = p(4, 4, 8)
    d["num_experts_per_tok"] = p(2, 1, 2)
    d["n_shared_experts"] = p(1, 1, 2)
    d["route_scale"] = p(2.0, 8.0)
    d["logits_mup_width_multiplier"] = p(0.5, 24.0)
    d["unpadded_vocab_size"] = p(VOCABULARY - 2, None)
    return d


def axk2(p):
    d = sparse_types(p, indexed(p, grouped(p, latent(p, sizes(p)))))
    d["gated_norm_rank"] = p(4, 4, 8, large=[16])
    if not p.tiny and d["n_group"] == 1:
        d["n_group"] = d["topk_group"] = None
    return d


def zaya(p):
    d = without(mixture(p, sizes(p, layers=2, tie=True)), "intermediate_size")
    d["num_experts_per_tok"] = 1
    d["layer_types"] = p.types(d["num_hidden_layers"], "hybrid_sliding", "hybrid", tiny=["hybrid_sliding", "hybrid"])
    d["sliding_window"] = p(5, 4, 16)
    d["router_hidden_size"] = p(8, 8, 16)
    d["cca_time0"] = p(2, 2, 3)
    d["cca_time1"] = p(3, 2, 3)
    d["attention_bias"] = p(True, True, False)
    d["lm_head_bias"] = p(True, True, False)
    return two_ropes(p, d, "hybrid", "hybrid_sliding", {"partial_rotary_factor": 0.5}, {"partial_rotary_factor": 0.5})


# The first types, most of which have small models in tests/data/tiny.


def llama(p):
    d = biases(p, sizes(p), "attention_bias", "mlp_bias")
    d["rope_parameters"] = dict(p(LLAMA3, LLAMA3, THETA, yarn()))
    return d


def arcee(p):
    d = biases(p, sizes(p), "attention_bias", "mlp_bias")
    d["hidden_act"] = p("relu2", "relu2", "gelu")
    return d


def bloom(p):
    h = p(4, 2, 4, 8, large=[16, 32])
    return dict(
        vocab_size=p(VOCABULARY, 61, 100, large=[250880]),
        hidden_size=h * p(6, 8, 12, 16, large=[64, 128]),
        n_layer=p(2, 1, 2, 4, large=[24, 30]),
        n_head=h,
        bos_token_id=1,
        eos_token_id=2,
    )


def cohere(p):
    d = biases(p, sizes(p, tied=True, tie=True), "attention_bias", "use_qk_norm")
    d["logit_scale"] = p(0.25, 0.0625, 1.0)
    return d


def deepseek_v2(p):
    d = dense_first(p, grouped(p, latent(p, sizes(p), query=False)))
    d["topk_method"] = p("group_limited_greedy", "group_limited_greedy", "greedy")
    if d["topk_method"] == "greedy":
        d["n_group"] = d["topk_group"] = None
    d["norm_topk_prob"] = False
    d["attention_bias"] = p(False, False, True)
    return d


def deepseek_v3(p):
    d = dense_first(p, grouped(p, latent(p, sizes(p), query=False)))
    d["attention_bias"] = p(False, False, True)
    d["rope_interleave"] = p(True, True, False)
    return d


def falcon(p):
    d = without(sizes(p, tied=True, tie=True), "intermediate_size", "num_key_value_heads")
    d["ffn_hidden_size"] = p(28, None, 40, 100, large=[None, 8192])
    d["new_decoder_architecture"] = p(True, True, False)
    d["multi_query"] = p(True, True, False)
    d["num_kv_heads"] = p(2, *[k for k in (1, 2, 4, 8) if d["num_attention_heads"] % k == 0])
    d["parallel_attn"] = True if d["new_decoder_architecture"] else p(True, True, False)
    if d["new_decoder_architecture"]:
        d["num_ln_in_parallel_attn"] = p(2, 1, 2)
    elif not d["multi_query"]:
        d["num_kv_heads"] = None
    d["bias"] = p(True, True, False)
    d["alibi"] = p(False, False, True)
    return d


def gemma(p):
    return biases(p, sizes(p, tie=True, kv=1), "attention_bias", tiny=False)


def gemma2(p):
    return vaultgemma(p)


def gemma3_text(p):
    d = windows(p, sizes(p, tie=True))
    d["query_pre_attn_scalar"] = p(16, 16, 256)
    d["attention_bias"] = p(False, True, False)
    d["tie_word_embeddings"] = True
    return two_ropes(p, d)


def gpt_neo(p):
    d = without(sizes(p, tied=True, tie=True), "num_key_value_heads", "rope_parameters", "num_hidden_layers")
    pairs = p(1, 1, 2, large=[4, 12])
    d["num_heads"] = d.pop("num_attention_heads")
    d["num_layers"] = 2 * pairs
    d["attention_types"] = [[["global", "local"], pairs]]
    d["window_size"] = p(5, 4, 16, large=[256])
    d["intermediate_size"] = p(28, None, 40, large=[None, 8192])
    d["tie_word_embeddings"] = True
    return d


def gpt_neox(p):
    d = without(sizes(p, tied=True), "num_key_value_heads")
    d["rotary_pct"] = p(0.5, 0.5, 1.0)
    return biases(p, d, "use_parallel_residual", "attention_bias")


def gpt_oss(p):
    d = windows(p, without(sizes(p), "intermediate_size"))
    d = mixture(p, d, "num_local_experts", width="intermediate_size")
    d["rope_parameters"] = yarn(truncate=False)
    d["attention_bias"] = p(True, True, False)
    return d


def gptj(p):
    return codegen(p)


def granite(p):
    return biases(p, multipliers(p, sizes(p, tied=True, tie=True)), "attention_bias", "mlp_bias")


def mistral(p):
    d = sizes(p)
    d["sliding_window"] = p(5, None, 16)
    return d


def mixtral(p):
    d = mixture(p, sizes(p), "num_local_experts", width=None)
    d["intermediate_size"] = p(8, 12, 24, large=[14336])
    d["sliding_window"] = p(5, None, 16)
    return d


def olmo2(p):
    return biases(p, sizes(p, tied=True), "attention_bias")


def opt(p):
    d = without(sizes(p, tied=True, tie=True), "num_key_value_heads", "rope_parameters", "intermediate_size")
    d["ffn_dim"] = p(28, 40, 100, large=[4096, 8192])
    d["word_embed_proj_dim"] = p(16, None, 24, large=[512])
    d["do_layer_norm_before"] = p(True, True, False)
    d["tie_word_embeddings"] = True
    return biases(p, d, "enable_bias", "layer_norm_elementwise_affine")


def phi(p):
    d = biases(p, sizes(p, tied=True, hidden=32, inner=28), "qk_layernorm")
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    d["tie_word_embeddings"] = False
    return d


def phi3(p):
    d = sizes(p, tied=True, hidden=32)
    d["partial_rotary_factor"] = p(0.5, 0.5, 1.0)
    d["sliding_window"] = p(5, None, 16)
    return d


def qwen2(p):
    d = windows(p, sizes(p, tied=True))
    d["use_sliding_window"] = p(True, True, False)
    if not d["use_sliding_window"]:
        d["layer_types"] = ["full_attention"] * d["num_hidden_layers"]
    return d


def qwen3(p):
    d = sizes(p)
    d["attention_bias"] = p(False, True, False)
    return d


def qwen3_moe(p):
    d = biases(p, mixture(p, qwen3(p)), "norm_topk_prob")
    d["decoder_sparse_step"] = p(1, 1, 2)
    d["mlp_only_layers"] = p([1], [], [0])
    return d


def stablelm(p):
    d = sizes(p, tied=True, hidden=32)
    d["partial_rotary_factor"] = p(0.5, 0.25, 0.5, 1.0)
    d["use_parallel_residual"] = p(False, True, False)
    return biases(p, d, "use_qkv_bias", "qk_layernorm")


def starcoder2(p):
    d = biases(p, sizes(p, tied=True, tie=True, inner=28), "use_bias")
    d["sliding_window"] = p(5, None, 16)
    return d


# Wrappers, with the smallest eyes that their classes take.


def eyes(text, **more):
    """A vision part of Qwen's form."""
    return dict(
        depth=1, hidden_size=16, intermediate_size=8, num_heads=2, patch_size=2, spatial_merge_size=1,
        temporal_patch_size=1, out_hidden_size=text["hidden_size"], **more,
    )


def marks(**more):
    return dict(image_token_id=0, video_token_id=0, vision_start_token_id=1, vision_end_token_id=2, **more)


def axes(text, width, interleaved=None):
    """RoPE with three axes, which share the pairs of a head."""
    half = width // 2
    third = half // 3
    text["rope_parameters"] = {**THETA, "mrope_section": [half - 2 * third, third, third]}
    if interleaved is not None:
        text["rope_parameters"]["mrope_interleaved"] = interleaved
    return text


def qwen2_vl(p):
    text = without(sizes(p, tied=True), "tie_word_embeddings")
    text = axes(text, text["hidden_size"] // text["num_attention_heads"])
    vision = dict(depth=1, embed_dim=16, hidden_size=text["hidden_size"], mlp_ratio=1, num_heads=2, patch_size=2, spatial_merge_size=1, temporal_patch_size=1)
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=p(False, True, False), **marks())


def qwen2_5_vl(p):
    text = without(sizes(p, tied=True), "tie_word_embeddings")
    text = axes(text, text["hidden_size"] // text["num_attention_heads"])
    vision = eyes(text, window_size=4, fullatt_block_indexes=[0])
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=p(False, True, False), **marks())


def qwen3_vl(p):
    text = without(qwen3(p), "tie_word_embeddings")
    text = axes(text, text["head_dim"], True)
    vision = eyes(text, num_position_embeddings=4, deepstack_visual_indexes=[])
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=p(False, True, False), **marks())


def qwen3_vl_moe(p):
    text = without(qwen3_moe(p), "norm_topk_prob")
    text["tie_word_embeddings"] = False
    text = axes(text, text["head_dim"], True)
    vision = eyes(text, num_position_embeddings=4, deepstack_visual_indexes=[])
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks())


def qwen3_5_moe(p):
    text = qwen3_5_moe_text(p)
    vision = eyes(text, num_position_embeddings=4)
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks())


def glm4v(p):
    text = without(sizes(p, tied=True, hidden=32), "tie_word_embeddings")
    width = text["hidden_size"] // text["num_attention_heads"]
    text = axes(text, width // 2)
    text["rope_parameters"]["partial_rotary_factor"] = 0.5
    vision = eyes(text, image_size=4)
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks(image_start_token_id=1, image_end_token_id=2, video_start_token_id=1, video_end_token_id=2))


def glm4v_moe(p):
    text = dense_first(p, grouped(p, sizes(p, tied=True, hidden=32)))
    text["tie_word_embeddings"] = False
    text["attention_bias"] = p(True, True, False)
    text["partial_rotary_factor"] = 0.5
    text = axes(text, text["hidden_size"] // text["num_attention_heads"] // 2)
    text["rope_parameters"]["partial_rotary_factor"] = 0.5
    vision = eyes(text, image_size=4)
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks(image_start_token_id=1, image_end_token_id=2, video_start_token_id=1, video_end_token_id=2))


def exaone4_5(p):
    text = {**exaone4(p), "model_type": "exaone4", "tie_word_embeddings": False}
    vision = {**eyes(text, window_size=4, fullatt_block_indexes=[0]), "num_key_value_heads": 1}
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks())


def kimi_k25(p):
    text = {**deepseek_v3(p), "model_type": "deepseek_v3", "tie_word_embeddings": False}
    vision = dict(
        patch_size=2, pos_emb_height=2, pos_emb_width=2, pos_emb_time=1, num_attention_heads=2, num_hidden_layers=1,
        hidden_size=16, intermediate_size=8, merge_kernel_size=[1, 1],
    )
    return dict(text_config=text, vision_config=vision, projection_hidden_size=16, tie_word_embeddings=False, **marks())


def kimi_k25_tensors(model):
    """The tensors under the names of Moonshot's files."""
    import torch

    found = {}
    for name, t in model.state_dict().items():
        name = name.replace("model.language_model.", "language_model.model.").replace("lm_head.", "language_model.lm_head.")
        name = re.sub(r"^model\.(vision_tower|mm_projector)\.", r"\1.", name)
        name = re.sub(r"^vision_tower\.(layers|final_layernorm)\.", r"vision_tower.encoder.\1.", name)
        name = name.replace("vision_tower.encoder.layers.", "vision_tower.encoder.blocks.").replace(".attn.proj.", ".wo.")
        name = name.replace("patch_embed.pos_emb.position_embeddings", "patch_embed.pos_emb.weight")
        name = name.replace("mm_projector.in_proj.", "mm_projector.proj.0.").replace("mm_projector.out_proj.", "mm_projector.proj.2.")
        if ".blocks." in name:  # norms and layers are counted from 0
            name = re.sub(r"\.(norm|mlp\.fc)([12])\.", lambda m: f".{m[1]}{int(m[2]) - 1}.", name)
        found.update(one_by_one(name, t, "gate_proj", "up_proj", "down_proj"))
    # Queries, keys and values of the eyes are one matrix there, with the pairs of RoPE side by side.
    heads = model.config.vision_config.num_attention_heads
    for name in [n for n in found if ".blocks." in n and ".attn.q_proj." in n]:
        parts = [found.pop(name.replace("q_proj", part + "_proj")) for part in "qkv"]
        for i in (0, 1):
            t = parts[i]
            parts[i] = t.reshape(heads, 2, t.shape[0] // heads // 2, -1).transpose(1, 2).reshape(t.shape)
        found[name.replace("attn.q_proj", "wqkv")] = torch.cat(parts)
    return found


def kimi_k25_saved(config, arguments):
    config["architectures"] = ["KimiK25ForConditionalGeneration"]
    config["text_config"]["model_type"] = "kimi_k2"
    return config


def gemma3n(p):
    text = gemma3n_text(p)
    words = text["vocab_size"]
    vision = dict(hidden_size=8, vocab_size=2, vocab_offset=words)
    audio = dict(
        hidden_size=8, vocab_size=2, vocab_offset=words + 2, input_feat_size=8, conf_num_attention_heads=2,
        conf_num_hidden_layers=1, conf_attention_chunk_size=4, conf_attention_context_left=5, conf_conv_kernel_size=3,
        sscp_conv_channel_size=[2, 2],
    )
    return dict(text_config=text, vision_config=vision, audio_config=audio)


def gemma3n_prepare():
    """Its eyes are a network of another library (timm), too large for a small model: a matrix stands for them."""
    import torch
    from transformers.models.gemma3n import modeling_gemma3n

    real = modeling_gemma3n.AutoModel

    class Eyes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.timm_model = torch.nn.Linear(3, 2, bias=False)

    class Auto:
        @staticmethod
        def from_config(config, **more):
            return Eyes() if config.model_type == "gemma3n_vision" else real.from_config(config, **more)

    modeling_gemma3n.AutoModel = Auto


def step3p7(p):
    text = windows(p, sizes(p, layers=3), tiny=["full_attention", "sliding_attention", "full_attention"])
    text = sparse_types(p, mixture(p, text, "n_routed_experts"))
    text["moe_intermediate_size"] = p(6, 12, 16, large=[1280])
    text["share_expert_dim"] = p(8, 12, 24, large=[1280])
    text["num_sliding_attention_heads"] = text["num_key_value_heads"] * p(3, 1, 2, 3)
    text["moe_router_scaling_factor"] = p(1.7, 1.0, 3.0)
    layers = text["num_hidden_layers"]
    text["swiglu_limits"] = [p(0.5, None, 7.0) if i % 2 else p(None, None, 16.0) for i in range(layers)]
    text["swiglu_limits_shared"] = [p(0.7, None, 7.0) if i % 2 else p(None, None, 16.0) for i in range(layers)]
    text["tie_word_embeddings"] = False
    text["pad_token_id"] = 1
    two_ropes(p, text, one={"partial_rotary_factor": 0.5}, two={"partial_rotary_factor": 1.0})
    vision = dict(width=8, layers=1, heads=2, mlp_ratio=1.0, image_size=8, patch_size=4, max_position_embeddings=4)
    return dict(text_config=text, vision_config=vision, image_token_id=0)


def llama4(p):
    text = llama4_text(p)
    text["tie_word_embeddings"] = False
    vision = dict(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vision_output_dim=16, image_size=8,
        patch_size=4, projector_input_dim=16, projector_output_dim=16, pixel_shuffle_ratio=0.5,
    )
    return dict(text_config=text, vision_config=vision, boi_token_index=1, eoi_token_index=2, image_token_index=0, tie_word_embeddings=False)


def gemma4(p):
    text = gemma4_text(p)
    vision = dict(
        hidden_size=16, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=8,
        patch_size=2, position_embedding_size=4, pooling_kernel_size=1,
    )
    return dict(text_config=text, vision_config=vision, audio_config=None, image_token_id=0, video_token_id=0, audio_token_id=0)


def gemma4_unified(p):
    text = gemma4_unified_text(p)
    vision = dict(patch_size=2, pooling_kernel_size=1, mm_embed_dim=16, mm_posemb_size=4, output_proj_dims=16)
    return dict(text_config=text, vision_config=vision, audio_config=dict(audio_embed_dim=16), image_token_id=0, video_token_id=0, audio_token_id=0)


def minimax_m3_vl(p):
    text = minimax_m3_vl_text(p)
    text["tie_word_embeddings"] = False
    if p.tiny:  # a dense layer would be saved as if it were sparse
        text["mlp_layer_types"] = ["sparse"] * text["num_hidden_layers"]
    vision = dict(
        hidden_size=16, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4,
        temporal_patch_size=1, spatial_merge_size=1,
    )
    return dict(text_config=text, vision_config=vision, image_token_index=0, video_token_index=0, projector_hidden_size=16)


def qwen3_5(p):
    text = {**qwen3_5_text(p), "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]}
    vision = eyes(text, num_position_embeddings=4)
    return dict(text_config=text, vision_config=vision, tie_word_embeddings=False, **marks())


def gemma3(p):
    text = windows(p, sizes(p, tie=True))
    text["tie_word_embeddings"] = True
    text["query_pre_attn_scalar"] = p(16, 16, 256)
    two_ropes(p, text)
    vision = dict(
        model_type="siglip_vision_model", hidden_size=16, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=2, image_size=8, patch_size=4, vision_use_head=False,
    )
    return dict(
        text_config=text, vision_config=vision, mm_tokens_per_image=4, image_token_index=0, boi_token_index=1,
        eoi_token_index=2,
    )


def mistral3(p):
    text = {**ministral(p), "model_type": "ministral"}
    vision = dict(
        model_type="pixtral", hidden_size=16, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2,
        image_size=8, patch_size=4, head_dim=8,
    )
    return dict(text_config=text, vision_config=vision, image_token_index=0, spatial_merge_size=1, tie_word_embeddings=False)


# ---------------------------------------------------------------------------------------------------------------
# Types: how to draw a config; features, each with what switches it off; tensors that cannot matter. sound: the config
# class as it is can be run (glm4_moe's gives a head 42.67 elements, deepseek_v2's no number of experts a token takes).
#
# A feature is switched off by other fields of the config, by tensors that become constant (a pattern of their names),
# by a function that edits a copy of the model, or by a Patch of transformers' code. A variant is a function that draws
# its config, or that with what else is its own.
# ---------------------------------------------------------------------------------------------------------------


class Patch:
    """Another function in the module of a type's code."""

    def __init__(self, name, replace):
        self.name, self.replace = name, replace

    @contextlib.contextmanager
    def applied(self, model):
        module = importlib.import_module(type(model).__module__)
        before = getattr(module, self.name)
        setattr(module, self.name, self.replace(before))
        try:
            yield
        finally:
            setattr(module, self.name, before)


def pairs_of_halves(old):
    """RoPE on the first and the second half of a head, in place of neighbours."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    return apply_rotary_pos_emb


def rotated_halves(interleaved):
    """The same where RoPE may turn a part of a head alone. interleaved: so are the angles that it is given."""

    def replace(old):
        import torch
        from transformers.models.llama.modeling_llama import rotate_half

        def apply(q, k, cos, sin, *unused, unsqueeze_dim=1, **more):
            def turned(x):
                c, s = (t[..., ::2] if interleaved else t[..., : t.shape[-1] // 2] for t in (cos, sin))
                c, s = (torch.cat((t, t), dim=-1).unsqueeze(unsqueeze_dim) for t in (c, s))
                part, rest = x[..., : c.shape[-1]], x[..., c.shape[-1] :]
                return torch.cat((part * c + rotate_half(part) * s, rest), dim=-1)

            return turned(q), turned(k)

        return apply

    return replace


def rotated_halves_of_one(old):
    """The same of GPT-J's form, which is given half the angles, and turns one tensor of tokens, heads and elements."""
    import torch
    from transformers.models.llama.modeling_llama import rotate_half

    def apply(tensor, sin, cos):
        s, c = (torch.cat((t, t), dim=-1)[:, :, None, :] for t in (sin, cos))
        return tensor * c + rotate_half(tensor) * s

    return apply


def rotated_forwards(old):
    from transformers.models.llama.modeling_llama import rotate_half

    return rotate_half


def without_head_norms(model):
    import torch

    for module in model.modules():
        if hasattr(module, "q_norm"):
            module.q_norm = module.k_norm = torch.nn.Identity()


def without_difference(model):
    for module in model.modules():
        if hasattr(module, "lambda_q1"):
            for name in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"):
                getattr(module, name).zero_()
            module.lambda_init = 0.0


def without_window(model):
    model.config.sliding_window_size = 1000


def without_far_distances(model):
    for module in model.modules():
        if type(module).__name__ == "InklingRelativeLogits":
            module.proj[:, module.proj.shape[1] // 2 :] = 0


def doge_prepare():
    """Its experts, one token at a time: of several, transformers' view mixes the routers' scores, and it gives the
    scores as well, which its layer cannot add."""
    import torch
    from transformers.models.doge.modeling_doge import DogeCDMoE

    whole = DogeCDMoE.forward

    def forward(self, hidden_states, **more):
        rows = [[whole(self, hidden_states[b : b + 1, t : t + 1])[0] for t in range(hidden_states.shape[1])] for b in range(hidden_states.shape[0])]
        return torch.cat([torch.cat(row, dim=1) for row in rows])

    DogeCDMoE.forward = forward


class Fresh(dict):
    """Other fields, with which the network has tensors of its own: they are drawn."""


class Instead(tuple):
    """Two sets of other fields: what the second one changes of the first one's logits."""


def inside(off):
    """The same of a wrapper's language model."""

    def within(how):
        if isinstance(how, Instead):
            return Instead(within(one) for one in how)
        return type(how)(text_config=how) if isinstance(how, dict) else how

    return {name: within(how) for name, how in off.items()}


def everywhere(layers, kind="sliding_attention"):
    """RoPE in every layer in place of the windowed ones alone: all are windowed, and no window is felt."""
    wide = {"sliding_window": 1000}
    return {"RoPE only in windows": Instead((wide, {**wide, "layer_types": [kind] * layers}))}


def long_text(make):
    """A variant of more than two chunks of 64 tokens, of a smaller vocabulary."""

    def form(p):
        d = make(p)
        context = "model_max_length" if "model_max_length" in d else "max_position_embeddings"
        return {**d, "vocab_size": 19, context: 256}

    return dict(make=form, tokens=140)


def compass_axes(p):
    """With heads of so many pairs that the order of the frequencies can be seen."""
    rope = {**cohere_compass_text(p)["rope_parameters"]["sliding_attention"], "mrope_section": [4, 2, 2]}
    heads = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1}
    return {**cohere_compass_text(p), **heads, "rope_parameters": {"sliding_attention": rope, "full_attention": None}}


def rope_form(make, rope, plain, **more):
    """A variant with a published form of RoPE; plain RoPE is what switches it off."""
    return dict(make=lambda p: {**make(p), "rope_parameters": rope, **more}, off={"scaling": {"rope_parameters": plain}})


WINDOW = {"window": {"sliding_window": 1000}}
TOP1 = {"second expert": {"num_experts_per_tok": 1}}
KEY_BIAS = r"k_proj\.bias|key\.bias"
PLAIN = {"rope_type": "default", "rope_theta": 100.0}
ROPE = {"RoPE": {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}}
SCALE = {"scale": {"routed_scaling_factor": 1.0}}
NORM = {"norm": {"norm_topk_prob": False}}
GROUPS = {"groups": {"n_group": 1, "topk_group": 1}}
SELECTIVE = {"decay": r"A_log$", "skip": r"\.D$", "step bias": r"dt_bias$|dt_proj_bias$|dt_proj\.bias$", "convolution": r"conv1d\.weight$"}
# With 23 tokens and these numbers, YaRN leaves one frequency, blends one and divides the others.
YARN = yarn(rope_theta=100.0, original_max_position_embeddings=32)
ALPHA = {
    "rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 50.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1,
    "mscale": 1.0, "mscale_all_dim": 1.0,
}
SCOUT = {**LLAMA3, "factor": 16.0, "high_freq_factor": 1.0}
PHIMOE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.3, 1.7], "long_factor": [1.2, 2.5, 6.0],
    "short_mscale": 1.15, "long_mscale": 1.4,
}


def phimoe_form(original, rope, **more):
    """LongRoPE. Beyond the original context transformers takes the short factors, with the long magnitude; the
    authors' code, and reckon, take the long ones: they are what transformers is given as the short ones."""
    whole = {**rope, "original_max_position_embeddings": original}
    return dict(
        make=lambda p: {**phimoe(p), "max_position_embeddings": 128, "rope_parameters": whole},
        off={"scaling": {"rope_parameters": dict(THETA)}, "magnitude": {"rope_parameters": {**whole, "short_mscale": 1.0, "long_mscale": 1.0}}},
        **more,
    )


def phimoe_saved(config, arguments):
    config["rope_parameters"].update(PHIMOE)
    return config


TYPES = {}


def add(name, make, off=None, inert=None, note=None, variants=None, **more):
    TYPES[name] = dict(make=make, off=off or {}, inert=inert, note=note, variants={"": make} if variants is None else variants, **more)


def uneven(arguments):
    """Keys and values of different widths, where a config of the delta rule can say so."""
    text = arguments.get("text_config", arguments)
    if text.get("linear_key_head_dim", 0) == text.get("linear_value_head_dim", 1):
        text["linear_value_head_dim"] += 4
    return arguments


DELTA = dict(lengths=(70, 130, 200), further=uneven)
DELTA_NOTE = "the delta rule runs in chunks padded to 64 tokens"
SCAN_NOTE = "the scan is products of elements, not counted; a second piece of several tokens starts it anew"
SSD_NOTE = "the scan runs in chunks of the chunk size, padded, much of it as products of elements that are not counted"
SPARSE_NOTE = "attention is dense with a mask, the indexer's scores over all keys are counted"

add("afmoe", afmoe, {**WINDOW, **TOP1, **everywhere(2), "mup": {"mup_enabled": False}, "route scale": {"route_scale": 1.0}})
add("apertus", apertus, {"rope scaling": {"rope_parameters": dict(THETA)}}, inert=r"act_fn\.eps")
add("aria_text", aria_text, {**ROPE, "attention biases": {"attention_bias": False}, "feed-forward biases": {"mlp_bias": False}, "shared experts": r"shared_experts\.down_proj\.(weight|bias)$", "router": r"router\.weight$", "second expert": {"moe_topk": 1}})
add("axk1", axk1, {"interleave": {"rope_interleave": False}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}})
add("biogpt", biogpt, {"scaled embedding": {"scale_embedding": False}}, inert=KEY_BIAS)
add("codegen", codegen, {"interleave": Patch("apply_rotary_pos_emb", rotated_halves_of_one), "activation": {"activation_function": "relu"}, "rotary": {"rotary_dim": 2}})
add("cohere2", cohere2, {**WINDOW, **everywhere(2), "interleave": Patch("apply_rotary_pos_emb", rotated_halves(True)), "logit scale": {"logit_scale": 1.0}})
add("cohere2_moe", cohere2_moe, {**WINDOW, **TOP1, **everywhere(3), "interleave": Patch("apply_rotary_pos_emb", rotated_halves(True)), "logit scale": {"logit_scale": 1.0}, "sigmoid": {"expert_selection_fn": "softmax"}, "norm": {"norm_topk_prob": False}, "average": {"shared_expert_combination_strategy": "sum"}, "dense layer rotates": {"prefix_dense_sliding_window_pattern": 2}}, inert=KEY_BIAS)
add("cohere_compass_text", cohere_compass_text, {**WINDOW, "interleave": Patch("apply_rotary_pos_emb", rotated_halves(True)), "logit scale": {"logit_scale": 1.0}}, variants={"": cohere_compass_text, "-axes": compass_axes})
add("cwm", cwm, {**WINDOW, "rope scaling": {"rope_parameters": dict(THETA)}})
add("dbrx", dbrx, {"clip": {"attn_config": dict(kv_n_heads=2, clip_qkv=100.0, rope_theta=10000.0)}, "norm": {"ffn_config": dict(ffn_hidden_size=10, moe_num_experts=4, moe_top_k=2, moe_normalize_expert_weights=None)}})
add("deepseek_v32", deepseek_v32, {"indexer": {"index_topk": 1000}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}}, note=SPARSE_NOTE)
add("diffllama", diffllama, {**ROPE, "difference": without_difference, "lambda": r"lambda_[qk][12]$", "biases": {"attention_bias": False}}, variants={"": diffllama, "-llama3": rope_form(diffllama, LLAMA3, dict(THETA))})
add("doge", doge, {"kept keys": {"keep_window_size": 1000}, **ROPE}, note="with is_moe transformers only counts: its layer cannot add the pair that its experts give, and of several tokens it mixes the routers' scores; the small one runs its experts a token at a time; the ids differ, for equal tokens would tie in the choice of keys", distinct=True, prepare=doge_prepare, more=9, further=lambda d: {**d, "is_moe": False},
    variants={"": doge, "-moe": dict(make=lambda p: {**doge(p), "is_moe": True}, off={"kept keys": {"keep_window_size": 1000}, "second expert": {"num_experts_per_tok": 1}, "router": r"router_gate\.weight$", "experts": r"up_embed\.weight$"})})
add("dots1", dots1, {**WINDOW, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}})
add("ernie4_5", ernie4_5, {**ROPE, "interleave": Patch("apply_rotary_pos_emb", pairs_of_halves), "biases": {"use_bias": False}})
add("ernie4_5_moe", ernie4_5_moe, {**ROPE, "interleave": Patch("apply_rotary_pos_emb", pairs_of_halves), "biases": {"use_bias": False}, "correction": r"e_score_correction_bias$", "shared experts": r"shared_experts\.down_proj\.(weight|bias)$", "second expert": {"moe_k": 1}})
EXAONE4 = {**WINDOW, **everywhere(2), "RoPE everywhere, no windows": {"sliding_window": None, "layer_types": ["full_attention"] * 2}}
add("exaone4", exaone4, EXAONE4, variants={"": exaone4, "-llama3": rope_form(exaone4, LLAMA3, dict(THETA))})
add("exaone_moe", exaone_moe, {**WINDOW, **everywhere(2), "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}})
add("flex_olmo", flex_olmo, {**TOP1, "norm": {"norm_topk_prob": False}})
EARLIER = {"keys and values of earlier layers": Fresh(num_kv_shared_layers=0)}
GEMMA3N = {**WINDOW, **EARLIER, "output scale": {"altup_correct_scale": False}, "soft cap": {"final_logit_softcapping": 1000.0}, "sparsity": {"activation_sparsity_pattern": [0.0] * 4}, "active stream": {"altup_active_idx": 0}}
add("gemma3n_text", gemma3n_text, GEMMA3N)
GEMMA4_ROPE = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
    "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 50000.0},
}
GEMMA4 = {
    **WINDOW,
    "soft cap": {"final_logit_softcapping": None},
    "RoPE in windows": {"rope_parameters": {**GEMMA4_ROPE, "sliding_attention": {"rope_type": "default", "rope_theta": 10.0}}},
    "RoPE elsewhere": {"rope_parameters": {**GEMMA4_ROPE, "full_attention": {**GEMMA4_ROPE["full_attention"], "rope_theta": 10.0}}},
    "proportional RoPE": {"rope_parameters": {**GEMMA4_ROPE, "full_attention": {**GEMMA4_ROPE["full_attention"], "partial_rotary_factor": 1.0}}},
    "query and key norms": r"self_attn\.[qk]_norm\.weight$",
    "scalar of a layer": r"layer_scalar$",
}
GEMMA4_INPUTS = {**GEMMA4, **EARLIER, "inputs of layers": r"per_layer_input_gate\.weight$", "tokens of layers": r"embed_tokens_per_layer\.weight$"}
add("gemma4_text", gemma4_text, GEMMA4_INPUTS, variants={"": gemma4_text, "-moe": dict(make=lambda p: gemma4_text(p, True), off={**GEMMA4, "second expert": {"top_k_experts": 1}, "scale of an expert": r"router\.per_expert_scale$"})}, seed=8)
add("gemma4_unified_text", gemma4_unified_text, GEMMA4)
add("glm", glm, {**ROPE, "interleave": Patch("apply_rotary_pos_emb", rotated_halves(False)), "biases": {"attention_bias": False}, "partial rotary": {"partial_rotary_factor": 1.0}})
add("glm4", glm, {**ROPE, "interleave": Patch("apply_rotary_pos_emb", rotated_halves(False)), "biases": {"attention_bias": False}, "norms behind": r"post_(self_attn|mlp)_layernorm\.weight$", "partial rotary": {"partial_rotary_factor": 1.0}})
add("glm4_moe", glm4_moe, {"partial rotary": {"partial_rotary_factor": 1.0}, "query and key norms": {"use_qk_norm": False}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}}, sound=False)
add("glm4_moe_lite", glm4_moe_lite, {"scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}})
add("glm_moe_dsa", glm_moe_dsa, {"shared choices": Fresh(indexer_types=["full"] * 3), "indexer": {"index_topk": 1000}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}}, note=SPARSE_NOTE)
GPT2 = {"positions": r"wpe\.weight$", "scale": {"scale_attn_weights": False}, "activation": {"activation_function": "relu"}}
add("gpt_bigcode", gpt_bigcode, GPT2, variants={"": gpt_bigcode, "-mha": lambda p: gpt_bigcode(p, False)})
add("gpt_neox_japanese", gpt_neox_japanese, {"RoPE": {"rope_parameters": {**PLAIN, "partial_rotary_factor": 1.0}}, "activation": {"hidden_act": "relu"}}, inert=r"dense_bias$")
add("gpt-sw3", gpt_sw3, {**GPT2, "scale by layer": {"scale_attn_by_inverse_layer_idx": True}})
MULTIPLIERS = {"embedding multiplier": {"embedding_multiplier": 1.0}, "logits scaling": {"logits_scaling": 1.0}, "residual multiplier": {"residual_multiplier": 1.0}, "attention multiplier": {"attention_multiplier": 1.0}}
add("granite_swa", granite_swa, {**WINDOW, **MULTIPLIERS, "no rotation in layer 1": {"layer_rope_theta": [10000.0, 10000.0]}})
add("granitemoe", granitemoe, {**TOP1, **MULTIPLIERS})
add("granitemoeshared", granitemoeshared, {**TOP1, **MULTIPLIERS})
add("granitemoe_swa", granitemoe_swa, {**WINDOW, **TOP1, **MULTIPLIERS, "no rotation in layer 1": {"layer_rope_theta": [10000.0, 10000.0]}})
add("helium", helium, {**ROPE, "interleave": Patch("apply_rotary_pos_emb", pairs_of_halves)})
HUNYUAN = {**ROPE, "query and key norms": r"(query|key)_layernorm\.weight$", "biases": {"attention_bias": False}}
add("hunyuan_v1_dense", hunyuan_v1_dense, HUNYUAN, variants={"": hunyuan_v1_dense, "-alpha": rope_form(hunyuan_v1_dense, ALPHA, dict(THETA))})
add("hunyuan_v1_moe", hunyuan_v1_moe, {**HUNYUAN, "second expert": {"moe_topk": 1}}, variants={"": hunyuan_v1_moe, "-alpha": rope_form(hunyuan_v1_moe, ALPHA, dict(THETA))})
add("hy_v3", hy_v3, {**TOP1, "scale": {"router_scaling_factor": 1.0}})
add("hyperclovax", hyperclovax, {**MULTIPLIERS, "post norm": {"use_post_norm": False}})
add("jais2", jais2, {**ROPE, "squared ReLU": {"hidden_act": "relu"}, "attention biases": {"attention_bias": False}, "feed-forward biases": {"mlp_bias": False}})
add("jetmoe", jetmoe, {**TOP1, **ROPE, "activation": {"activation_function": "relu"}})
add("laguna", laguna, {**WINDOW, **TOP1, "scale": {"moe_routed_scaling_factor": 1.0}, "router soft cap": {"moe_router_logit_softcapping": 0.0}}, variants={
    "": laguna,
    "-element": lambda p: {**laguna(p), "gating": "per-element"},
    "-yarn": rope_form(
        laguna,
        {"full_attention": {**YARN, "beta_fast": 64.0, "attention_factor": 1.0, "partial_rotary_factor": 0.5}, "sliding_attention": {**THETA, "partial_rotary_factor": 1.0}},
        {"full_attention": {**PLAIN, "partial_rotary_factor": 0.5}, "sliding_attention": {**THETA, "partial_rotary_factor": 1.0}},
        max_position_embeddings=128,
    ),
})
LLAMA4 = {"chunks": {"attention_chunk_size": 1000}, "temperature": {"attn_temperature_tuning": False}, "query and key norms": {"use_qk_norm": False}}
add("llama4_text", llama4_text, LLAMA4, note="every expert runs on every token", variants={"": llama4_text, "-llama3": rope_form(llama4_text, SCOUT, dict(THETA))})
add("longcat_flash", longcat_flash, {"third expert": {"moe_topk": 2}, "scale": {"routed_scaling_factor": 1.0}}, note="experts.gate_up_proj holds rows for the identity experts too, which no token reads")
add("mellum", mellum, {**WINDOW, **TOP1, **NORM}, variants={"": mellum, "-yarn": rope_form(mellum, {"full_attention": {**YARN, "attention_factor": 1.2772588722239782}, "sliding_attention": dict(THETA)}, {"full_attention": PLAIN, "sliding_attention": dict(THETA)}, max_position_embeddings=128)})
add("mimo_v2_flash", mimo_v2_flash, {**WINDOW, "value scale": {"attention_value_scale": None}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}})
add("minicpm3", minicpm3, {"embedding scale": {"scale_emb": 1.0}, "depth scale": {"scale_depth": 3.0}, "head scale": {"dim_model_base": 64}})
add("minimax_m2", minimax_m2, {**TOP1, "partial rotary": {"partial_rotary_factor": 1.0}})
add("ministral", ministral, {**WINDOW})
add("ministral3", ministral3, {"query scale": {"rope_parameters": yarn(mscale_all_dim=1.0, mscale=1.0, llama_4_scaling_beta=0.0)}, "yarn": {"rope_parameters": {**THETA, "llama_4_scaling_beta": 0.3, "original_max_position_embeddings": 8}}})
add("mistral4", mistral4, {"query scale": {"rope_parameters": yarn(mscale_all_dim=1.0, mscale=1.0, llama_4_scaling_beta=0.0)}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}})
add("mpt", mpt, {"clip": {"attn_config": dict(alibi=True, alibi_bias_max=8, clip_qkv=None, softmax_scale=0.5)}, "scale": {"attn_config": dict(alibi=True, alibi_bias_max=8, clip_qkv=0.9, softmax_scale=None)}}, note="expansion_ratio and alibi_bias_max are not read: 4 and 8")
# The norms behind RoPE have no weights: before it they would do the same, for it turns pairs of elements.
add("nanochat", nanochat, {**ROPE, "RoPE backwards": Patch("rotate_half", rotated_forwards), "query and key norms": without_head_norms, "squared ReLU": {"hidden_act": "relu"}, "soft cap": {"final_logit_softcapping": None}})
add("nemotron", nemotron, {"partial rotary": {"partial_rotary_factor": 1.0}})
add("olmo", olmo, {"clip": {"clip_qkv": None}})
add("olmo3", olmo3, {**WINDOW}, variants={"": olmo3, "-yarn": rope_form(olmo3, {"full_attention": {**YARN, "attention_factor": 1.2079441541679836}, "sliding_attention": dict(THETA)}, {"full_attention": PLAIN, "sliding_attention": dict(THETA)}, max_position_embeddings=128)})
add("olmoe", olmoe, {**TOP1, "clip": {"clip_qkv": None}, "norm": {"norm_topk_prob": False}})
add("openai-gpt", openai_gpt, {"positions": r"positions_embed\.weight$", "activation": {"afn": "relu"}})
add("persimmon", persimmon, {"partial rotary": {"partial_rotary_factor": 1.0}, "query and key norms": {"qk_layernorm": False}})
add("phimoe", phimoe, {"sparsemixer threshold": {"router_jitter_noise": 0.4}, **ROPE}, variants={
    "": phimoe,
    "-longrope-short": phimoe_form(64, PHIMOE),
    "-longrope-long": phimoe_form(4, {**PHIMOE, "short_factor": PHIMOE["long_factor"], "short_mscale": PHIMOE["long_mscale"]}, saved=phimoe_saved, read_back=False),
})
add("qwen2_moe", qwen2_moe, {**WINDOW, **TOP1, "norm": {"norm_topk_prob": False}})
add("seed_oss", seed_oss, {**ROPE, "biases": {"attention_bias": False}, "output bias": {"attention_out_bias": False}, "feed-forward biases": {"mlp_bias": False}})
add("smollm3", smollm3, {**WINDOW, "layers without rope": {"no_rope_layers": [1, 1, 1], "layer_types": ["full_attention", "sliding_attention", "full_attention"]}})
add("solar_open", solar_open, {**SCALE, **NORM, **GROUPS}, variants={"": solar_open, "-yarn": rope_form(solar_open, without(YARN, "beta_fast", "beta_slow"), PLAIN, max_position_embeddings=128)})
add("vaultgemma", vaultgemma, {**WINDOW, "soft cap": {"final_logit_softcapping": None}, "score cap": {"attn_logit_softcapping": None}, "scale": {"query_pre_attn_scalar": 8}})
add("xglm", xglm, {"scaled embedding": {"scale_embedding": False}}, inert=KEY_BIAS)
add("youtu", youtu, {**ROPE, "norms of latents": r"(q|kv)_a_layernorm\.weight$", "activation": {"hidden_act": "relu"}, "interleave": {"rope_interleave": False}})

add("qwen3_next", qwen3_next, {**TOP1, "norm": {"norm_topk_prob": False}, "partial rotary": {"partial_rotary_factor": 1.0}}, note=DELTA_NOTE, **DELTA)
QWEN3_5_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [2, 0, 0], "mrope_interleaved": True}
QWEN3_5 = {
    "RoPE": {"rope_parameters": {**QWEN3_5_ROPE, "rope_theta": 100.0}},
    "partial rotary": {"partial_rotary_factor": 1.0, "rope_parameters": {**QWEN3_5_ROPE, "partial_rotary_factor": 1.0, "mrope_section": [4, 0, 0]}},
    "decay": r"A_log$",
    "step bias": r"dt_bias$",
    "convolution": r"conv1d\.weight$",
    "learning rate": r"in_proj_b\.weight$",
    "gate": r"in_proj_z\.weight$",
    "query and key norms": r"self_attn\.[qk]_norm\.weight$",
}
add("qwen3_5_text", qwen3_5_text, QWEN3_5, note=DELTA_NOTE, **DELTA)
add("qwen3_5_moe_text", qwen3_5_moe_text, {**QWEN3_5, **TOP1}, note=DELTA_NOTE, **DELTA)
add("kimi_linear", kimi_linear, {
    **SCALE, "norm": {"moe_renormalize": False}, "groups": {"num_expert_group": 1, "topk_group": 1},
    "second expert": {"num_experts_per_token": 1}, "decay": r"A_log$", "step bias": r"dt_bias$", "convolution": r"conv1d\.weight$",
    "learning rate": r"(b|beta)_proj\.weight$", "decay of a channel": r"f_b_proj\.weight$", "gate": r"g_b_proj\.weight$",
    "correction": r"e_score_correction_bias$",
}, note="the delta rule runs in chunks padded to 64 tokens, much of it as products of elements that are not counted", fields=kimi_linear_fields,
    tensors=kimi_linear_tensors, saved=lambda config, arguments: {"architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", **arguments}, default=False, variants={"": kimi_linear, "-long": long_text(kimi_linear)}, **DELTA)
add("olmo_hybrid", olmo_hybrid, {
    "negative eigenvalues": {"linear_allow_neg_eigval": False}, "decay": r"A_log$", "step bias": r"dt_bias$", "convolution": r"conv1d\.weight$",
    "learning rate": r"b_proj\.weight$", "gate": r"linear_attn\.g_proj\.weight$", "norm of results": r"o_norm\.weight$",
    "query and key norms": r"self_attn\.[qk]_norm\.weight$",
}, note=DELTA_NOTE, variants={"": olmo_hybrid, "-long": long_text(olmo_hybrid)}, **DELTA)
MAMBA = {**SELECTIVE, "biases": {"use_bias": False}, "convolution bias": {"use_conv_bias": False}, "activation": {"hidden_act": "relu"}}
add("mamba", mamba, MAMBA, note=SCAN_NOTE, chunks=False)
add("mamba2", mamba2, {**MAMBA, "gated norm": r"mixer\.norm\.weight$"}, note=SSD_NOTE)
add("falcon_mamba", mamba, {**MAMBA, "norms of steps, keys and queries": {"mixer_rms_eps": 1.0}}, note=SCAN_NOTE, chunks=False)
add("bamba", bamba, {**ROPE, **SELECTIVE, "gated norm": r"mamba\.norm\.weight$", "convolution bias": {"mamba_conv_bias": False}, "projection bias": {"mamba_proj_bias": False}}, note=SSD_NOTE, positions=True)
add("jamba", jamba, {**TOP1, **SELECTIVE, "norms of steps, keys and queries": r"mamba\.(dt|b|c)_layernorm\.weight$", "convolution bias": {"mamba_conv_bias": False}, "projection bias": {"mamba_proj_bias": False}, "activation": {"hidden_act": "relu"}}, note=SCAN_NOTE, chunks=False)
add("zamba", zamba, {**SELECTIVE, "convolution bias": {"mamba_conv_bias": False}, "shared block": r"\.linear\.weight$", "activation": {"hidden_act": "relu"}}, note=SCAN_NOTE, chunks=False)
add("zamba2", zamba2, {
    **SELECTIVE, "gated norm": r"mamba\.norm\.weight$", "convolution bias": r"conv1d\.bias$", "biases": {"add_bias_linear": False},
    "shared block": r"layers\.\d+\.linear\.weight$", "adapters of the feed-forward": r"gate_up_proj_adapter_list",
    "adapters of attention": r"linear_[qkv]_adapter_list", "activation": {"hidden_act": "relu"}, "rope": {"use_mem_rope": False},
}, note=SSD_NOTE)
add("falcon_h1", falcon_h1, {"head multiplier": {"lm_head_multiplier": 1.0}, "embedding multiplier": {"embedding_multiplier": 1.0}, "gate multiplier": {"mlp_multipliers": [1.0, 1.3]}, "down multiplier": {"mlp_multipliers": [0.8, 1.0]}, "key multiplier": {"key_multiplier": 1.0}, "attention out": {"attention_out_multiplier": 1.0}, "attention in": {"attention_in_multiplier": 1.0}, "ssm in": {"ssm_in_multiplier": 1.0}, "ssm out": {"ssm_out_multiplier": 1.0}, "ssm parts": {"ssm_multipliers": [1.0] * 5}, "norm before gate": {"mamba_norm_before_gate": True}}, note=SSD_NOTE, rows=True)
add("nemotron_h", nemotron_h, {"scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}}, note=SSD_NOTE)
add("granitemoehybrid", granitemoehybrid, {**TOP1, **MULTIPLIERS, "rope": {"position_embedding_type": None}}, note=SSD_NOTE)
add("minimax", minimax, {**TOP1, "full alpha": {"full_attn_alpha_factor": 1.0}, "full beta": {"full_attn_beta_factor": 1.0}, "linear alpha": {"linear_attn_alpha_factor": 1.0}, "linear beta": {"linear_attn_beta_factor": 1.0}, "mlp alpha": {"mlp_alpha_factor": 1.0}, "mlp beta": {"mlp_beta_factor": 1.0}}, inert=r"slope_rate$", note="lightning attention runs in blocks")
add("lfm2", lfm2, {**ROPE, "convolution": r"conv\.conv\.weight$", "convolution bias": {"conv_bias": False}, "query and key norms": r"[qk]_layernorm\.weight$"})
add("lfm2_moe", lfm2_moe, {**TOP1, "expert bias": {"use_expert_bias": False}, "norm": {"norm_topk_prob": False}, "scale": {"routed_scaling_factor": 1.0}})
add("recurrent_gemma", recurrent_gemma, {"window": {"attention_window_size": 1000}, "soft cap": {"logits_soft_cap": 1000.0}}, note="the RG-LRU's recurrence is products of elements, not counted", own_cache=True, chunks=False)

add("deepseek_v4", deepseek_v4, {"window": {"sliding_window": 1000}, "clamp": {"swiglu_limit": 100.0}, "index": {"index_topk": 1000}, "scale": {"routed_scaling_factor": 1.0}, "sinkhorn": {"hc_sinkhorn_iters": 1}}, note=SPARSE_NOTE, variants={"": deepseek_v4, "-yarn": rope_form(deepseek_v4, YARN, {"rope_type": "default"}, compress_rope_theta=100.0, max_position_embeddings=128)})
MINIMAX_M3 = {"blocks": {"index_topk_blocks": 1000}, "clamp": {"swiglu_limit": 100.0}, **SCALE}
add("minimax_m3_vl_text", minimax_m3_vl_text, MINIMAX_M3, note=SPARSE_NOTE)
add("inkling_text", inkling_text, {"log scaling": {"log_scaling_n_floor": None}, "route scale": {"route_scale": 1.0}, "mup": {"logits_mup_width_multiplier": 1.0}, "window": without_window, "distances": r"rel_logits_proj\.proj$", "far distances": without_far_distances, **TOP1, "convolutions": r"sconv\.conv1d\.weight$", "scale of a head": r"self_attn\.[qk]_norm\.weight$"})
add("axk2", axk2, {"indexer": {"index_topk": 1000}, "scale": {"routed_scaling_factor": 1.0}, "norm": {"norm_topk_prob": False}, "groups": {"n_group": 1, "topk_group": 1}}, note=SPARSE_NOTE)
ZAYA_ROPE = {"hybrid": {"rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.5}, "hybrid_sliding": {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5}}
add("zaya", zaya, {
    **WINDOW,
    "RoPE in windows": {"rope_parameters": {**ZAYA_ROPE, "hybrid_sliding": {**ZAYA_ROPE["hybrid_sliding"], "rope_theta": 10.0}}},
    "RoPE elsewhere": {"rope_parameters": {**ZAYA_ROPE, "hybrid": {**ZAYA_ROPE["hybrid"], "rope_theta": 10.0}}},
    "partial rotary": {"rope_parameters": {k: {**v, "partial_rotary_factor": 1.0} for k, v in ZAYA_ROPE.items()}},
    "biases": {"attention_bias": False},
    "head bias": {"lm_head_bias": False},
}, read_back=False, note="reading a file, transformers sets the last balancing bias to -1; the logits are those of the file's values")

add("arcee", arcee, variants={})
add("bloom", bloom, {"slopes": Patch("build_alibi_tensor", lambda old: lambda *given, **named: 0 * old(*given, **named)), "residual before the norm": {"apply_residual_connection_post_layernorm": True}, "norm of the embedding": r"word_embeddings_layernorm\.(weight|bias)$"}, inert=r"query_key_value\.bias")
add("cohere", cohere, {**ROPE, "interleave": Patch("apply_rotary_pos_emb", rotated_halves(True)), "query and key norms": {"use_qk_norm": False}, "biases": {"attention_bias": False}, "logit scale": {"logit_scale": 1.0}}, inert=KEY_BIAS)
add("deepseek_v2", deepseek_v2, {"scale": {"routed_scaling_factor": 1.0}, "groups": {"topk_method": "greedy", "n_group": None, "topk_group": None}}, sound=False)
add("deepseek_v3", deepseek_v3, variants={})
add("falcon", falcon, {**ROPE, "biases": {"bias": False}, "positions": {"alibi": True}})
add("gemma", gemma, variants={})
add("gemma2", gemma2, variants={})
add("gemma3_text", gemma3_text, {**WINDOW, "scale": {"query_pre_attn_scalar": 8}})
add("gpt2", gpt_sw3, variants={})
add("gpt_neo", gpt_neo, {"window": {"window_size": 1000}})
add("gpt_neox", gpt_neox, variants={})
add("gpt_oss", gpt_oss, variants={})
add("gptj", gptj, {"interleave": Patch("apply_rotary_pos_emb", rotated_halves_of_one), "activation": {"activation_function": "relu"}, "rotary": {"rotary_dim": 2}})
add("granite", granite, MULTIPLIERS)
add("llama", llama, variants={})
add("mistral", mistral, variants={})
add("mixtral", mixtral, variants={})
add("olmo2", olmo2, variants={})
add("opt", opt, variants={})
add("phi", phi, {"partial rotary": {"partial_rotary_factor": 1.0}})
add("phi3", phi3, variants={})
add("qwen2", qwen2, variants={})
add("qwen3", qwen3, variants={})
add("qwen3_moe", qwen3_moe, variants={})
add("stablelm", stablelm, {"partial rotary": {"partial_rotary_factor": 1.0}}, variants={"": stablelm, "-parallel": lambda p: {**stablelm(p), "use_parallel_residual": True}})
add("starcoder2", starcoder2, {**WINDOW})

EYES = r"vision|visual|projector|audio"
QWEN2_VL = {
    "RoPE": {"rope_parameters": {**PLAIN, "mrope_section": [1, 1, 1]}},
    "biases": r"language_model.*self_attn\.[qkv]_proj\.bias$",
}
QWEN3_VL = {
    "RoPE": {"rope_parameters": {**PLAIN, "mrope_section": [2, 1, 1], "mrope_interleaved": True}},
    "query and key norms": r"language_model.*self_attn\.[qk]_norm\.weight$",
}
GLM4V = {
    "RoPE": {"rope_parameters": {**PLAIN, "partial_rotary_factor": 0.5, "mrope_section": [2, 0, 0]}},
    "partial rotary": {"partial_rotary_factor": 1.0, "rope_parameters": {**THETA, "partial_rotary_factor": 1.0, "mrope_section": [4, 0, 0]}},
}
GEMMA3_ROPE = {"full_attention": {"rope_type": "default", "rope_theta": 50000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0}}
GEMMA3 = {
    **WINDOW,
    "scale": {"query_pre_attn_scalar": 8},
    "RoPE in windows": {"rope_parameters": {**GEMMA3_ROPE, "sliding_attention": {"rope_type": "default", "rope_theta": 10.0}}},
    "RoPE elsewhere": {"rope_parameters": {**GEMMA3_ROPE, "full_attention": {"rope_type": "default", "rope_theta": 10.0}}},
}
STEP3P5_ROPE = {
    "full_attention": {"rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.5},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 1.0},
}
STEP3P5 = {
    **WINDOW,
    **TOP1,
    "scale": {"moe_router_scaling_factor": 1.0},
    "limits": {"swiglu_limits": [None] * 3},
    "limits of shared experts": {"swiglu_limits_shared": [None] * 3},
    "RoPE in windows": {"rope_parameters": {**STEP3P5_ROPE, "sliding_attention": {**STEP3P5_ROPE["sliding_attention"], "rope_theta": 10.0}}},
    "RoPE elsewhere": {"rope_parameters": {**STEP3P5_ROPE, "full_attention": {**STEP3P5_ROPE["full_attention"], "rope_theta": 10.0}}},
    "partial rotary": {"rope_parameters": {**STEP3P5_ROPE, "full_attention": {**STEP3P5_ROPE["full_attention"], "partial_rotary_factor": 1.0}}},
    "gates of heads": r"language_model.*self_attn\.g_proj\.weight$",
    "query and key norms": r"language_model.*self_attn\.[qk]_norm\.weight$",
    "correction": r"language_model.*(e_score_correction_bias|router_bias)$",
}
WRAPPERS = {
    "exaone4_5": (exaone4_5, EXAONE4, {}),
    "gemma3": (gemma3, GEMMA3, {}),
    "gemma3n": (gemma3n, GEMMA3N, {"prepare": gemma3n_prepare, "note": "for each token a token of the eyes and one of the ears is projected too; its eyes, of another library, are a matrix here"}),
    "gemma4": (gemma4, GEMMA4_INPUTS, {"seed": 8}),
    "gemma4_unified": (gemma4_unified, GEMMA4, {}),
    "glm4v": (glm4v, GLM4V, {}),
    "glm4v_moe": (glm4v_moe, {**GLM4V, **SCALE, **NORM, **GROUPS}, {"sound": False}),
    # transformers saves other names than Moonshot's files have
    "kimi_k25": (kimi_k25, {"interleave": {"rope_interleave": False}, **SCALE, **NORM, **GROUPS}, {"tensors": kimi_k25_tensors, "saved": kimi_k25_saved}),
    "llama4": (llama4, LLAMA4, {"note": "every expert runs on every token"}),
    "minimax_m3_vl": (minimax_m3_vl, MINIMAX_M3, {"note": SPARSE_NOTE}),
    "mistral3": (mistral3, WINDOW, {}),
    "qwen2_5_vl": (qwen2_5_vl, QWEN2_VL, {}),
    "qwen2_vl": (qwen2_vl, QWEN2_VL, {}),
    "qwen3_5": (qwen3_5, QWEN3_5, {"note": DELTA_NOTE, **DELTA}),
    "qwen3_5_moe": (qwen3_5_moe, {**QWEN3_5, **TOP1}, {"note": DELTA_NOTE, **DELTA}),
    "qwen3_vl": (qwen3_vl, QWEN3_VL, {}),
    "qwen3_vl_moe": (qwen3_vl_moe, {**QWEN3_VL, **TOP1}, {}),
    "step3p7": (step3p7, STEP3P5, {}),
}
for wrapper, (make, off, more) in WRAPPERS.items():
    add(wrapper, make, inside(off), inert=EYES, **more)


# ---------------------------------------------------------------------------------------------------------------
# One type.
# ---------------------------------------------------------------------------------------------------------------


def setup():
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    return torch, transformers


def no_init():
    for module in ("transformers.initialization", "transformers.modeling_utils"):
        try:
            return getattr(__import__(module, fromlist=["x"]), "no_init_weights")()
        except (ImportError, AttributeError):
            continue
    return contextlib.nullcontext()


def make_config(name, arguments):
    from transformers import AutoConfig

    fields = TYPES[name].get("fields", lambda d: d)
    return AutoConfig.for_model(name, **fields(copy.deepcopy(arguments)))


def saved_config(config, spec, arguments):
    """What save_pretrained writes, or what the makers of a type write."""
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        with open(os.path.join(folder, "config.json")) as file:
            written = json.load(file)
    return spec["saved"](written, copy.deepcopy(arguments)) if "saved" in spec else written


def model_class(name):
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    if name == "mistral4":  # not in the table of causal models
        from transformers.models.mistral4.modeling_mistral4 import Mistral4ForCausalLM

        Mistral4ForCausalLM.from_config = Mistral4ForCausalLM._from_config
        return Mistral4ForCausalLM
    return AutoModelForImageTextToText if name in WRAPPERS else AutoModelForCausalLM


def parts(model):
    """Parameters by the first two parts of their names."""
    found = {}
    for name, p in model.named_parameters():
        top = ".".join(name.split(".")[:2])
        found[top] = found.get(top, 0) + p.numel()
    return found


def build(config, device=None):
    import torch
    config = copy.deepcopy(config)
    family = model_class(config.model_type)
    more = {"attn_implementation": "eager", "dtype": torch.float32}
    if device == "meta":
        with torch.device("meta"), no_init():
            return family.from_config(config, **more)
    torch.manual_seed(1)
    model = family.from_config(config, **more).float().eval()
    with contextlib.suppress(Exception):
        model.set_experts_implementation("eager")
    return model


def persistent_buffers(model):
    kept = []
    for prefix, module in model.named_modules():
        for name, buffer in module._buffers.items():
            if buffer is not None and name not in module._non_persistent_buffers_set:
                kept.append((f"{prefix}.{name}" if prefix else name, buffer))
    return kept


def count(model):
    """Registered parameters, a tied one once, and the buffers that are saved."""
    try:
        model.tie_weights()
    except Exception:
        pass
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "buffers_persistent": {name: list(b.shape) for name, b in persistent_buffers(model)},
    }


KEEP = {"slope_rate", "query_decay", "key_decay", "diagonal_decay", "eps", "causal_mask", "masked_bias"}


def randomise(model, seed):
    """Draws every parameter and every saved buffer, so that none is a constant that a test cannot see."""
    import torch

    g = torch.Generator().manual_seed(seed)

    def normal(t, scale, middle=0.0):
        return torch.randn(t.shape, generator=g, dtype=torch.float32) * scale + middle

    def uniform(t, low, high):
        return torch.rand(t.shape, generator=g, dtype=torch.float32) * (high - low) + low

    with torch.no_grad():
        for name, t in list(model.named_parameters()) + persistent_buffers(model):
            leaf = name.split(".")[-1]
            if leaf in KEEP or t.dtype == torch.bool or t.numel() == 0:
                continue
            if not t.is_floating_point():
                if leaf == "tid2eid":
                    experts = model.config.n_routed_experts
                    rows = [torch.randperm(experts, generator=g)[: t.shape[1]] for _ in range(t.shape[0])]
                    t.copy_(torch.stack(rows))
                continue
            middle = float(t.float().mean()) if bool(torch.isfinite(t).all()) else 0.0
            ones = t.dim() <= 1 and abs(middle - 1) < 1e-3
            if leaf == "beta":
                new = uniform(t, 0.3, 0.7)
            elif leaf == "A_log":
                new = uniform(t, -1.5, 0.7)
            elif leaf in ("dt_bias", "dt_proj_bias") or name.endswith("dt_proj.bias"):
                new = uniform(t, -2.0, 0.5)
            elif leaf == "recurrent_param":
                new = uniform(t, -4.0, -1.0)
            elif leaf == "balancing_biases":
                new = normal(t, 0.1)
            elif "correction_bias" in leaf or "expert_bias" in leaf:
                new = normal(t, 0.15)
            elif leaf == "A":  # far from zero, where all keys of a dynamic mask would weigh the same
                new = normal(t, 1.0)
            elif leaf == "D":
                new = normal(t, 0.3, 1.0)
            elif leaf in ("alpha_p", "alpha_n"):
                new = normal(t, 0.4)
            elif t.dim() == 0 or ones:
                new = normal(t, 0.2, 1.0 if ones or abs(middle - 1) < 1e-3 else 0.0)
            elif leaf == "sinks":
                new = normal(t, 0.7)
            elif t.dim() == 1:
                new = normal(t, 0.2)
            elif re.search(r"embed|wte|wpe|tokens_embed|positions_embed|word_embeddings", name) and t.dim() == 2:
                new = normal(t, 0.5)
            elif "conv" in name and t.dim() == 3:
                new = normal(t, 1.0 / math.sqrt(t.shape[1] * t.shape[2]))
            elif re.search(r"(gate|router|classifier)(\.\w+)?\.weight$", name) and "proj" not in leaf:
                new = normal(t, 2.0 / math.sqrt(t.shape[-1]))
            else:
                new = normal(t, 1.0 / math.sqrt(t.shape[-1]))
            t.copy_(new.to(t.dtype))
    return model


def forward_names(model):
    return set(inspect.signature(model.forward).parameters)


def logits_of(model, ids):
    more = {"use_cache": False} if "use_cache" in forward_names(model) else {}
    return model(input_ids=ids, **more).logits.float()


def cached_logits(model, ids, pieces, spec):
    """The logits of a run in pieces with the cache."""
    import torch
    from transformers import DynamicCache

    names = forward_names(model)
    key = "cache_params" if "cache_params" in names else "past_key_values"
    cache, found, start = None, [], 0
    if spec.get("own_cache"):
        logits_of(model, ids)  # forgets the states that the model keeps to itself
        cache = DynamicCache(config=model.config)
    for n in pieces:
        more = {"use_cache": True}
        if cache is not None:
            more[key] = cache
        if "cache_position" in names:
            more["cache_position"] = torch.arange(start, start + n)
        if spec.get("positions"):
            more["position_ids"] = torch.arange(start, start + n)[None]
        out = model(input_ids=ids[:, start : start + n], **more)
        given = getattr(out, key, None)
        cache = given if given is not None else cache
        if cache is None:
            raise RuntimeError("no cache came back")
        found.append(out.logits.float())
        start += n
    return torch.cat(found, dim=1)


def loss_of(logits, ids):
    import torch

    return torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def rounded(value):
    return float("%.6g" % value)


def number_lists(t):
    return [[[rounded(x) for x in row] for row in rows] for rows in t.tolist()]


def count_flops(model, ids):
    from torch.utils.flop_counter import FlopCounterMode

    def totals(counter):
        counts = counter.get_flop_counts()
        total = sum(counts.get("Global", {}).values())
        rope = sum(
            sum(ops.values())
            for module, ops in counts.items()
            if "rotary" in module.split(".")[-1].lower() or "rotary_embs" in module.split(".")[-2:-1]
        )
        return total, rope

    import torch

    model.requires_grad_(False)  # with gradients the counter's hooks fail in some mixtures
    with FlopCounterMode(display=False) as counter:
        logits_of(model, ids)
    forward, rope = totals(counter)
    by_op = {str(op): int(n) for op, n in counter.get_flop_counts().get("Global", {}).items()}
    found = dict(batch=ids.shape[0], tokens=ids.shape[1], forward=forward - rope, rope_table=rope, operations=by_op)
    for p in model.parameters():
        p.grad = None
        p.requires_grad_(True)
    loss = loss_of(logits_of(model, ids), ids)
    with FlopCounterMode(display=False) as counter:
        loss.backward()
    found["backward"] = totals(counter)[0]
    found["backward_operations"] = {str(op): int(n) for op, n in counter.get_flop_counts().get("Global", {}).items()}
    return found


def kinds_of(model):
    kinds = {}
    for name, t in list(model.named_parameters()) + persistent_buffers(model):
        kinds.setdefault(re.sub(r"\.\d+(?=\.|$)", ".*", name), []).append(t)
    return kinds


def make_constant(t):
    """One where it is nearly one, as norms are, and zero elsewhere; numbers of experts change places."""
    if not t.is_floating_point():
        t.copy_(t.flip(0))
    elif t.dim() <= 1 and abs(float(t.mean()) - 1) < 0.5:
        t.fill_(1.0)
    else:
        t.zero_()


def distance(model, ids, base, run):
    return float((run(model, ids) - base).abs().nan_to_num(1e9).max())


def changes(model, ids, base, run, skip):
    """How far the logits move when all tensors of one kind become constant."""
    import torch

    found = {}
    for kind, tensors in kinds_of(model).items():
        if skip and re.search(skip, kind):
            continue
        with torch.no_grad():
            before = [t.detach().clone() for t in tensors]
            for t in tensors:
                make_constant(t)
            try:
                found[kind] = distance(model, ids, base, run)
            except Exception as error:
                found[kind] = f"error: {error}"
            for t, old in zip(tensors, before):
                t.copy_(old)
    return found


def merged(arguments, overrides):
    """Fields of a nested config take the place of its own alone."""
    nested = {k: {**arguments[k], **v} for k, v in overrides.items() if k == "text_config"}
    return {**arguments, **overrides, **nested}


def switched(name, arguments, how, model, ids, base, run):
    """How far the logits move with one feature off and the same weights."""
    import torch

    if isinstance(how, Patch):
        with torch.no_grad(), how.applied(model):
            return distance(model, ids, base, run)
    if not isinstance(how, (dict, Instead)):
        other = copy.deepcopy(model)
        with torch.no_grad():
            if callable(how):
                how(other)
            else:
                chosen = [t for n, t in list(other.named_parameters()) + persistent_buffers(other) if re.search(how, n)]
                if not chosen:
                    return f"error: no tensor is called {how}"
                for t in chosen:
                    make_constant(t)
            return distance(other, ids, base, run)
    others = [with_fields(name, arguments, one, model) for one in (how if isinstance(how, Instead) else [how])]
    for _, extra in others:
        if extra and not isinstance(how, Fresh):
            return f"error: other tensors {extra[:4]}"
    with torch.no_grad():
        if len(others) == 2:
            base = run(others.pop(0)[0], ids)
        return distance(others[0][0], ids, base, run)


def with_fields(name, arguments, fields, model):
    """A model with other fields and the same weights, and which tensors it has beyond them; these are drawn."""
    import torch

    other = randomise(build(make_config(name, merged(arguments, fields))), 17)
    state, extra = model.state_dict(), []
    with torch.no_grad():
        for key, t in other.state_dict().items():
            if key in state and state[key].shape == t.shape:
                t.copy_(state[key])
            else:
                extra.append(key)
    return other, extra


# Every field of a small model's config is given another value, by its kind alone, whether or not a feature above names
# it. What that does is the value and how far the logits move, "tensors" (the network has others then: the field is a
# size), or "refused". unpack() wants a reason (UNFELT) for all that move nothing.


def other_values(field, value, default):
    """Values that a field might as well have: first the likeliest to be felt."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        near = [v for v in (value + 1, value * 2, value // 2, value - 1, 1, 0) if v >= 0]
        return [*near, default] if isinstance(default, int) and abs(default) <= 1024 else near
    if isinstance(value, float):
        return [value * 2 if value else 0.5, value / 2, 1.0, value * 1e4, default]
    if isinstance(value, str):
        return ["relu", "gelu", default] if "act" in field or field == "afn" else [default]
    if isinstance(value, list) and value:
        kinds = sorted({json.dumps(v) for v in value})
        if len(kinds) > 1:
            same = [[json.loads(kind)] * len(value) for kind in kinds]
            return [*same, value[::-1]]
        if isinstance(value[0], (int, float)) and not isinstance(value[0], bool):
            return [[v * 2 if v else v + 1 for v in value], []]
        return [default]
    return []


def switched_fields(name, arguments, model, ids, base, run, least, until):
    """What another value of each field does to the logits."""
    import torch

    fields = TYPES[name].get("fields", lambda d: d)
    whole = model.config.to_dict()
    part = "text_config" if name in WRAPPERS else None
    own = whole[part] if part else whole
    given = fields(copy.deepcopy(arguments))
    try:
        config = model.config.get_text_config() if part else model.config
        defaults = type(config)().to_dict()
    except Exception:
        defaults = {}
    shapes = {key: t.shape for key, t in model.state_dict().items()}

    def tried(overrides):
        from transformers import AutoConfig

        raw = copy.deepcopy(given)
        (raw.setdefault(part, {}) if part else raw).update(overrides)
        config = AutoConfig.for_model(name, **raw)
        if {key: t.shape for key, t in build(config, "meta").state_dict().items()} != shapes:
            return "tensors"
        other = build(config)
        with torch.no_grad():
            for key, t in other.state_dict().items():
                t.copy_(model.state_dict()[key])
            return distance(other, ids, base, run)

    def best(field, value, default, override):
        found = "refused"
        for candidate in other_values(field, value, default):
            if candidate is None or candidate == value:
                continue
            if time.time() > until:
                return "out of time"
            try:
                change = tried(override(candidate))
            except Exception:
                continue
            if change == "tensors":
                found = change
                if type(value) is int:
                    break
            elif isinstance(found, str) or change > found[1]:
                if found != "tensors" or change >= least:
                    found = [candidate, change]
            if isinstance(found, list) and found[1] >= least:
                break
        return found

    found = {}

    def walk(path, holder, usual, outer):
        for field, value in holder.items():
            if re.search(PASSED, field):
                continue
            override = lambda v, field=field: outer({**holder, field: v} if path else {field: v})
            usually = usual.get(field) if isinstance(usual, dict) else None
            if isinstance(value, dict):
                known = given.get(part, {}) if part else given
                named = known.get(field) if not path else None
                whole = {k: v for k, v in value.items() if k in named} if isinstance(named, dict) else value
                walk(f"{path}{field}.", whole, usually, lambda v, override=override: override(v))
            elif any(v is not None and v != value for v in other_values(field, value, usually)):
                found[path + field] = best(field, value, usually, override)

    walk("", own, defaults, lambda v: v)
    return found


# Why a field of a small model moves nothing, by patterns of "type field".
LATENT = r"(axk1|axk2|deepseek_v2|deepseek_v32|deepseek_v3|glm4_moe_lite|glm_moe_dsa|kimi_k25|kimi_linear|longcat_flash|minicpm3|mistral4|youtu)"
UNFELT = {
    "the context, which RoPE and ALiBi do not end at": r"max_position_embeddings|n_positions|n_ctx|max_seq_len|model_max_length",
    "how the work is cut or ordered": r"(mamba_)?chunk_size|block_size|use_mamba_kernels|use_mambapy|use_associative_scan|"
    r"use_mem_eff_path|slow_but_exact|reorder_and_upcast_attn|moe_shared_expert_overlap|num_logits_to_keep",
    "how numbers are stored between": r"residual_in_fp32|(scale_)?attention_softmax_in_fp32|enable_moe_fp32_combine",
    "first values": r"time_step_(min|max|floor|scale|init_scheme)|linear_(a_log|dt)_(min|max)|lambda_std_dev|rescale_prenorm_residual",
    "felt in training alone": r"(router|input)_jitter_noise|layerdrop|altup_coef_clip|aux_loss_coef|z_loss_coefficient|moe_loss_weight",
    "of further layers, which are not built": r"num_nextn_predict_layers|mtp_.*|chain_hidden_post_norm",
    "lists of the layers are there, which go before it": r"sliding_window_pattern|global_attn_every_n_layers|attn_layer_(period|offset)|"
    r"max_window_layers|first_k_dense_replace|moe_layers|moe_layer_(freq|end_index)|use_sliding_window|expert_layer_period",
    "of a text, all axes of a position are the same": r"rope_parameters\.(\w+\.)?mrope_(section|interleaved)",
    "the widths of the latents say it": LATENT + r" (num_key_value_heads|head_dim|qk_head_dim)",
    "RoPE's own parameters, or its lists, go before it": r"partial_rotary_factor|rotary_dim|rope_theta|(granite|granitemoe)_swa rope_parameters\.rope_theta",
    "it turns pairs at a threshold that the other value does not pass": r"rope_parameters\.(\w+\.)?(beta_fast|beta_slow)|(rope_parameters\.)?original_max_position_embeddings",
    "alpha alone counts": r"hunyuan_v1_(dense|moe) rope_parameters\.(factor|mscale|mscale_all_dim)",
    "of the other length": r"phimoe rope_parameters\.(long|short)_(factor|mscale)",
    "linear_attn_config goes before it": r"kimi_linear (linear_\w+|n_routed_experts)",
    "of another form of this network": r"falcon multi_query|doge (num_experts|num_experts_per_tok|norm_topk_prob)|mpt expansion_ratio|"
    r"gemma4_text (use_double_wide_mlp|vocab_size_per_layer_input)|minimax_m3_vl dense_intermediate_size",
    "the last layer attends to all whatever it says": r"gemma4_text layer_types",
    "transformers' class has the field, and its network does not read it": r"deepseek_v4 (attention_bias|n_shared_experts|norm_topk_prob|num_key_value_heads|"
    r"qk_rope_head_dim)|nemotron_h (attention_bias|mamba_proj_bias|expand|n_shared_experts|time_step_limit)|mpt (attn_config\.(alibi|alibi_bias_max|"
    r"attn_uses_sequence_id|prefix_lm|qk_ln)|embedding_fraction|learned_pos_emb|no_bias)|dbrx attn_config\.rope_theta|"
    r"(dbrx|gpt_bigcode) num_key_value_heads|gpt_neox_japanese (is_decoder|rope_parameters\.partial_rotary_factor)|biogpt layer_norm_eps|"
    r"deepseek_v2 norm_topk_prob|(deepseek_v32|glm_moe_dsa) mlp_bias|doge norm_topk_prob|falcon_h1 mamba_expand|"
    r"inkling_text (number_of_conv_states|rms_norm_eps_moe_gate|shared_expert_sink)|(jetmoe|laguna) num_attention_heads|kimi_linear (linear_attn_config\.kda_layers|"
    r"mla_use_nope|moe_router_activation_func|use_grouped_topk)|longcat_flash num_hidden_layers|mamba2 time_step_rank|"
    r"(minimax_m3_vl|minimax_m3_vl_text|step3p7) hidden_act|phimoe num_experts_per_tok|zamba2 (kv_channels|num_query_groups|use_conv_bias|use_long_context)",
}


def unfelt(name, fields, scale):
    """Of the fields that move nothing, why, or None."""
    found = {}
    for field, change in fields.items():
        if isinstance(change, list) and change[1] < LEAST_CHANGE * scale:
            ways = (reason for reason, kind in UNFELT.items() if re.fullmatch(kind, field) or re.fullmatch(kind, f"{name} {field}"))
            found[field] = next(ways, None)
    return found


# Fields that say nothing of the network.
PASSED = (
    r"^(_.*|architectures|model_type|transformers_version|dtype|torch_dtype|vocab_size|use_cache|return_dict|output_.*|id2label|label2id|"
    r"problem_type|chunk_size_feed_forward|is_encoder_decoder|.*token_ids?|.*_token_index|initializer_range|.*init.*|.*dropout.*|.*pdrop.*|"
    r"tie_word_embeddings|vision_config|audio_config|router_aux_loss_coef|output_router_logits|attn_implementation|summary_.*|"
    r"pretraining_tp|keys_to_ignore_at_inference|name_or_path)$"
)


def save_model(model, folder, spec, arguments):
    """By save_pretrained, but for what a type's makers write otherwise."""
    if "tensors" in spec:
        from safetensors.torch import save_file

        tensors = {n: t.detach().clone().contiguous() for n, t in spec["tensors"](model).items()}
        save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
        model.config.save_pretrained(folder)
    else:
        model.save_pretrained(folder)
    for name in os.listdir(folder):
        if name not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(folder, name))
    if "saved" in spec:
        path = os.path.join(folder, "config.json")
        with open(path) as file:
            written = spec["saved"](json.load(file), copy.deepcopy(arguments))
        with open(path, "w") as file:
            file.write(json.dumps(written, indent=2, sort_keys=True) + "\n")


def greedy_tokens(model, prompt, count, distinct, run):
    """What follows a prompt, and the least distance of a best token from the second; of ids that must differ, as far
    as they do."""
    import torch

    row, least = list(prompt), float("inf")
    with torch.no_grad():
        for _ in range(count):
            last = run(model, torch.tensor([row]))[0, -1]
            best = last.topk(2).values
            token = int(last.argmax())
            if distinct and token in row:
                break
            least = min(least, float(best[0] - best[1]))
            row.append(token)
    return row, least


def pieces_of(tokens):
    """Pieces of a run with the cache: long ones, and single tokens between them."""
    if tokens == TOKENS:
        return [9, 1, 6, 1, 6]
    half = tokens // 2
    return [half, 1, half // 2, 1, tokens - half - half // 2 - 2]


def tiny(name, spec, variant, make, out, until):
    import torch
    from safetensors.torch import load_file, save_file

    arguments = make(Draw("tiny"))
    length = spec.get("tokens", TOKENS)
    model = randomise(build(make_config(name, arguments)), spec.get("seed", 7))
    g = torch.Generator().manual_seed(11)
    vocabulary = min(VOCABULARY - 2, model.config.get_text_config().vocab_size)
    ids = torch.randint(3, vocabulary, (2, length), generator=g)
    if spec.get("distinct"):
        ids = torch.stack([3 + torch.randperm(vocabulary - 3, generator=g)[:length] for _ in range(2)])
    run = logits_of
    failures = []
    with torch.no_grad():
        logits = run(model, ids)
    if not bool(torch.isfinite(logits).all()):
        failures.append("logits are not finite")
    scale = float(logits.abs().max())
    agreement, where = {}, {}
    for title, pieces in (("chunks", pieces_of(length)), ("tokens", [1] * length)):
        if not {"use_cache", "past_key_values"} & forward_names(model):
            agreement[title] = None
            continue
        try:
            # One row at a time where transformers mixes the rows of a step of one token.
            rows = ids.split(1) if spec.get("rows") else [ids]
            # A copy where what a run leaves behind could change the next one.
            runner = model if "use_cache" in forward_names(model) else copy.deepcopy(model)
            with torch.no_grad():
                apart = (torch.cat([cached_logits(runner, r, pieces, spec) for r in rows]) - logits).abs()
            agreement[title] = float(apart.max())
            problem = None if agreement[title] <= 1e-4 else f"differ by {agreement[title]}"
            if problem:
                where[title] = [rounded(x) for x in apart.amax(dim=(0, 2)).tolist()]
        except Exception as error:
            agreement[title] = None
            problem = f"{type(error).__name__}: {error}"
        if problem and (title == "tokens" or spec.get("chunks", True)):
            if "use_cache" in forward_names(model):
                failures.append(f"{title}: {problem}")
            else:  # what it keeps by itself is not asked for
                where[title] = problem
    # Of a few prompts the one whose best token is best by most; of ids that must differ, that with the most of them.
    greedy, prompt, gap = [], [], -1.0
    if spec.get("distinct"):
        own = torch.Generator().manual_seed(13)
        for i in range(300):
            start = (3 + torch.randperm(vocabulary - 3, generator=own)[: 4 + i % 5]).tolist()
            row, least = greedy_tokens(model, start, 12, True, run)
            if 0.02 < least < float("inf") and (len(row) - len(start), least) > (len(greedy) - len(prompt), gap):
                greedy, prompt, gap = row, start, least
        if len(greedy) - len(prompt) < 4:
            failures.append(f"greedy: {len(greedy) - len(prompt)} tokens that differ")
    else:
        for start in range(0, 12, 2):
            row, least = greedy_tokens(model, ids[start % 4 // 2, start : start + 8].tolist(), 20, False, run)
            if least > gap:
                greedy, prompt, gap = row, row[:8], least
    for p in model.parameters():
        p.grad = None
        p.requires_grad_(True)
    loss = loss_of(run(model, ids), ids)
    loss.backward()
    folder = os.path.join(out, "tiny", name.replace("/", "_") + variant)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    save_model(model, folder, spec, arguments)
    names = dict(model.named_parameters())
    no_gradient = sorted(n for n, p in names.items() if p.grad is None or not bool(p.grad.any()))
    # The same way of saving gives the gradients the names and layouts of the weights.
    mirror = build(make_config(name, arguments))
    with torch.no_grad():
        for n, p in mirror.named_parameters():
            grad = names[n].grad
            p.copy_(torch.zeros_like(p) if grad is None else grad)
        for _, b in persistent_buffers(mirror):
            if b.is_floating_point():
                b.fill_(float("nan"))
    with tempfile.TemporaryDirectory() as other:
        save_model(mirror, other, spec, arguments)
        gradients = load_file(os.path.join(other, "model.safetensors"))
    others = EYES if name in WRAPPERS else None  # what a text gives no gradient
    gradients = {
        n: t.contiguous()
        for n, t in gradients.items()
        if t.is_floating_point() and not bool(torch.isnan(t).all()) and not (others and re.search(others, n))
    }
    if any(bool(torch.isnan(t).any()) for t in gradients.values()):
        failures.append("some gradient is not a number")
    save_file(gradients, os.path.join(folder, "grads.safetensors"))
    stored = load_file(os.path.join(folder, "model.safetensors"))
    totals = count(model)
    io = {
        "ids": ids.tolist(),
        "logits": number_lists(logits),
        "greedy_prompt": prompt,
        "greedy": greedy,
        "greedy_gap": gap,
        "loss": float(loss.detach()),
        "params": totals["parameters"],
        "buffers": totals["buffers_persistent"],
        "logits_chunked": agreement,
    }
    with open(os.path.join(folder, "io.json"), "w") as file:
        json.dump(io, file, separators=(",", ":"))
    model.requires_grad_(False)
    tensors = changes(model, ids, logits, run, others)
    features = {}
    inert = spec.get("inert")
    for kind, change in tensors.items():
        if isinstance(change, str) or change >= LEAST_CHANGE * scale:
            continue
        if not (inert and re.search(inert, kind)):
            failures.append(f"tensor {kind} does not matter ({change} of {scale})")
    for feature, how in spec["off"].items():
        try:
            features[feature] = switched(name, arguments, how, model, ids, logits, run)
            if isinstance(features[feature], str) or features[feature] < LEAST_CHANGE * scale:
                failures.append(f"feature {feature}: {features[feature]} of {scale}")
        except Exception as error:
            features[feature] = f"error: {type(error).__name__}: {error}"
            failures.append(f"feature {feature}: {features[feature]}")
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    if size > 250000:
        failures.append(f"{size} bytes are too many")
    # Read back as a user would: the files hold the same model.
    try:
        again = model_class(name).from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
        with contextlib.suppress(Exception):
            again.set_experts_implementation("eager")
        with torch.no_grad():
            agreement["read back"] = float((run(again, ids) - logits).abs().max())
        if not agreement["read back"] <= 1e-5 and spec.get("read_back", True):
            failures.append(f"read back: differs by {agreement['read back']}")
    except Exception as error:
        failures.append(f"read back: {type(error).__name__}: {error}")
    fields = {}
    try:
        fields = switched_fields(name, arguments, model, ids, logits, run, LEAST_CHANGE * scale, min(until, time.time() + 40))
    except Exception as error:
        failures.append(f"fields: {type(error).__name__}: {error}")
    return {
        "agreement": agreement,
        "scale": scale,
        "where": where,
        "features": features,
        "fields": fields,
        "tensors": tensors,
        "no_gradient": no_gradient,
        "greedy_gap": gap,
        "loss": io["loss"],
        "params": io["params"],
        "file_elements": sum(t.numel() for t in stored.values()),
        "bytes": size,
        "failures": failures,
    }


def one_type(name, out, budget, with_configs):
    torch, transformers = setup()
    spec = TYPES[name]
    spec.get("prepare", lambda: None)()
    report = {"tiny": {}, "configs": 0, "flops": 0, "errors": [], "config_errors": []}
    started = time.time()
    for variant, form in spec["variants"].items():
        own = {**spec, **(form if isinstance(form, dict) else {"make": form})}
        try:
            report["tiny"][variant or "plain"] = tiny(name, own, variant, own["make"], out, started + budget / 2)
        except Exception:
            report["errors"].append(f"tiny{variant}: " + traceback.format_exc()[-3000:])
    configs, seen = [], []
    path = os.path.join(out, "configs", name.replace("/", "_") + ".json")
    # Of each kind, and of how many tokens FLOPs are counted: 0 stands for short texts of several lengths.
    modes = [("small", 0)] * 10 + [("large", 0)] * 3 + [("default", 0)] * spec.get("default", True)
    first = len(modes)
    modes += [("small", 0)] * spec.get("more", 4) + [("small", n) for n in spec.get("lengths", ())]
    if spec.get("default", True) and with_configs:
        with contextlib.suppress(Exception):
            seen.append(saved_config(make_config(name, defaults(name)), spec, {}))
    seed = 0
    for index, (mode, length) in enumerate(modes if with_configs else []):
        attempt = 0
        while attempt < 3 and seed < 200:
            attempt += 1
            seed += 1
            if time.time() - started > budget:
                report["config_errors"].append("out of time")
                break
            try:
                arguments = defaults(name) if mode == "default" else spec["make"](Draw(mode, seed * 7919 + index))
                if index >= first:
                    arguments = spec.get("further", lambda d: d)(arguments)
                config = make_config(name, arguments)
                written = saved_config(config, spec, arguments)
                if mode != "default" and written in seen:
                    attempt -= 1
                    continue
                seen.append(written)
                model = build(config, "meta")
                entry = {"config": written, "kind": mode, **count(model)}
                if name in WRAPPERS:
                    entry["parts"] = parts(model)
            except Exception as error:
                report["config_errors"].append(
                    f"config {index} ({mode}): {type(error).__name__}: {error} {traceback.format_exc()[-500:]}"
                )
                continue
            if mode == "small":
                try:
                    g = torch.Generator().manual_seed(seed)
                    model = randomise(build(config), seed)
                    vocabulary = config.get_text_config().vocab_size
                    shape = (1 + index % 2, length or 9 + 7 * (index % 5))
                    ids = torch.randint(3, min(vocabulary, 50), shape, generator=g)
                    entry["flops"] = count_flops(model, ids)
                    if sum(p.numel() for p in model.parameters()) != entry["parameters"]:
                        report["errors"].append(f"config {index}: meta and real models count differently")
                    report["flops"] += 1
                except Exception as error:
                    report["config_errors"].append(
                        f"flops {index}: {type(error).__name__}: {error} {traceback.format_exc()[-500:]}"
                    )
            if mode != "default" or spec.get("sound", True):
                configs.append(entry)
            break
    report["configs"] = len(configs)
    if configs:
        with open(path, "w") as file:
            file.write('{"type": %s, "note": %s, "configs": [\n' % (json.dumps(name), json.dumps(spec["note"])))
            file.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in configs) + "\n]}\n")
    if spec["note"]:
        report["note"] = spec["note"]
    report["seconds"] = round(time.time() - started, 1)
    failed = [f for t in report["tiny"].values() for f in t["failures"]]
    report["ok"] = not failed and not report["errors"] and (report["configs"] >= 12 or not with_configs)
    return report


def defaults(name):
    """What a config class needs to be made as it is."""
    return {"attn_config": dict(kv_n_heads=8, rope_theta=500000.0)} if name == "dbrx" else {}


def floats(kind, raw):
    """Whole numbers as floats where a config class takes nothing else."""
    fields = {f.name: str(f.type) for f in dataclasses.fields(kind)}
    parts = getattr(kind, "sub_configs", {})

    def one(name, value):
        if isinstance(value, dict) and dataclasses.is_dataclass(parts.get(name)):
            return floats(parts[name], value)
        wants = fields.get(name, "")
        whole = isinstance(value, int) and not isinstance(value, bool)
        return float(value) if whole and "float" in wants and "int" not in wants else value

    return {name: one(name, value) for name, value in raw.items()}


def published_forms(raw):
    """The forms in which transformers may read a file, with what was changed: first the file as it is."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    kind = raw.get("model_type")
    raw = without(raw, "quantization_config", "auto_map")
    if kind == "step3p5":  # there is no class of it alone
        yield "step3p7", {"model_type": "step3p7", "text_config": raw}, "as text_config of step3p7, without its eyes"
        return
    if kind == "vlm":
        yield raw["text_config"]["model_type"], raw["text_config"], "its text_config alone"
        return
    if kind is None and "ssm_cfg" in raw:  # as transformers' convert_mamba2_ssm_checkpoint_to_pytorch.py does
        pad = raw["pad_vocab_size_multiple"]
        same = dict(
            hidden_size=raw["d_model"], num_hidden_layers=raw["n_layer"], vocab_size=-(-raw["vocab_size"] // pad) * pad,
            n_groups=raw["ssm_cfg"].get("ngroups", 1), num_heads=raw["d_model"] * 2 // 64, tie_word_embeddings=raw["tie_embeddings"],
        )
        yield "mamba2", same, "with the fields that transformers' converter of such files gives it"
        return
    kind = {"kimi_k2": "deepseek_v3"}.get(kind, kind)
    yield kind, raw, None
    other = floats(CONFIG_MAPPING[kind], raw)
    words = ["whole numbers as floats where the class takes nothing else"]
    if "uniform_expert_assignment" in other.get("ffn_config", {}):
        words.append("without uniform_expert_assignment, which is false")
        other["ffn_config"] = without(other["ffn_config"], "uniform_expert_assignment")
    yield kind, other, "with " + ", ".join(words)
    rope = other.get("rope_parameters") or {}
    if any(isinstance(v, dict) for v in rope.values()):
        words.append("without what stands beside the two RoPEs")
        other = {**other, "rope_parameters": {k: v for k, v in rope.items() if isinstance(v, dict)}}
        yield kind, other, "with " + ", ".join(words)


def one_published(path):
    """transformers' total for a config.json as its maker wrote it, of the language model where it wraps one."""
    setup()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    with open(path) as file:
        raw = json.load(file)
    errors = []
    for kind, form, words in published_forms(raw):
        try:
            config = CONFIG_MAPPING[kind].from_dict(copy.deepcopy(form))
            try:
                model = build(config, "meta")
                part = type(model).__name__
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}"[:500])
                model = build(config.get_text_config(), "meta")
                part = type(model).__name__ + " (language part)"
            break
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}"[:500])
    else:
        return {"ok": False, "errors": errors}
    found = count(model)
    found["model"] = part
    if words:
        found["by"] = "the file " + words
    if errors:
        found["errors"] = errors
    found["buffers_persistent"] = sum(math.prod(s) for s in found["buffers_persistent"].values())
    found["parts"] = parts(model)
    others = ("visual", "vision", "audio", "projector")
    found["parameters"] -= sum(n for name, n in found["parts"].items() if any(word in name for word in others))
    return found


def child(kind, argument, out, budget, path, with_configs):
    try:
        report = one_type(argument, out, budget, with_configs) if kind == "type" else one_published(argument)
    except BaseException:
        report = {"ok": False, "errors": [traceback.format_exc()[-4000:]]}
    with open(path + ".part", "w") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".part", path)
    os._exit(0)


# ---------------------------------------------------------------------------------------------------------------
# Into the tree.
# ---------------------------------------------------------------------------------------------------------------


def short(value):
    """Three digits of a distance."""
    return float("%.3g" % value) if isinstance(value, float) else value


def told(name, found):
    """What report.json says of a small model."""
    reasons = unfelt(name, found["fields"], found["scale"])
    failures = [f"field {field} does not matter" for field, reason in reasons.items() if reason is None]
    return {
        "agreement": {k: short(v) for k, v in found["agreement"].items()},
        "scale": short(found["scale"]),
        "features": {k: short(v) for k, v in found["features"].items()},
        "fields": {k: [v[0], rounded(v[1])] if isinstance(v, list) else v for k, v in found["fields"].items()},
        "tensors": {k: short(v) for k, v in found["tensors"].items()},
        "greedy_gap": short(found["greedy_gap"]),
        "params": found["params"],
        "file_elements": found["file_elements"],
        "no_gradient": [n for n in found["no_gradient"] if not re.search(EYES, n)],
        "unfelt": {field: reason for field, reason in reasons.items() if reason},
        "failures": found["failures"] + failures,
    }


def without_newlines(text):
    """Objects of numbers, and lists of words, on one line each."""
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda m: re.sub(r"\s*\n\s*", " ", m[0]), text)


def logits_apart(one, two):
    flat = [[x for rows in json.load(open(os.path.join(f, "io.json")))["logits"] for row in rows for x in row] for f in (one, two)]
    return max(abs(a - b) for a, b in zip(*flat)) if len(flat[0]) == len(flat[1]) else float("inf")


def unpack(source, into, replace):
    work = tempfile.mkdtemp()
    for name in sorted(os.listdir(source)):
        if name.startswith("references-") and ".tar" in name:
            with tarfile.open(os.path.join(source, name)) as archive:
                archive.extractall(work, filter="data")
    with open(os.path.join(work, "report.json")) as file:
        found = json.load(file)
    for top in ("tiny", "configs"):
        for name in sorted(os.listdir(os.path.join(work, top))) if os.path.isdir(os.path.join(work, top)) else []:
            here, there = os.path.join(work, top, name), os.path.join(into, top, name)
            if os.path.exists(there) and not {top, name.split(".json")[0]} & set(replace):
                if top == "tiny" and (apart := logits_apart(here, there)) > 1e-5:
                    print(f"{name}: logits {apart:.3g} from those in the tree, which stay")
                continue
            if os.path.isdir(there):
                shutil.rmtree(there)
            print(f"{top}/{name}: written")
            (shutil.copytree if top == "tiny" else shutil.copy)(here, there)
    path = os.path.join(into, "report.json")
    with open(path) as file:
        report = json.load(file)
    report.update(transformers=found["transformers"], torch=found["torch"])
    for name, one in found["types"].items():
        for error in one.get("errors", []) + one.get("config_errors", []):
            print(f"{name}: {error}")
        entry = report["types"].setdefault(name, {"note": None, "tiny": {}})
        entry["note"] = one.get("note")
        for variant, small in one.get("tiny", {}).items():
            entry["tiny"][variant] = told(name, small)
            for failure in entry["tiny"][variant]["failures"]:
                print(f"{name} {variant}: {failure}")
    with open(path, "w") as file:
        file.write(without_newlines(json.dumps(report, indent=1, sort_keys=True)) + "\n")
    path = os.path.join(into, "published", "totals.json")
    with open(path) as file:
        totals = json.load(file)
    for name, one in found["published"].items():
        if "parameters" not in one:
            print(f"published/{name}: {one['errors']}")
            continue
        entry = {k: one[k] for k in ("model", "parameters", "buffers_persistent", "by") if k in one}
        if name in KNOWN_DIFFERENCES:
            entry["differs"] = KNOWN_DIFFERENCES[name]
        if name in totals and totals[name]["parameters"] != one["parameters"]:
            print(f"published/{name}: {one['parameters']}, and {totals[name]['parameters']} in the tree, which stays")
        totals.setdefault(name, entry)
    with open(path, "w") as file:
        file.write(json.dumps(dict(sorted(totals.items())), indent=1) + "\n")
    shutil.rmtree(work)


KNOWN_DIFFERENCES = {
    "longcat_flash": {
        "by": 28 * 256 * 2 * 6144 * 2048,
        "reason": "transformers' class has gates and ups for the 256 identity experts of each of the 28 layers too, which nobody reads",
    },
    "mistral3": {
        "by": -131072 * 5120,
        "reason": "the file does not say whether the head is tied: transformers' class of the wrapper ties it, that of its language model does not, and 24B, its name, are those with a head of its own",
    },
}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--out", default="")
    options.add_argument("--work", default="")
    options.add_argument("--jobs", type=int, default=16)
    options.add_argument("--types", default="")
    options.add_argument("--configs", default="")
    options.add_argument("--published", default="")
    options.add_argument("--files", default="")
    options.add_argument("--limit", type=int, default=150)
    options.add_argument("--deadline", type=int, default=10**6)
    options.add_argument("--unpack", default="")
    options.add_argument("--into", default="")
    options.add_argument("--replace", default="")
    options = options.parse_args()
    if options.unpack:
        return unpack(options.unpack, options.into, options.replace.split(","))
    torch, transformers = setup()
    target = os.path.abspath(options.out)
    os.makedirs(target, exist_ok=True)
    out = os.path.abspath(options.work) if options.work else tempfile.mkdtemp()
    for folder in ("configs", "tiny", "parts"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    report = {"transformers": transformers.__version__, "torch": torch.__version__, "types": {}, "published": {}}
    names = [] if options.types == "none" else [n for n in options.types.split(",") if n] or list(TYPES)
    work = [("type", n, n) for n in names]
    configured = names if not options.configs else options.configs.split(",")
    files = [f for f in options.files.split(",") if f]
    if options.published and os.path.isdir(options.published):
        for f in sorted(os.listdir(options.published)):
            if f.endswith(".json") and f not in ("sources.json", "totals.json") and (not files or f[:-5] in files):
                work.append(("published", os.path.join(options.published, f), f[:-5]))
    context = multiprocessing.get_context("fork")
    running, started = [], time.time()

    def finish(entry):
        kind, name, path, process, since = entry
        if os.path.exists(path):
            with open(path) as file:
                found = json.load(file)
        else:
            found = {"ok": False, "errors": [f"ended without a report after {time.time() - since:.0f} s (exit {process.exitcode})"]}
        report["types" if kind == "type" else "published"][name] = found
        state = "ok" if found.get("ok", "parameters" in found) else "FAILED"
        print(f"{time.time() - started:6.1f} {kind} {name} {state}", flush=True)

    while work or running:
        late = time.time() - started > options.deadline
        for kind, _, name in work if late else []:
            report["types" if kind == "type" else "published"][name] = {"ok": False, "errors": ["not begun before the deadline"]}
        work = [] if late else work
        while work and len(running) < options.jobs:
            kind, argument, name = work.pop(0)
            path = os.path.join(out, "parts", f"{kind}-{name.replace('/', '_')}.json")
            if os.path.exists(path):
                os.remove(path)
            process = context.Process(target=child, args=(kind, argument, out, options.limit * 0.7, path, name in configured))
            process.start()
            running.append((kind, name, path, process, time.time()))
        time.sleep(0.05)
        for entry in list(running):
            process, since = entry[3], entry[4]
            if process.is_alive() and (late or time.time() - since > options.limit):
                process.kill()
                process.join()
            if not process.is_alive():
                process.join()
                running.remove(entry)
                finish(entry)
    report["seconds"] = round(time.time() - started, 1)
    with open(os.path.join(out, "report.json"), "w") as file:
        json.dump(report, file, indent=1, sort_keys=True)
    shutil.rmtree(os.path.join(out, "parts"))

    # Random weights hardly shrink: parts of at most 13 MiB before packing.
    part, size, archive = 0, 0, None
    paths = [os.path.join(out, "report.json")]
    for top in ("configs", "tiny"):
        for folder, _, files in sorted(os.walk(os.path.join(out, top))):
            paths += [os.path.join(folder, f) for f in sorted(files)]
    for path in paths:
        if archive is None or size > 13 << 20:
            if archive:
                archive.close()
            part, size = part + 1, 0
            archive = tarfile.open(os.path.join(target, f"references-{part}.tar.xz"), "w:xz", preset=1)
        archive.add(path, os.path.relpath(path, out))
        size += os.path.getsize(path)
    archive.close()
    shutil.copy(os.path.join(out, "report.json"), target)
    good = sum(1 for t in report["types"].values() if t.get("ok"))
    print(f"{good} of {len(report['types'])} types without failures, {part} archives, {report['seconds']} s")


if __name__ == "__main__":
    main()
