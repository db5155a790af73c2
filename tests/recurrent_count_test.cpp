// What recurrences keep, to the byte, and a published model that transformers does not have.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "count/cache.h"
#include "count/growth.h"
#include "count/rules.h"
#include "family_references.h"
#include "model/read.h"
#include "network/forward.h"

namespace reckon {
namespace {

CacheCost cache_of(const std::string& type, DType cache) {
  const Model model = load_model((family_references::folder() / "tiny" / type).string());
  Workload workload = workload_of(Phase::decode);
  workload.past = 22;
  workload.batch = 3;
  workload.precision.cache = cache;
  return cache_cost(model, workload);
}

// What a small model keeps of a sequence, in elements.
struct Kept {
  const char* type;
  std::int64_t states;        // of recurrences
  std::int64_t convolutions;  // what they remember: w − 1 tokens
  std::int64_t token;         // that the first token adds; −1: a fraction, as entries stand for several
  std::int64_t cache;         // of 23 tokens, without the former two
};

// A state is float32 whatever the cache is, what a convolution remembers is of the cache's type.
TEST(RecurrentCount, StatesAreExactInBytes) {
  const std::vector<Kept> all = {
      // Mamba-2: heads · width · N states, heads · width + 2 · groups · N channels of 3 tokens.
      {"bamba", 8 * 8 * 5, (64 + 20) * 3, 2 * 2 * 8, 23 * 32},
      {"falcon_h1", 2 * 4 * 6 * 5, 2 * (24 + 20) * 3, 2 * 2 * 2 * 8, 23 * 64},
      {"granitemoehybrid", 8 * 6 * 5, (48 + 20) * 3, 2 * 2 * 6, 23 * 24},
      {"mamba2", 2 * 6 * 8 * 5, 2 * (48 + 20) * 3, 0, 0},
      {"nemotron_h", 2 * 6 * 8 * 5, 2 * (48 + 20) * 3, 2 * 2 * 8, 23 * 32},
      {"zamba2", 5 * 4 * 8 * 5, 5 * (32 + 20) * 3, 3 * 2 * 4 * 8, 23 * 192},
      // Mamba: channels · N states, of as many channels 3 tokens.
      {"falcon_mamba", 2 * 48 * 4, 2 * 48 * 3, 0, 0},
      {"mamba", 2 * 48 * 4, 2 * 48 * 3, 0, 0},
      {"jamba", 2 * 24 * 4, 2 * 24 * 3, 2 * 2 * 6, 23 * 24},
      {"zamba", 4 * 32 * 4, 4 * 32 * 3, 2 * 2 * 4 * 8, 23 * 128},
      // The delta rule: heads · key · value states, 2 · key heads · key + heads · value channels of 3 tokens.
      {"kimi_linear", 2 * 3 * 8 * 8, 2 * (48 + 24) * 3, 12 + 4, 23 * 16},  // latents of 12, keys of 4
      {"kimi_linear-long", 2 * 3 * 8 * 8, 2 * (48 + 24) * 3, 12 + 4, 23 * 16},
      {"olmo_hybrid", 2 * 6 * 5, (24 + 10) * 3, 2 * 2 * 6, 23 * 24},
      {"olmo_hybrid-long", 2 * 6 * 5, (24 + 10) * 3, 2 * 2 * 6, 23 * 24},
      {"qwen3_5", 4 * 6 * 5, (24 + 20) * 3, 2 * 2 * 8, 23 * 32},
      {"qwen3_5_text", 2 * 4 * 6 * 5, 2 * (24 + 20) * 3, 2 * 2 * 8, 23 * 32},
      {"qwen3_5_moe", 2 * 4 * 6 * 5, 2 * (24 + 20) * 3, 2 * 2 * 8, 23 * 32},
      {"qwen3_5_moe_text", 2 * 4 * 6 * 5, 2 * (24 + 20) * 3, 2 * 2 * 8, 23 * 32},
      {"qwen3_next", 2 * 4 * 6 * 5, 2 * (24 + 20) * 3, 2 * 2 * 8, 23 * 32},
      // Lightning attention: heads · width². RG-LRU: a number a channel; its attention has a window of 5.
      {"minimax", 4 * 8 * 8, 0, 2 * 2 * 8, 23 * 32},
      {"recurrent_gemma", 2 * 32, 2 * 32 * 3, 2 * 8, 5 * 16},
      // Convolutions alone: of the stream, 2 tokens.
      {"lfm2", 0, 2 * 24 * 2, 2 * 2 * 6, 23 * 24},
      {"lfm2_moe", 0, 2 * 24 * 2, 2 * 2 * 6, 23 * 24},
      // …of keys and values, 3 tokens, in two layers of 4 heads of 6 with a window of 5 and one of 2 heads of 8; and of
      // what both sublayers of each layer make.
      {"inkling_text", 0, 3 * (48 + 32 + 48) + 3 * 2 * 24 * 3, 48 + 32 + 48, 5 * 48 + 23 * 32 + 5 * 48},
      // …of 4 query and 2 key heads of 8, 1 token of channels and 2 of heads; and half the values of the token before.
      {"zaya", 0, 2 * (48 * 1 + 48 * 2 + 8), 2 * 2 * 2 * 8, (5 + 23) * 32},
      // What tokens give to entries of 6, and their gates, of 5 tokens; and of entries of 3 that overlap, 5 tokens too
      // but twice as wide, once for the keys and once for the indexer's. Keys are values; windows of 5.
      {"deepseek_v4", 0, 5 * 2 * 8 + 2 * 5 * 2 * 16, -1, 3 * 5 * 8 + 3 * 8 + 7 * 8 + 7 * 8},
      {"deepseek_v4-yarn", 0, 5 * 2 * 8 + 2 * 5 * 2 * 16, -1, 3 * 5 * 8 + 3 * 8 + 7 * 8 + 7 * 8},
  };
  for (const Kept& kept : all) {
    for (const auto& [type, size] : {std::pair(DType::bfloat16, 2), std::pair(DType::float32, 4)}) {
      SCOPED_TRACE(kept.type);
      const CacheCost cost = cache_of(kept.type, type);
      EXPECT_EQ(cost.state, kept.states * 4 + kept.convolutions * size);
      if (kept.token >= 0) {
        EXPECT_EQ(cost.first_token, kept.token * size);
      }
      EXPECT_EQ(cost.total, 3 * (cost.state + kept.cache * size));
    }
  }
  // Every small model that keeps a state is among these.
  for (const std::string& type : family_references::found("tiny")) {
    const bool there = std::any_of(all.begin(), all.end(), [&](const Kept& kept) { return kept.type == type; });
    EXPECT_EQ(cache_of(type, DType::bfloat16).state > 0, there) << type;
  }
}

// The longer the text, the more pairs attention has; a recurrence costs the same for every token.
TEST(RecurrentCount, ATokenCostsTheSameAfterAnyNumberOfTokens) {
  const Model model = load_model((family_references::folder() / "tiny/mamba2").string());
  const auto flops = [&](std::int64_t past) {
    Workload workload = workload_of(Phase::decode);
    workload.past = past;
    return count(model, workload).forward;
  };
  EXPECT_EQ(flops(1).matmul, flops(1'000'000).matmul);
  EXPECT_EQ(flops(1).elementwise, flops(1'000'000).elementwise);
  EXPECT_EQ(flops(1).read, flops(1'000'000).read);
}

TEST(RecurrentCount, WithoutAttentionThereIsNoLengthAtWhichItCostsMoreThanItsProjections) {
  for (const char* name : {"mamba", "mamba2", "falcon_mamba"}) {
    SCOPED_TRACE(name);
    const Model model =
        load_model((family_references::folder() / "published" / (std::string(name) + ".json")).string());
    for (const Phase phase : {Phase::forward, Phase::decode}) {
      const Workload workload = workload_of(phase);
      EXPECT_EQ(crossover(model, workload), std::nullopt);
      for (const Rule& rule : rules_of_thumb(model, count(model, workload))) EXPECT_NE(rule.name, "T = 2·d");
    }
    for (const Growth& row : growth(model, workload_of(Phase::forward)))
      EXPECT_TRUE(row.refused.empty() || row.refused.find("recurrences") != std::string::npos) << row.refused;
  }
}

// Kimi-Linear-48B-A3B: "48B total parameters" of which 3B are activated (arXiv 2510.26692, abstract and section 5), its
// config.json as moonshotai/Kimi-Linear-48B-A3B-Instruct has it. With embedding and head, 163,840 · 2,304 each, it is
// 49.1B.
TEST(RecurrentCount, KimiLinearHasItsPublishedParameters) {
  const auto config = nlohmann::json::parse(R"({
    "model_type": "kimi_linear", "hidden_size": 2304, "num_hidden_layers": 27, "vocab_size": 163840,
    "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 72, "intermediate_size": 9216,
    "hidden_act": "silu", "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "mla_use_nope": true, "num_experts": 256, "num_experts_per_token": 8, "num_shared_experts": 1,
    "moe_intermediate_size": 1024, "first_k_dense_replace": 1, "moe_layer_freq": 1,
    "moe_router_activation_func": "sigmoid", "routed_scaling_factor": 2.446, "moe_renormalize": true,
    "use_grouped_topk": true, "num_expert_group": 1, "topk_group": 1, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
    "rope_scaling": null, "tie_word_embeddings": false, "model_max_length": 1048576, "num_nextn_predict_layers": 0,
    "linear_attn_config": {"kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26],
      "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4}
  })");
  const Model model = read_config(config, "config.json");
  EXPECT_EQ((count_parameters(model) - 2 * 163840LL * 2304) / 1'000'000'000, 48);
  nlohmann::json other = config;
  other["linear_attn_config"]["gate_lower_bound"] = -5.0;  // of later models
  EXPECT_THROW(read_config(other, "config.json"), Error);
}

}  // namespace
}  // namespace reckon
