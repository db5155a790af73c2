// The reference backend against PyTorch's gradients, and against the cpu backend's optimizer.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "count/ledger.h"
#include "network/forward.h"
#include "passes/expand.h"
#include "run/reference_model.h"
#include "tiny_models.h"
#include "train/trainer.h"

#include <cmath>

namespace reckon {
namespace {

using testing_models::Batch;
using testing_models::batch_of;
using testing_models::tiny_folder;
using testing_models::tiny_io;

class GoldenReferenceGradient : public testing::TestWithParam<std::string> {};

TEST_P(GoldenReferenceGradient, LossAndEveryGradientAreTheReferences) {
  const Model model = load_model((tiny_folder() / GetParam()).string());
  const nlohmann::json io = tiny_io(GetParam());
  const Batch b = batch_of(io);
  Workload workload = workload_of(Phase::train);
  workload.batch = b.batch;
  workload.tokens = b.tokens;
  ReferenceModel reference(model, Weights::load(model, tiny_folder() / GetParam()), false);
  const auto loss = reference.run(expand(logical_program(model, workload)), {b.ids, b.labels},
                                  {.stages = {Stage::forward, Stage::backward}});
  EXPECT_NEAR(loss.at(0), io["loss"].get<double>(), 1e-4);

  const Weights expected =
      Weights::trainable(model, Weights::load(model, tiny_folder() / GetParam() / "grads.safetensors"), DType::float32);
  for (const TensorKey& key : expected.keys()) {
    if (expected[key].master == nullptr) continue;  // a buffer
    const std::vector<double>& found = reference.gradient(key);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto value = static_cast<double>(expected[key].master[i]);
      difference += std::pow(found[i] - value, 2);
      norm += value * value;
    }
    EXPECT_LE(std::sqrt(difference), 1e-4 * std::sqrt(norm) + 1e-7) << full_name(key) << " of norm " << std::sqrt(norm);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenReferenceGradient, testing::ValuesIn(testing_models::with_gradients()),
                         testing_models::tiny_test_name);

TEST(Reference, TwoStepsOfAdamWWithClippingAndDropoutAreThoseOfTheCpu) {
  const Model model = load_model("mini-gpt");
  const Update update{.learning_rate = 1e-2, .clip = 0.5};
  TrainerOptions options;
  options.batch = 2;
  options.tokens = 8;
  options.dropout = 0.25;
  options.seed = 5;
  const Weights start = Weights::random(model, 1, DType::float32);
  Trainer trainer(model, Weights::trainable(model, start, DType::float32), options);
  ReferenceModel reference(model, start, false);
  Workload workload = workload_of(Phase::train);
  workload.batch = options.batch;
  workload.tokens = options.tokens;
  workload.dropout = options.dropout;
  const Program program = expand(logical_program(model, workload));
  std::vector<std::int32_t> ids, labels;
  for (std::int32_t i = 0; i < 16; ++i) {
    ids.push_back(i * 37 % 512);
    labels.push_back(i * 101 % 512);
  }
  for (int step = 1; step <= 2; ++step) {
    const double loss = trainer.compute_gradient(ids, labels);
    ReferenceOptions asked;
    asked.step = {.learning_rate = update.learning_rate,
                  .beta1 = update.beta1,
                  .beta2 = update.beta2,
                  .epsilon = update.epsilon,
                  .decay = update.decay,
                  .clip = update.clip,
                  .step = step,
                  .seed = trainer.dropout_seed(0)};
    trainer.update(update);
    EXPECT_NEAR(reference.run(program, {ids, labels}, asked).at(0), loss, 1e-5);
  }
  for (const TrainedTensor& tensor : trainer.tensors()) {
    const std::vector<double>& expected = reference.parameter(tensor.key);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(tensor.weight[i]), expected[i], 2e-4) << tensor.name << " " << i;
    }
  }
}

TEST(Reference, RoundsToFloat32OnRequest) {
  const Model model = load_model("mini-gpt");
  const Weights weights = Weights::random(model, 1, DType::float32);
  Workload workload = workload_of(Phase::forward);
  workload.tokens = 4;
  const Program program = expand(forward(model, workload));
  const std::vector<std::int32_t> ids = {1, 2, 3, 4};
  const auto wide = ReferenceModel(model, weights, false).run(program, {ids});
  const auto narrow = ReferenceModel(model, weights, true).run(program, {ids});
  EXPECT_NE(wide, narrow);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(narrow[i], static_cast<double>(static_cast<float>(narrow[i])));
    EXPECT_NEAR(narrow[i], wide[i], 1e-5);
  }
}

}  // namespace
}  // namespace reckon
