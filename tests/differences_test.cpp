// What sets one network apart from another, in words.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "model/differences.h"
#include "model/sublayers.h"

namespace reckon {
namespace {

using Clauses = std::vector<std::string>;

template <class Change>
Clauses changed(const std::string& preset, const Change& change) {
  const Model model = load_model(preset);
  Model other = model;
  change(other);
  return differences(model, other, "other");
}

TEST(Differences, ThereAreNoneOfAModelAndItself) {
  EXPECT_EQ(changed("gpt2", [](Model&) {}), Clauses());
}

TEST(Differences, TheyAreSaidOnceForAllLayers) {
  EXPECT_EQ(changed("gpt2",
                    [](Model& model) {
                      for_each<FeedForward>(model.layers, [](FeedForward& f) { f.activation = Activation::silu; });
                    }),
            Clauses{"its activation is gelu_tanh, other's silu"});
}

TEST(Differences, BiasesNormsAndPositionsAreNamed) {
  EXPECT_EQ(
      changed("gpt2",
              [](Model& model) {
                model.positions.kind = Positions::Kind::none;
                model.final_norm->kind = Norm::Kind::rms;
                for_each<Attention>(model.layers, [](Attention& a) { a.query_bias = false; });
              }),
      (Clauses{"its table of positions is learned, other's not in the embedding",
               "it has biases of queries, which other has not", "its norm at the end is LayerNorm, other's RMSNorm"}));
  EXPECT_EQ(
      changed("llama-3.1-8b",
              [](Model& model) {
                for_each<Attention>(model.layers, [](Attention& a) { a.rope->theta = 1e4; });
                for_each<FeedForward>(model.layers, [](FeedForward& f) { f.bias = true; });
              }),
      (Clauses{"its base of RoPE is 500000, other's 10000", "it has no biases in the feed-forward, which other has"}));
}

}  // namespace
}  // namespace reckon
