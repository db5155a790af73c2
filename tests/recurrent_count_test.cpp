// What recurrences keep, to the byte, and a published model that transformers does not have.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <nlohmann/json.hpp>

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

// A state is float32 whatever the cache is, what a convolution remembers is of the cache's type.
TEST(RecurrentCount, StatesAreExactInBytes) {
  // qwen3_next: two layers of 4 heads of 6 × 5 states, and of 2·2·6 + 4·5 = 44 channels, 3 tokens; one layer of
  // attention with 2 key heads of 8.
  CacheCost cost = cache_of("qwen3_next", DType::bfloat16);
  EXPECT_EQ(cost.state, 2 * (4 * 6 * 5 * 4 + 44 * 3 * 2));
  EXPECT_EQ(cost.first_token, 2 * 2 * 8 * 2);
  EXPECT_EQ(cost.total, 3 * (cost.state + 23 * cost.first_token));
  cost = cache_of("qwen3_next", DType::float32);
  EXPECT_EQ(cost.state, 2 * (4 * 6 * 5 * 4 + 44 * 3 * 4));
  // mamba2: two layers of 6 heads of 8 × 5 states, 68 channels; nothing grows.
  cost = cache_of("mamba2", DType::bfloat16);
  EXPECT_EQ(cost.state, 2 * (6 * 8 * 5 * 4 + 68 * 3 * 2));
  EXPECT_EQ(cost.first_token, 0);
  EXPECT_EQ(cost.total, 3 * cost.state);
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
