// The statistics of a training network against bounds that they cannot pass, and a case known exactly.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "train/statistics.h"

#include <cmath>
#include <numeric>

namespace reckon {
namespace {

TEST(Statistics, UniformAttentionHasTheEntropyOfItsLength) {
  const Model model = load_model("mini-gpt");
  Trainer trainer(model, Weights::initial(model, Initialisation::gpt2, 1), {});
  // Without keys, every query attends alike to all that it sees.
  for (const TrainedTensor& tensor : trainer.tensors()) {
    const std::vector<float> zeros(static_cast<std::size_t>(tensor.elements));
    if (tensor.name.find("attention.key") != std::string::npos)
      trainer.set_values(tensor, &TrainedTensor::weight, zeros);
  }
  std::vector<std::int32_t> ids(static_cast<std::size_t>(trainer.options().tokens)), labels = ids;
  std::iota(ids.begin(), ids.end(), 0);
  trainer.loss(ids, labels);
  double expected = 0;
  for (std::int64_t t = 1; t <= trainer.options().tokens; ++t) expected += std::log(static_cast<double>(t));
  expected /= static_cast<double>(trainer.options().tokens);
  const std::vector<LayerStatistics> layers = layer_statistics(trainer);
  ASSERT_EQ(layers.size(), model.layers.size());
  for (const LayerStatistics& layer : layers) {
    ASSERT_EQ(layer.head_entropy.size(), static_cast<std::size_t>(find<Attention>(model.layers[0])->n_heads));
    for (double entropy : layer.head_entropy) EXPECT_NEAR(entropy, expected, 1e-5);
    EXPECT_GT(layer.rms, 0.0);
    EXPECT_GE(layer.largest, layer.rms);
  }
}

// What is kept in bfloat16 is read as such; queries and keys are no longer there in float32.
TEST(Statistics, OfBfloat16AreThoseOfFloat32ToItsDigits) {
  const Model model = load_model("mini-gpt");
  std::vector<LayerStatistics> wide;
  for (DType precision : {DType::float32, DType::bfloat16}) {
    TrainerOptions options;
    options.precision = precision;
    Trainer trainer(model, Weights::initial(model, Initialisation::gpt2, 1), options);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(trainer.options().tokens)), labels = ids;
    std::iota(ids.begin(), ids.end(), 0);
    trainer.loss(ids, labels);
    const std::vector<LayerStatistics> layers = layer_statistics(trainer);
    if (precision == DType::float32) {
      wide = layers;
      continue;
    }
    ASSERT_EQ(layers.size(), wide.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      EXPECT_NEAR(layers[i].rms, wide[i].rms, 0.02 * wide[i].rms);
      EXPECT_NEAR(layers[i].largest, wide[i].largest, 0.02 * wide[i].largest);
      EXPECT_TRUE(layers[i].head_entropy.empty());
    }
  }
}

}  // namespace
}  // namespace reckon
