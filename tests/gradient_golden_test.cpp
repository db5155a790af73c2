// Loss and every gradient against references from PyTorch (tests/data/tiny/*/grads.safetensors), executed by the
// trainer.
#include <gtest/gtest.h>

#include "count/ledger.h"
#include "family_references.h"
#include "model/types.h"
#include "tiny_models.h"
#include "train/trainer.h"

#include <cmath>

namespace reckon {
namespace {

using testing_models::Batch;
using testing_models::batch_of;
using testing_models::tiny_folder;
using testing_models::tiny_io;

Trainer trainer_of(const std::filesystem::path& folder, const Batch& b, TrainerOptions options) {
  const Model model = load_model(folder.string());
  options.batch = b.batch;
  options.tokens = b.tokens;
  return Trainer(model, Weights::load(model, folder), options);
}

Trainer trainer_of(const std::string& name, const Batch& b, TrainerOptions options) {
  return trainer_of(tiny_folder() / name, b, options);
}

class GoldenGradient : public testing::TestWithParam<std::string> {};

TEST_P(GoldenGradient, LossAndEveryGradientAreTheReferencesOnEveryDevice) {
  const nlohmann::json io = tiny_io(GetParam());
  const Batch b = batch_of(io);
  for (const Device device : {Device::cpu, Device::reference, Device::reference64}) {
    TrainerOptions options;
    options.device = device;
    options.threads = 2;
    Trainer trainer = trainer_of(GetParam(), b, options);
    const double loss = trainer.compute_gradient(b.ids, b.labels);
    EXPECT_NEAR(loss, io["loss"].get<double>(), 1e-4);

    const Weights reference = Weights::load(trainer.model(), tiny_folder() / GetParam() / "grads.safetensors");
    for (const TrainedTensor& tensor : trainer.tensors()) {
      const std::vector<float> gradient = trainer.values(tensor, &TrainedTensor::gradient);
      Elements expected(reference[tensor.key]);
      double difference = 0, norm = 0;
      for (const float found : gradient) {
        const auto value = static_cast<double>(expected.next()), d = static_cast<double>(found) - value;
        difference += d * d;
        norm += value * value;
      }
      EXPECT_LE(std::sqrt(difference), 1e-4 * std::sqrt(norm) + 1e-7)
          << "device " << int(device) << ", " << tensor.name << " of norm " << std::sqrt(norm);
    }
  }
}

std::vector<float> gradients(Trainer& trainer) {
  std::vector<float> all;
  for (const TrainedTensor& tensor : trainer.tensors()) {
    const std::vector<float> gradient = trainer.values(tensor, &TrainedTensor::gradient);
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  return all;
}

// What holds to the bit, or to the byte, of every type that is trained.
class ExactGradient : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(project_folder()) / "tests/data" / GetParam();
  Batch batch_ = batch_of(family_references::read_json(folder_ / "io.json"));
};

// As many as were counted: fewer only where that depends on the experts chosen (LongCat's identity experts).
void expect_products(Trainer& trainer, const WorkTotals& counted) {
  const Count measured = trainer.backend().measured().matmul_flops;
  EXPECT_LE(measured, counted.matmul);
  EXPECT_GE(measured, counted.matmul_least);
}

std::vector<std::string> trained_folders() {
  std::vector<std::string> folders;
  for (const std::string& name : testing_models::with_gradients()) folders.push_back("tiny/" + name);
  for (const std::string& name : family_references::found("tiny"))
    if (is_trainable(load_model((family_references::folder() / "tiny" / name).string()).family))
      folders.push_back("families/tiny/" + name);
  return folders;
}

TEST_P(ExactGradient, BitsAreTheSameForAnyNumberOfThreads) {
  const Batch& b = batch_;
  std::vector<float> alone;
  for (int threads : {1, 3}) {
    TrainerOptions options;
    options.threads = threads;
    Trainer trainer = trainer_of(folder_, b, options);
    trainer.compute_gradient(b.ids, b.labels);
    if (threads == 1) {
      alone = gradients(trainer);
    } else {
      EXPECT_EQ(gradients(trainer), alone);
    }
  }
}

TEST_P(ExactGradient, BitsAreTheSameWhenValuesAreComputedAgain) {
  const Batch& b = batch_;
  std::vector<float> kept;
  std::int64_t arena = 0;
  for (Recompute what : {Recompute::none, Recompute::selective, Recompute::block}) {
    TrainerOptions options;
    options.recompute = what;
    Trainer trainer = trainer_of(folder_, b, options);
    trainer.compute_gradient(b.ids, b.labels);
    const Executable& executable = trainer.executable();
    const Ledger ledger = read_ledger(executable.program());
    expect_products(trainer, WorkTotals(ledger.forward).add(ledger.backward));
    EXPECT_EQ(executable.arena().high_water(), executable.plan().arena);
    if (what == Recompute::none) {
      kept = gradients(trainer);
      arena = executable.plan().arena;
    } else {
      EXPECT_EQ(gradients(trainer), kept);
      EXPECT_LE(executable.plan().arena, arena);
    }
  }
}

TEST(Trainer, ACancelledMicroStepLeavesNothingBehindAndAnUpdateIsNeverCancelled) {
  const Batch b = batch_of(tiny_io("gpt2"));
  std::atomic<bool> cancel = false;
  TrainerOptions options;
  options.cancel = &cancel;
  Trainer trainer = trainer_of(std::string("gpt2"), b, options);
  trainer.compute_gradient(b.ids, b.labels);
  const std::vector<float> expected = gradients(trainer);
  cancel = true;
  EXPECT_THROW(trainer.compute_gradient(b.ids, b.labels), Cancelled);
  cancel = false;
  trainer.compute_gradient(b.ids, b.labels);
  EXPECT_EQ(gradients(trainer), expected);
  cancel = true;
  EXPECT_GT(trainer.update({}), 0);
  EXPECT_EQ(trainer.steps(), 1);
}

std::vector<std::int32_t> twofold(std::vector<std::int32_t> ids) {
  ids.insert(ids.end(), ids.begin(), ids.begin() + std::ssize(ids));
  return ids;
}

double norm_of(std::span<const float> values) {
  double squares = 0;
  for (float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

// Of two lists, the norm of the difference over that of the first.
double distance(std::span<const float> a, std::span<const float> b) {
  std::vector<float> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return norm_of(difference) / norm_of(a);
}

// Two micro-steps of the same batch: the mean of two equal gradients.
TEST_P(GoldenGradient, MicroStepsSumUp) {
  const Batch b = batch_of(tiny_io(GetParam()));
  Trainer trainer = trainer_of(GetParam(), b, {});
  trainer.compute_gradient(b.ids, b.labels);
  const std::vector<float> once = gradients(trainer);
  trainer.compute_gradient(twofold(b.ids), twofold(b.labels));
  EXPECT_LE(distance(once, gradients(trainer)), 1e-6);
}

// The batch in one, and row by row in micro-steps of which the first has fewer labels: both are the mean over all
// labels.
TEST_P(GoldenGradient, MicroStepsWithFewerLabelsWeighLess) {
  Batch b = batch_of(tiny_io(GetParam()));
  ASSERT_GT(b.batch, 1);
  std::fill(b.labels.begin(), b.labels.begin() + b.tokens - 2, -1);  // one is left
  Trainer together = trainer_of(GetParam(), b, {});
  const double loss = together.compute_gradient(b.ids, b.labels);
  b.batch = 1;
  Trainer rows = trainer_of(GetParam(), b, {});
  EXPECT_NEAR(rows.compute_gradient(b.ids, b.labels), loss, 1e-5);
  EXPECT_LE(distance(gradients(together), gradients(rows)), 1e-5);
}

TEST_P(ExactGradient, TakesTheMemoryThatIsPlannedAndTheFlopsThatAreCounted) {
  const Batch& b = batch_;
  Trainer trainer = trainer_of(folder_, b, {});
  trainer.compute_gradient(b.ids, b.labels);
  trainer.update({});
  const Executable& executable = trainer.executable();
  EXPECT_EQ(executable.arena().high_water(), executable.plan().arena);
  expect_products(trainer, read_ledger(executable.program()).total());
}

// Activations and weights in bfloat16 have three digits: the gradient points where that of float32 does.
TEST_P(GoldenGradient, Bfloat16IsCloseAndTakesLess) {
  const Batch b = batch_of(tiny_io(GetParam()));
  std::vector<float> wide;
  std::int64_t arena = 0;
  for (DType precision : {DType::float32, DType::bfloat16}) {
    TrainerOptions options;
    options.precision = precision;
    Trainer trainer = trainer_of(GetParam(), b, options);
    const double loss = trainer.compute_gradient(b.ids, b.labels);
    EXPECT_NEAR(loss, tiny_io(GetParam())["loss"].get<double>(), 0.1);
    EXPECT_EQ(trainer.executable().arena().high_water(), trainer.executable().plan().arena);
    if (precision == DType::float32) {
      wide = gradients(trainer);
      arena = trainer.executable().plan().arena;
      continue;
    }
    EXPECT_LT(trainer.executable().plan().arena, arena);
    const std::vector<float> narrow = gradients(trainer);
    double product = 0, one = 0, other = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      product += static_cast<double>(wide[i]) * static_cast<double>(narrow[i]);
      one += static_cast<double>(wide[i]) * static_cast<double>(wide[i]);
      other += static_cast<double>(narrow[i]) * static_cast<double>(narrow[i]);
    }
    EXPECT_GT(product / std::sqrt(one * other), 0.95);
    EXPECT_NE(wide, narrow);
  }
}

// With dropout: the directional derivative that the gradient promises is the one that finite differences find, with the
// same elements dropped.
TEST(Dropout, ItsGradientIsThatOfTheSameDraw) {
  const Batch b = batch_of(tiny_io("gpt2"));
  TrainerOptions options;
  options.dropout = 0.3;
  options.seed = 5;
  Trainer trainer = trainer_of(std::string("gpt2"), b, options);
  const double loss = trainer.compute_gradient(b.ids, b.labels);
  EXPECT_NE(loss, trainer.loss(b.ids, b.labels)) << "evaluation drops nothing";
  EXPECT_EQ(loss, trainer.compute_gradient(b.ids, b.labels)) << "the same step draws the same";
  EXPECT_NE(loss, trainer.compute_gradient(twofold(b.ids), twofold(b.labels))) << "another micro-step draws anew";
  trainer.compute_gradient(b.ids, b.labels);
  const std::vector<float> gradient = gradients(trainer);
  double square = 0;
  for (float g : gradient) square += static_cast<double>(g) * static_cast<double>(g);
  const double length = 1e-2 / std::sqrt(square);
  const auto move = [&](double by) {
    std::size_t i = 0;
    for (const TrainedTensor& tensor : trainer.tensors()) {
      std::vector<float> weight = trainer.values(tensor, &TrainedTensor::weight);
      for (float& w : weight) w += static_cast<float>(by * static_cast<double>(gradient[i++]));
      trainer.set_values(tensor, &TrainedTensor::weight, weight);
    }
  };
  move(length);
  const double above = trainer.compute_gradient(b.ids, b.labels);
  move(-2 * length);
  const double below = trainer.compute_gradient(b.ids, b.labels);
  EXPECT_NEAR((above - below) / (2 * length), square, 0.01 * square);
}

INSTANTIATE_TEST_SUITE_P(Trained, ExactGradient, testing::ValuesIn(trained_folders()), testing_models::tiny_test_name);
INSTANTIATE_TEST_SUITE_P(Tiny, GoldenGradient, testing::ValuesIn(testing_models::with_gradients()),
                         testing_models::tiny_test_name);

}  // namespace
}  // namespace reckon
