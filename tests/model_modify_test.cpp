// What a change touches, and what follows it.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <cmath>

#include "model/load.h"
#include "model/modify.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

template <class Set>
Model changed(const std::string& preset, const Set& set) {
  Changes changes;
  set(changes);
  return modify(find_preset(preset), changes);
}

template <class Set>
std::string complaint(const std::string& preset, const Set& set) {
  try {
    changed(preset, set);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no UsageError)";
}

TEST(Modify, ChangesNothingWhenAskedForNothing) {
  for (const char* name : {"gpt2", "llama-3.1-8b", "gemma-3-1b", "deepseek-v3", "gpt-oss-20b", "opt-350m"})
    EXPECT_EQ(modify(find_preset(name), {}), find_preset(name)) << name;
}

TEST(Modify, LetsHeadAndFeedForwardWidthsFollowTheModelWidth) {
  const Model model = changed("gpt2", [](Changes& c) { c.d_model = 1536; });
  EXPECT_EQ(model.d_model, 1536);
  EXPECT_EQ(model.d_embedding, 1536);
  EXPECT_EQ(find<Attention>(model.layers[0])->d_head, 128);  // 1536 / 12
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->scale, 1 / std::sqrt(128.0));
  EXPECT_EQ(feed_forward_of(model.layers[0])->d_ff, 6144);
}

TEST(Modify, KeepsAHeadWidthThatWasNotDerived) {
  const Model model = changed("qwen3-0.6b", [](Changes& c) { c.d_model = 2048; });
  EXPECT_EQ(find<Attention>(model.layers[0])->d_head, 128);
  EXPECT_EQ(find<Attention>(model.layers[0])->rope->dims, 128);
}

TEST(Modify, AsksForTheFeedForwardWidthWhenTheRatioDoesNotFit) {
  // 8192 / 3072 is 8/3, and 3136 is no multiple of 3
  EXPECT_NE(complaint("phi-3-mini", [](Changes& c) { c.d_model = 3136; }).find("`d_ff`"), std::string::npos);
  EXPECT_EQ(feed_forward_of(changed("phi-3-mini",
                                    [](Changes& c) {
                                      c.d_model = 3136;
                                      c.d_ff = 8000;
                                    })
                                .layers[0])
                ->d_ff,
            8000);
}

TEST(Modify, LetsKeyHeadsFollowHeadsOnlyWhereTheyWereEqual) {
  EXPECT_EQ(find<Attention>(changed("gpt2", [](Changes& c) { c.heads = 16; }).layers[0])->n_kv_heads, 16);
  EXPECT_EQ(find<Attention>(changed("gpt2", [](Changes& c) { c.heads = 16; }).layers[0])->d_head, 48);
  EXPECT_EQ(find<Attention>(changed("llama-3-8b", [](Changes& c) { c.heads = 64; }).layers[0])->n_kv_heads, 8);
  EXPECT_NE(complaint("llama-3-8b", [](Changes& c) { c.heads = 4; }).find("`kv_heads`"), std::string::npos);
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.heads = 7; }).find("do not divide d_model"), std::string::npos);
  EXPECT_EQ(find<Attention>(changed("gpt2", [](Changes& c) { c.kv_heads = 3; }).layers[0])->n_kv_heads, 3);
}

TEST(Modify, ScalesTheRotatedPartWithTheHead) {
  EXPECT_EQ(find<Attention>(changed("pythia-160m", [](Changes& c) { c.d_head = 128; }).layers[0])->rope->dims,
            32);  // a quarter
  const Model model = changed("llama-2-7b", [](Changes& c) { c.heads = 64; });
  EXPECT_EQ(find<Attention>(model.layers[0])->rope->dims, 64);
  EXPECT_DOUBLE_EQ(find<Attention>(model.layers[0])->scale, 0.125);
}

TEST(Modify, RepeatsTheSingleBlockOfAUniformStack) {
  const Model model = changed("gpt2", [](Changes& c) { c.layers = 24; });
  ASSERT_EQ(model.layers.size(), 24u);
  EXPECT_EQ(model.layers[23], model.layers[0]);
  EXPECT_EQ(changed("gpt2", [](Changes& c) { c.layers = 1; }).layers.size(), 1u);
}

TEST(Modify, GoesOnWithAlternatingWindowsWhenLayersAreAdded) {
  const Model model = changed("gemma-3-1b", [](Changes& c) { c.layers = 31; });  // 26 before; every sixth is full
  for (std::size_t i = 0; i < 31; ++i) EXPECT_EQ(find<Attention>(model.layers[i])->window, i % 6 == 5 ? 0 : 512) << i;
  const Model oss = changed("gpt-oss-20b", [](Changes& c) { c.layers = 26; });
  EXPECT_EQ(find<Attention>(oss.layers[24])->window, 128);
  EXPECT_EQ(find<Attention>(oss.layers[25])->window, 0);
}

TEST(Modify, KeepsTheDenseLayersOfDeepseekFirst) {
  const Model longer = changed("deepseek-v3", [](Changes& c) { c.layers = 70; });
  const Model shorter = changed("deepseek-v3", [](Changes& c) { c.layers = 5; });
  for (std::size_t i = 0; i < 70; ++i) EXPECT_EQ((find<Mixture>(longer.layers[i]) != nullptr), i >= 3) << i;
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((find<Mixture>(shorter.layers[i]) != nullptr), i >= 3) << i;
}

TEST(Modify, SwitchesTheFeedForwardAndKeepsItsWidth) {
  const FeedForward swiglu =
      *feed_forward_of(changed("gpt2", [](Changes& c) { c.ffn = Changes::FeedForwardForm::swiglu; }).layers[0]);
  EXPECT_TRUE(swiglu.gated);
  EXPECT_EQ(swiglu.activation, Activation::silu);
  EXPECT_EQ(swiglu.d_ff, 3072);
  const FeedForward gelu =
      *feed_forward_of(changed("llama-2-7b", [](Changes& c) { c.ffn = Changes::FeedForwardForm::gelu; }).layers[0]);
  EXPECT_FALSE(gelu.gated);
  EXPECT_EQ(gelu.activation, Activation::gelu);
}

TEST(Modify, MatchesAFeedForwardOfEightSquaredWidths) {
  EXPECT_EQ(feed_forward_of(changed("llama-2-7b", [](Changes& c) { c.match_d_ff = true; }).layers[0])->d_ff,
            10923);  // 10922.67
  EXPECT_EQ(feed_forward_of(changed("mini-gpt",
                                    [](Changes& c) {
                                      c.match_d_ff = true;
                                      c.ffn = Changes::FeedForwardForm::swiglu;
                                    })
                                .layers[0])
                ->d_ff,
            171);  // 170.67
  EXPECT_EQ(feed_forward_of(changed("cs336-gpt2-small", [](Changes& c) { c.match_d_ff = true; }).layers[0])->d_ff,
            2048);
  EXPECT_EQ(feed_forward_of(changed("gpt2",
                                    [](Changes& c) {
                                      c.match_d_ff = true;
                                      c.d_model = 1536;
                                    })
                                .layers[0])
                ->d_ff,
            6144);
}

TEST(Modify, PutsBiasesOnProjectionsFeedForwardsAndLayerNorms) {
  const Model with = changed("mini-gpt", [](Changes& c) { c.bias = true; });
  const Layer& layer = with.layers[0];
  EXPECT_TRUE(find<Attention>(layer)->query_bias && find<Attention>(layer)->key_bias &&
              find<Attention>(layer)->value_bias);
  EXPECT_TRUE(find<Attention>(layer)->output_bias && feed_forward_of(layer)->bias);
  EXPECT_FALSE(layer.sublayers.front().norms.before->bias);  // an RMSNorm
  const Model without = changed("gpt2", [](Changes& c) { c.bias = false; });
  EXPECT_FALSE(find<Attention>(without.layers[0])->output_bias || feed_forward_of(without.layers[0])->bias);
  EXPECT_FALSE(without.final_norm->bias || without.layers[0].sublayers.front().norms.before->bias);
}

TEST(Modify, LetsTheBiasOfQueryKeyAndValueBeSetAlone) {
  const Attention attention = *find<Attention>(changed("gpt2", [](Changes& c) { c.qkv_bias = false; }).layers[0]);
  EXPECT_FALSE(attention.query_bias || attention.key_bias || attention.value_bias);
  EXPECT_TRUE(attention.output_bias);
}

TEST(Modify, SwitchesEveryNorm) {
  const Model rms = changed("gpt2", [](Changes& c) { c.norm = Norm::Kind::rms; });
  EXPECT_EQ(rms.final_norm->kind, Norm::Kind::rms);
  EXPECT_FALSE(rms.final_norm->bias || rms.layers[3].sublayers.front().norms.before->bias);
  EXPECT_FALSE(changed("llama-2-7b", [](Changes& c) { c.norm = Norm::Kind::layer; }).final_norm->bias);
  EXPECT_TRUE(changed("llama-2-7b", [](Changes& c) {
                c.norm = Norm::Kind::layer;
                c.bias = true;
              }).final_norm->bias);
  EXPECT_EQ(find<Attention>(changed("qwen3-8b", [](Changes& c) { c.norm = Norm::Kind::layer; }).layers[0])
                ->query_key_norm->kind,
            Norm::Kind::layer);
}

TEST(Modify, MovesNormsAfterTheResidualAndBack) {
  const auto post = [](Changes& c) { c.norm_position = Changes::NormPosition::post; };
  const Model model = changed("gpt2", post);
  EXPECT_TRUE(model.layers[0].sublayers.front().norms.residual && model.layers[0].sublayers.back().norms.residual);
  EXPECT_FALSE(model.layers[0].sublayers.front().norms.before || model.final_norm);
  Changes back;
  back.norm_position = Changes::NormPosition::pre;
  EXPECT_EQ(modify(model, back), find_preset("gpt2"));
  EXPECT_NE(complaint("gpt-j-6b", post).find("parallel"), std::string::npos);
}

TEST(Modify, ReplacesThePositions) {
  const Model learned = changed("mini-gpt", [](Changes& c) { c.positions = Changes::PositionKind::learned; });
  EXPECT_EQ(learned.positions.kind, Positions::Kind::learned);
  EXPECT_FALSE(find<Attention>(learned.layers[0])->rope);
  const Model rope = changed("gpt2", [](Changes& c) { c.positions = Changes::PositionKind::rope; });
  EXPECT_EQ(rope.positions.kind, Positions::Kind::none);
  EXPECT_EQ(find<Attention>(rope.layers[0])->rope->dims, 64);
  EXPECT_DOUBLE_EQ(find<Attention>(rope.layers[0])->rope->theta, 10000);
  EXPECT_TRUE(find<Attention>(changed("gpt2", [](Changes& c) { c.positions = Changes::PositionKind::alibi; }).layers[0])
                  ->alibi);
  EXPECT_FALSE(
      find<Attention>(changed("bloom-560m", [](Changes& c) { c.positions = Changes::PositionKind::none; }).layers[0])
          ->alibi);
  EXPECT_EQ(
      changed("opt-125m", [](Changes& c) { c.positions = Changes::PositionKind::sinusoidal; }).positions.extra_rows, 0);
  EXPECT_EQ(changed("opt-125m", [](Changes& c) { c.positions = Changes::PositionKind::learned; }).positions.extra_rows,
            2);
}

TEST(Modify, ChangesTheWindowOfTheLayersThatSlide) {
  const Model gemma = changed("gemma-2-2b", [](Changes& c) { c.window = 1024; });
  EXPECT_EQ(find<Attention>(gemma.layers[0])->window, 1024);
  EXPECT_EQ(find<Attention>(gemma.layers[1])->window, 0);
  EXPECT_EQ(find<Attention>(changed("gpt2", [](Changes& c) { c.window = 128; }).layers[7])->window, 128);
  EXPECT_EQ(find<Attention>(changed("mistral-7b-v0.1", [](Changes& c) { c.window = 0; }).layers[0])->window, 0);
}

TEST(Modify, TurnsADenseModelIntoAMixtureOfItsFeedForward) {
  const Layer layer = changed("gpt2", [](Changes& c) {
                        c.experts = 8;
                        c.active_experts = 2;
                      }).layers[0];
  ASSERT_TRUE(find<Mixture>(layer));
  EXPECT_EQ(find<Mixture>(layer)->n_experts, 8);
  EXPECT_EQ(find<Mixture>(layer)->n_active, 2);
  EXPECT_FALSE(find<Mixture>(layer)->router_bias);
  EXPECT_EQ(feed_forward_of(layer)->d_ff, 3072);
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.experts = 8; }).find("`active_experts`"), std::string::npos);
  EXPECT_NE(complaint("gpt2",
                      [](Changes& c) {
                        c.experts = 2;
                        c.active_experts = 3;
                      })
                .find("at most the 2"),
            std::string::npos);
  EXPECT_EQ(find<Mixture>(changed("mixtral-8x7b", [](Changes& c) { c.active_experts = 1; }).layers[0])->n_active, 1);
}

TEST(Modify, AddsCrossAttentionAsWideAsTheModelWithoutANorm) {
  const Layer plain = changed("llama-2-7b", [](Changes& c) { c.cross_attention = true; }).layers[5];
  ASSERT_TRUE(find<CrossAttention>(plain));
  EXPECT_FALSE(find<CrossAttention>(plain)->bias || plain.sublayers[1].norms.before);
  EXPECT_EQ(find<CrossAttention>(plain)->n_heads * find<CrossAttention>(plain)->d_head, 4096);
  EXPECT_TRUE(find<CrossAttention>(changed("gpt2", [](Changes& c) { c.cross_attention = true; }).layers[0])->bias);
  const Layer qwen =
      changed("qwen3-0.6b", [](Changes& c) { c.cross_attention = true; }).layers[0];  // 16 heads of 128, d = 1024
  EXPECT_EQ(find<CrossAttention>(qwen)->d_head, 64);
}

TEST(Modify, LetsLatentAttentionChangeItsHeadsOnly) {
  const Attention attention = *find<Attention>(changed("deepseek-v2-lite", [](Changes& c) { c.heads = 32; }).layers[0]);
  EXPECT_EQ(attention.n_heads, 32);
  EXPECT_EQ(attention.n_kv_heads, 32);
  EXPECT_EQ(attention.d_head, 192);
  EXPECT_NE(complaint("deepseek-v2-lite", [](Changes& c) { c.d_head = 64; }).find("latent"), std::string::npos);
  EXPECT_NE(complaint("deepseek-v2-lite", [](Changes& c) { c.kv_heads = 4; }).find("latent"), std::string::npos);
  EXPECT_NE(complaint("deepseek-v2-lite", [](Changes& c) { c.qkv_bias = true; }).find("latent"), std::string::npos);
  EXPECT_NE(
      complaint("deepseek-v2-lite", [](Changes& c) { c.positions = Changes::PositionKind::learned; }).find("latent"),
      std::string::npos);
}

// DeepSeek-V2-Lite: layer 0 is dense, 10,944 wide; 64 experts of 1,408 and two shared ones, 2,816 together.
TEST(Modify, ChangesDenseRoutedAndSharedWidthsEachByItself) {
  struct Widths {
    std::int64_t dense, expert, shared;
    bool operator==(const Widths&) const = default;
  };
  const auto widths = [](const auto& set) {
    const Model model = changed("deepseek-v2-lite", set);
    return Widths{feed_forward_of(model.layers[0])->d_ff, feed_forward_of(model.layers[1])->d_ff,
                  find<Mixture>(model.layers[1])->shared->d_ff};
  };
  EXPECT_EQ(widths([](Changes& c) { c.d_ff = 1000; }), (Widths{1000, 1408, 2816}));
  EXPECT_EQ(widths([](Changes& c) { c.match_d_ff = true; }), (Widths{5461, 1408, 2816}));  // 8/3 · 2,048
  EXPECT_EQ(widths([](Changes& c) { c.d_expert = 1000; }), (Widths{10944, 1000, 2816}));
  EXPECT_EQ(widths([](Changes& c) { c.d_shared = 1000; }), (Widths{10944, 1408, 1000}));
  EXPECT_EQ(widths([](Changes& c) { c.d_model = 4096; }), (Widths{21888, 2816, 5632}));
  EXPECT_EQ(widths([](Changes& c) {
              c.d_model = 4096;
              c.d_expert = 7;
            }),
            (Widths{21888, 7, 5632}));
}

TEST(Modify, LeavesDeepseekV3AsPublishedWithItsOwnWidths) {
  const Model published = find_preset("deepseek-v3");
  EXPECT_EQ(changed("deepseek-v3", [](Changes& c) { c.d_ff = 18432; }), published);
  EXPECT_EQ(changed("deepseek-v3",
                    [](Changes& c) {
                      c.d_expert = 2048;
                      c.d_shared = 2048;
                    }),
            published);
}

TEST(Modify, RefusesAWidthThatTheModelHasNothingFor) {
  EXPECT_NE(complaint("mixtral-8x7b", [](Changes& c) { c.d_ff = 1024; }).find("`d_expert`"), std::string::npos);
  EXPECT_NE(complaint("mixtral-8x7b", [](Changes& c) { c.d_shared = 1024; }).find("`d_shared`"), std::string::npos);
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.d_expert = 1024; }).find("every layer is dense"), std::string::npos);
  const Layer made = changed("gpt2", [](Changes& c) {
                       c.experts = 8;
                       c.active_experts = 2;
                       c.d_expert = 1024;
                     }).layers[3];
  EXPECT_EQ(feed_forward_of(made)->d_ff, 1024);
  EXPECT_EQ(find<Mixture>(made)->n_experts, 8);
}

TEST(Modify, NamesTheWidthThatCannotFollow) {
  // 1,408 · 2,049 / 2,048 is no whole number, and the widths given are not asked for
  const auto wider = [](bool expert) {
    return complaint("deepseek-v2-lite", [&](Changes& c) {
      c.d_model = 2049;
      c.d_ff = 8;
      if (expert) c.d_expert = 8;
    });
  };
  EXPECT_NE(wider(false).find("`d_expert`"), std::string::npos);
  EXPECT_NE(wider(true).find("`d_shared`"), std::string::npos);
}

TEST(Modify, RefusesNumbersThatMakeNoSense) {
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.layers = 0; }).find("`layers` is 0"), std::string::npos);
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.layers = 100001; }).find("`layers` is 100001"), std::string::npos);
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.d_model = -1; }).find("`d_model` is -1"), std::string::npos);
  EXPECT_NE(complaint("gpt2", [](Changes& c) { c.vocab = std::int64_t{1} << 60; }).find("`vocab`"), std::string::npos);
  EXPECT_NE(complaint("gpt2",
                      [](Changes& c) {
                        c.d_ff = 5;
                        c.match_d_ff = true;
                      })
                .find("match"),
            std::string::npos);
}

}  // namespace
}  // namespace reckon
