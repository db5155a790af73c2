// Looking inside a model: what its heads attend to, and which tokens lie close to each other.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <cmath>

#include "compile/compile.h"
#include "passes/expand.h"
#include "run/attention_maps.h"
#include "run/neighbours.h"
#include "small_models.h"
#include "text_fixture.h"

namespace reckon {
namespace {

Program parameters_of(const Model& model) {
  Workload one;
  one.tokens = 1;
  return expand(logical_program(model, one));
}

// Without queries all scores are 0, and each token attends alike to all that it sees.
TEST(AttentionMaps, WithoutQueriesEveryTokenSeesAllBeforeItAlike) {
  for (const std::string family : {"llama", "gpt2", "mixtral"}) {
    const Model model = testing_models::small_model(family);
    Weights weights = Weights::filled(parameters_of(model), DType::float32,
                                      [](const Tensor& tensor, std::int64_t, std::span<float> to) {
                                        const bool query = tensor.scope.role.part == Part::query;
                                        for (std::size_t i = 0; i < to.size(); ++i)
                                          to[i] = query ? 0.0F : 0.01F * static_cast<float>(i % 7);
                                      });
    const auto loaded = std::make_shared<const LoadedModel>(model, std::move(weights));
    const std::vector<std::int32_t> ids = {3, 1, 4, 1};
    const AttentionMaps maps = attention_maps(loaded, ids);
    EXPECT_EQ(maps.tokens, 4);
    ASSERT_EQ(maps.layers.size(), 2u) << family;
    ASSERT_EQ(maps.weights.size(), 2u * 4 * 16) << family;
    for (std::size_t i = 0; i < maps.weights.size(); ++i) {
      const std::size_t query = i / 4 % 4, key = i % 4;
      EXPECT_NEAR(maps.weights[i], key <= query ? 1.0 / static_cast<double>(query + 1) : 0, 1e-6) << family;
    }
  }
}

TEST(AttentionMaps, AWindowHidesWhatLiesBeforeIt) {
  Model model = testing_models::small_llama("mistral");
  for (Layer& layer : model.layers) find<Attention>(layer)->window = 2;
  const auto loaded = LoadedModel::random(model, 1);
  const std::vector<std::int32_t> ids = {3, 1, 4, 1};
  const AttentionMaps maps = attention_maps(loaded, ids);
  for (std::size_t i = 0; i < maps.weights.size(); ++i) {
    const std::size_t query = i / 4 % 4, key = i % 4;
    const bool seen = key <= query && key + 2 > query;
    EXPECT_EQ(maps.weights[i] > 0, seen);
  }
}

// Two heads of three tokens. Of the first, the token before has (0.75 + 0.75) / 2, itself (0.25 + 0.25) / 2, the first
// (0.75 + 0) / 2; of the second, the first has (0.5 + 1) / 2, itself (0.5 + 0) / 2, the one before (0.5 + 0) / 2.
TEST(AttentionMaps, SayWhereAHeadLooksOnAverageBehindTheFirstToken) {
  AttentionMaps maps;
  maps.tokens = 3;
  maps.layers = {{0, 2, 0}};
  maps.weights = {1, 0, 0, 0.75F, 0.25F, 0, 0, 0.75F, 0.25F, 1, 0, 0, 0.5F, 0.5F, 0, 1, 0, 0};
  const Habits before = habits(maps, maps.layers[0], 0), first = habits(maps, maps.layers[0], 1);
  EXPECT_EQ(before.before, 0.75);
  EXPECT_EQ(before.itself, 0.25);
  EXPECT_EQ(before.first, 0.375);
  EXPECT_EQ(first.first, 0.75);
  EXPECT_EQ(first.itself, 0.25);
  EXPECT_EQ(first.before, 0.25);
  maps.tokens = 1;
  EXPECT_EQ(habits(maps, maps.layers[0], 0).first, 0);
}

// Rows of two numbers at hand: of id 0 (1, 0) the nearest is id 3 (5, 1), then id 1 at 45°; id 2 looks away.
TEST(Neighbours, AreRankedByTheAngleAndNotByTheLength) {
  Model model = testing_models::small_llama();
  model.vocab_size = 4;
  const float rows[4][2] = {{1, 0}, {3, 3}, {-9, 0}, {5, 1}};
  const Weights weights = Weights::filled(parameters_of(model), DType::float32,
                                          [&](const Tensor& tensor, std::int64_t first, std::span<float> to) {
                                            std::fill(to.begin(), to.end(), 0.0F);
                                            if (tensor.scope.role != Role{Block::embedding, Part::token}) return;
                                            for (std::size_t i = 0; i < to.size(); ++i) {
                                              const std::size_t at = static_cast<std::size_t>(first) + i;
                                              if (at % 8 < 2) to[i] = rows[at / 8][at % 8];
                                            }
                                          });
  const std::vector<Neighbour> near = nearest_tokens(weights, 0, 10);
  ASSERT_EQ(near.size(), 3u);
  EXPECT_EQ(near[0].id, 3);
  EXPECT_NEAR(near[0].cosine, 5 / std::sqrt(26.0), 1e-7);
  EXPECT_EQ(near[1].id, 1);
  EXPECT_NEAR(near[1].cosine, std::sqrt(0.5), 1e-7);
  EXPECT_EQ(near[2].id, 2);
  EXPECT_NEAR(near[2].cosine, -1, 1e-7);
  EXPECT_EQ(nearest_tokens(weights, 0, 1).size(), 1u);
  EXPECT_NE(error_of<UsageError>([&] { nearest_tokens(weights, 4, 1); }).find("4"), std::string::npos);
}

}  // namespace
}  // namespace reckon
