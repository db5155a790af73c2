// The reference backend's optimizer against the cpu's, and its rounding.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "backend/inspection.h"
#include "files/numbers.h"
#include "run/engine.h"
#include "small_models.h"
#include "text_fixture.h"
#include "train/trainer.h"

#include <algorithm>
#include <memory>

namespace reckon {
namespace {

TEST(Reference, TwoStepsOfAdamWWithMicroStepsClippingAndDropoutAreThoseOfTheCpu) {
  const Model model = load_model("mini-gpt");
  const Update update{.learning_rate = 1e-2, .clip = 0.5};
  const auto trainer_on = [&](Device device) {
    TrainerOptions options;
    options.device = device;
    options.batch = 1;
    options.tokens = 8;
    options.dropout = 0.25;
    options.seed = 5;
    return std::make_unique<Trainer>(model, Weights::random(model, 1, DType::float32), options);
  };
  std::vector<std::int32_t> ids, labels;  // two micro-steps, of 8 and of 5 labels
  for (std::int32_t i = 0; i < 16; ++i) {
    ids.push_back(i * 37 % 512);
    labels.push_back(i < 13 ? i * 101 % 512 : -1);
  }
  const auto cpu = trainer_on(Device::cpu);
  for (const Device device : {Device::reference, Device::reference64}) {
    const auto reference = trainer_on(device);
    if (device == Device::reference64) {  // begins where the other one did
      for (std::size_t i = 0; i < cpu->tensors().size(); ++i) {
        const TrainedTensor &from = reference->tensors()[i], &to = cpu->tensors()[i];
        const std::vector<float> zeros(static_cast<std::size_t>(to.elements));
        cpu->set_values(to, &TrainedTensor::weight, reference->values(from, &TrainedTensor::weight));
        cpu->set_values(to, &TrainedTensor::first_moment, zeros);
        cpu->set_values(to, &TrainedTensor::second_moment, zeros);
      }
      cpu->set_steps(0);
    }
    for (int step = 1; step <= 2; ++step) {
      EXPECT_NEAR(reference->compute_gradient(ids, labels), cpu->compute_gradient(ids, labels), 1e-5);
      EXPECT_NEAR(reference->update(update), cpu->update(update), 1e-4);
      EXPECT_EQ(reference->steps(), step);
    }
    const std::span<const std::int32_t> first(ids.data(), 8), next(labels.data(), 8);
    EXPECT_NEAR(reference->loss(first, next), cpu->loss(first, next), 1e-4);
    for (std::size_t t = 0; t < cpu->tensors().size(); ++t) {
      const TrainedTensor &found = reference->tensors()[t], &expected = cpu->tensors()[t];
      for (const auto& [what, tolerance] :
           {std::pair(&TrainedTensor::weight, 2e-4), std::pair(&TrainedTensor::first_moment, 1e-5)}) {
        const std::vector<float> ours = reference->values(found, what), theirs = cpu->values(expected, what);
        for (std::size_t i = 0; i < theirs.size(); ++i)
          ASSERT_NEAR(ours[i], theirs[i], tolerance) << expected.name << " " << i;
      }
      EXPECT_NEAR(found.squares.gradient, expected.squares.gradient, 1e-3 * expected.squares.gradient + 1e-9);
      EXPECT_NEAR(found.squares.update, expected.squares.update, 1e-2 * expected.squares.update);
      EXPECT_NEAR(found.squares.weight, expected.squares.weight, 1e-3 * expected.squares.weight);
    }
  }
}

TEST(Reference, TrainsInFloat32Only) {
  const Model model = load_model("mini-gpt");
  TrainerOptions options;
  options.device = Device::reference;
  options.precision = DType::bfloat16;
  EXPECT_THROW(Trainer(model, Weights::initial(model, Initialisation::gpt2, 1), options), UsageError);
}

// Norms of 8 elements take 32 bytes: one line of the cache on the cpu, 32 on the reference, whose target asks for 8.
TEST(Reference, WhatOutlivesAStepLiesAsItsTargetAligns) {
  const Model model = testing_models::small_llama();
  for (const auto& [device, alignment] : {std::pair(Device::cpu, 64), std::pair(Device::reference, 8)}) {
    TrainerOptions options;
    options.device = device;
    const Trainer trainer(model, Weights::initial(model, Initialisation::gpt2, 1), options);
    std::int64_t bytes = 0;
    for (const TrainedTensor& tensor : trainer.tensors())
      bytes += (4 * tensor.elements + alignment - 1) / alignment * alignment;
    EXPECT_EQ(trainer.tensors()[0].weight.buffer->bytes(), bytes);
    EXPECT_EQ(trainer.tensors()[0].gradient.buffer->bytes(), bytes);
    EXPECT_EQ(trainer.tensors()[0].first_moment.buffer->bytes(), 2 * bytes);
  }
}

// Weights, gradients and two moments: 4 numbers an element, each a double.
TEST(Reference, TrainingCountsTheBytesOfItsDoublesBeforeItTakesMemory) {
  const Model model = load_model("mini-gpt");
  Weights weights = Weights::initial(model, Initialisation::gpt2, 1);
  const std::string state = binary_bytes(weights.elements() * 4 * 8);
  TrainerOptions options;
  options.device = Device::reference;
  options.batch = 1'000'000'000;
  const std::string said = error_of([&] { Trainer(model, std::move(weights), options); });
  EXPECT_NE(said.find(state + " of it for weights, gradients and moments"), std::string::npos) << said;
}

TEST(Devices, EachHasAWordAndABackendOfItsTarget) {
  std::vector<std::string> words;
  for (const DeviceName& name : device_names()) {
    words.emplace_back(name.word);
    EXPECT_TRUE(words.back().starts_with(make_backend(name.device, 1)->target().name)) << name.word;
  }
  EXPECT_EQ(words, (std::vector<std::string>{"cpu", "reference", "reference64"}));
}

TEST(Devices, OneThatIsMissingSaysWhy) {
  const auto why = [] { return std::string("this build has no CUDA"); };
  EXPECT_EQ(error_of([&] {
              check_present({Device::cpu, "cuda", why});
            }),
            "the device cuda is not there: this build has no CUDA");
  EXPECT_NO_THROW(check_present({Device::cpu, "cuda", [] { return std::string(); }}));
}

// What leaves each op, of a prefill of four tokens.
std::vector<double> op_results(Device device) {
  const Model model = load_model("mini-gpt");
  Inspection inspection;
  std::vector<double> all;
  inspection.observe = [&](const Executable& executable, const Op& op) {
    for (const double value : executable.values(op.outputs[0])) all.push_back(value);
  };
  EngineOptions options;
  options.device = device;
  options.inspection = &inspection;
  Engine engine(model, Weights::random(model, 1, DType::float32), options);
  engine.session().run(std::vector<std::int32_t>{1, 2, 3, 4}, Logits::all);
  return all;
}

TEST(Reference, RoundsToFloat32OnRequest) {
  const std::vector<double> wide = op_results(Device::reference64), narrow = op_results(Device::reference);
  ASSERT_EQ(wide.size(), narrow.size());
  EXPECT_NE(wide, narrow);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(narrow[i], static_cast<double>(static_cast<float>(narrow[i])));
    EXPECT_NEAR(narrow[i], wide[i], 1e-5);
  }
}

}  // namespace
}  // namespace reckon
