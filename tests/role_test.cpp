// Roles: what tensors and ops are, the same in programs, in memory and in files; names are printed from them.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <set>

#include "model/presets.h"
#include "model/stored.h"
#include "network/forward.h"
#include "passes/expand.h"
#include "run/weights.h"

namespace reckon {
namespace {

TEST(Roles, PathsAndNamesArePrintedFromThem) {
  EXPECT_EQ(path_of({Block::attention, Part::query}), "attention/query");
  EXPECT_EQ(path_of({Block::feed_forward, Part::gate, Expert::routed}), "feed_forward/experts/gate");
  EXPECT_EQ(path_of({Block::feed_forward, Part::down, Expert::shared}), "feed_forward/shared/down");
  EXPECT_EQ(path_of({Block::final_norm}), "final_norm");
  EXPECT_EQ(path_of({}), "");
  EXPECT_EQ(full_name(Scope{{Block::attention, Part::norm_after}, 3}), "layers.3.attention.norm_after");
  EXPECT_EQ(full_name(TensorKey{{{Block::head}}, Piece::bias}), "head.bias");
  EXPECT_EQ(full_name(TensorKey{{{Block::cross_attention, Part::cache}, 0}, Piece::value_cache}),
            "layers.0.cross_attention.cache.value_cache");
}

TEST(Roles, NormsAreThoseOfTheStreamOfHeadsAndOfLatents) {
  for (Part part : {Part::norm, Part::norm_after, Part::norm_residual, Part::query_norm, Part::key_norm,
                    Part::query_down_norm, Part::kv_down_norm}) {
    EXPECT_TRUE(is_norm({Block::attention, part}));
  }
  EXPECT_TRUE(is_norm({Block::final_norm}));
  EXPECT_FALSE(is_norm({Block::attention, Part::query}));
  EXPECT_FALSE(is_norm({Block::attention, Part::residual}));
  EXPECT_FALSE(is_norm({Block::head}));
}

std::set<TensorKey> parameters_of(const Model& model) {
  Workload one;
  one.tokens = 1;
  std::set<TensorKey> keys;
  for (const Tensor& tensor : expand(forward(model, one)).tensors) {
    if (tensor.kind != TensorKind::parameter) continue;
    EXPECT_TRUE(keys.insert(key_of(tensor)).second) << full_name(tensor) << " is there twice";
    EXPECT_EQ(full_name(key_of(tensor)), full_name(tensor));
  }
  return keys;
}

TEST(Roles, AProgramAndTheFilesOfItsFamilyHaveTheSameParameters) {
  for (const Preset& preset : presets()) {
    const Model model = load_model(std::string(preset.name));
    std::set<TensorKey> stored;
    for (const StoredParameter& parameter : stored_layout(model).parameters) stored.insert(parameter.key);
    EXPECT_EQ(stored, parameters_of(model)) << preset.name;
  }
}

TEST(Roles, AParameterThatIsNotThereIsNamed) {
  const Weights weights = Weights::random(load_model("mini-gpt"), 1, DType::float32);
  const TensorKey there{{{Block::attention, Part::query}, 0}, Piece::weight};
  EXPECT_EQ(weights[there].matrices.size(), 1u);
  try {
    weights[TensorKey{{{Block::attention, Part::kv_up}, 0}, Piece::weight}];
    FAIL() << "a parameter that the model does not have";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the weights have no parameter 'layers.0.attention.kv_up.weight'");
  }
}

}  // namespace
}  // namespace reckon
