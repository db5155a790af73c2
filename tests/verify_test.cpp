// verify, with something broken: it has to say so, and name the op.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <unistd.h>

#include "backend/cpu/instructions.h"
#include "backend/cpu/executable.h"
#include "gguf_of_folder.h"
#include "compile/compile.h"
#include "lowering/regions.h"
#include "ops/norm.h"
#include "passes/expand.h"
#include "run/verify.h"
#include "run/verify_reference.h"
#include "small_models.h"
#include "tiny_models.h"
#include "train/verify_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace reckon {
namespace {

Verification verified(const Sabotage* sabotage) {
  const Model model = load_model("mini-gpt");
  VerifyOptions options;
  options.sabotage = sabotage;
  return verify(model, Weights::random(model, 1, DType::float32), options);
}

Verification verified_step(const Sabotage* sabotage) {
  const Model model = load_model("mini-gpt");
  VerifyOptions options;
  options.sabotage = sabotage;
  return verify_step(model, Weights::random(model, 1, DType::float32), options);
}

const Check& check_of(const Verification& v, const std::string& name) {
  return *std::find_if(v.checks.begin(), v.checks.end(), [&](const Check& check) { return check.name == name; });
}

std::string findings(const Verification& v) {
  std::string all;
  for (const std::string& finding : v.findings) all += finding + "\n";
  return all;
}

void expect_found(const Verification& v, const std::string& sentence) {
  EXPECT_FALSE(v.holds());
  EXPECT_NE(findings(v).find(sentence), std::string::npos) << findings(v);
}

// The first op that is a norm, and the tensors whose memory its input and its output are.
std::size_t first_norm(const Program& program) {
  const auto found = std::find_if(program.ops.begin(), program.ops.end(),
                                  [](const Op& op) { return op.operation == &rms_norm_operation; });
  return static_cast<std::size_t>(found - program.ops.begin());
}
TensorId input_of(const Program& program, std::size_t op) { return placement(program, program.ops[op].inputs[0]).root; }
TensorId output_of(const Program& program, std::size_t op) {
  return placement(program, program.ops[op].outputs[0]).root;
}

TEST(Verify, FindsNothingWhereNothingIsBroken) {
  const Sabotage none;
  for (const Verification& v : {verified(&none), verified_step(&none)}) {
    EXPECT_EQ(findings(v), "");
    EXPECT_TRUE(v.holds());
  }
}

// Query, key and value of mini-gpt's prefill run at the same time, a tile each: 2 · 16 · 64 · 64 FLOPs.
TEST(Verify, NamesTheProductOfWhichATileWasLeftOut) {
  Sabotage sabotage;
  sabotage.task = 0;
  const Verification v = verified(&sabotage);
  // The first tile has 48 of the query's 64 columns: 2·16·64·48 of 3·2·16·64·64 are missing.
  expect_found(
      v, "project of layers.0.attention.query and 2 beside it did 294,912 matmul FLOPs, its cost rule says 393,216");
  EXPECT_LT(check_of(v, "prefill matmul FLOPs").measured, check_of(v, "prefill matmul FLOPs").lowered);
  EXPECT_EQ(check_of(v, "prefill matmul FLOPs").lowered, 3'342'336);
}

TEST(Verify, NamesTheAttentionOfWhichABlockWasLeftOut) {
  Sabotage sabotage;
  sabotage.task = 3;  // of every op, so the last of four heads, too
  expect_found(verified(&sabotage), "attend of layers.0.attention");
}

TEST(Verify, NamesTheOpThatWritesBeyondItsOutput) {
  for (const std::int64_t beyond : {std::int64_t{0}, std::int64_t{100}, std::int64_t{-1}}) {
    Sabotage sabotage;
    sabotage.done = [&](const HostExecutable& executable, std::size_t op) {
      const Program& program = executable.program();
      // In training a norm has two outputs, which may lie side by side; the embedding has one.
      if (op != (program.workload.phase == Phase::train ? 0 : first_norm(program))) return;
      const TensorId root = output_of(program, op);
      const auto size = static_cast<std::int64_t>(bytes(program[root]));
      executable.data(root)[beyond < 0 ? beyond : size + beyond] ^= std::byte{0xff};
    };
    expect_found(verified(&sabotage), "rms_norm of layers.0.");
    expect_found(verified_step(&sabotage), " wrote to byte ");
  }
}

TEST(Verify, NoticesAWrongPlanThatPutsTwoLiveTensorsAtOnePlace) {
  Sabotage sabotage;
  sabotage.plan = [](const Program& program, std::vector<std::int64_t>& offsets, Plan&) {
    const std::size_t norm = first_norm(program);
    offsets[static_cast<std::size_t>(output_of(program, norm))] =
        offsets[static_cast<std::size_t>(input_of(program, norm))];
  };
  expect_found(verified(&sabotage), ", which was changed after embed of ");
  expect_found(verified_step(&sabotage), ", which was changed after embed of ");
}

TEST(Verify, NamesTheOpOfATrainingStepThatDidLessThanItsRuleSays) {
  Sabotage sabotage;
  sabotage.task = 0;
  const Verification v = verified_step(&sabotage);
  expect_found(v, "project of layers.0.attention.query and 2 beside it did ");
  EXPECT_LT(check_of(v, "backward matmul FLOPs").measured, check_of(v, "backward matmul FLOPs").lowered);
}

// An arena that is planned larger than what is written to it: its furthest byte is not there.
TEST(Verify, MeasuresTheArenaByWhatWasTouched) {
  Sabotage sabotage;
  sabotage.plan = [](const Program&, std::vector<std::int64_t>&, Plan& plan) { plan.arena += 4096; };
  const Verification v = verified(&sabotage);
  EXPECT_EQ(v.findings.size(), 0u);
  EXPECT_FALSE(v.holds());
  EXPECT_EQ(check_of(v, "prefill arena").lowered - check_of(v, "prefill arena").measured, 4096);
}

TEST(HostBuffer, KnowsHowFarItWasWrittenToAndWhatHappenedToItsFences) {
  HostBuffer arena(256, Fill::pattern, true);
  EXPECT_EQ(arena.touched(0, 256), 0);
  std::byte* data = arena.take(0, 256);
  const float value = 1.5f;
  std::memcpy(data + 100, &value, sizeof value);
  EXPECT_EQ(arena.touched(0, 256), 104);
  EXPECT_EQ(arena.touched(64, 64), 40);
  EXPECT_EQ(arena.touched(128, 128), 0);
  EXPECT_TRUE(arena.fences_hold());
  data[256] = std::byte{0};
  EXPECT_FALSE(arena.fences_hold());
}

ReferenceComparison compared(const Sabotage* sabotage) {
  const Model model = load_model("mini-gpt");
  VerifyOptions options;
  options.sabotage = sabotage;
  return compare_with_reference(model, Weights::random(model, 1, DType::float32), options);
}

// As if this op had computed one element wrongly.
Sabotage spoiling(const std::string& op) {
  Sabotage sabotage;
  sabotage.done = [=](const HostExecutable& executable, std::size_t first) {
    const Op& done = executable.program().ops[first];
    if (name_of(done) != op) return;
    const View view = static_cast<const CpuExecutable&>(executable).view(done.outputs[0]);
    *(view.pages != nullptr ? view.position(0, 3) : view.floats() + 5) += 0.1f;
  };
  return sabotage;
}

TEST(VerifyAgainst, NamesTheFirstOpThatComputesSomethingElseThanTheReference) {
  EXPECT_TRUE(compared(nullptr).holds());
  for (const std::string op :
       {"embed of embedding.token", "rms_norm of layers.0.attention.norm", "append of layers.1.attention.cache",
        "attend of layers.1.attention.mixing", "project of layers.1.feed_forward.down", "project of head"}) {
    const Sabotage sabotage = spoiling(op);
    const ReferenceComparison c = compared(&sabotage);
    ASSERT_FALSE(c.holds()) << op;
    EXPECT_EQ(c.first->op, op);
    EXPECT_GE(c.largest().relative, c.first->relative);
  }
}

// Query, key and value of mini-gpt's prefill run at the same time, a tile each.
TEST(VerifyAgainst, NamesTheProductOfWhichATileWasLeftOut) {
  Sabotage sabotage;
  sabotage.task = 0;
  const ReferenceComparison c = compared(&sabotage);
  ASSERT_FALSE(c.holds());
  EXPECT_EQ(c.first->op, "project of layers.0.attention.query");
}

// What a file in blocks computes; products with them read activations that were rounded to 8 bits.
ReferenceComparison compared_in_blocks(const std::string& name, DType dtype, const Sabotage* sabotage = nullptr) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("reckon-verify-" + std::to_string(getpid()) + ".gguf");
  std::ofstream(file, std::ios::binary) << GgufOfFolder(testing_models::tiny_folder() / name).file(dtype);
  const Model model = load_model(file.string());
  VerifyOptions options;
  options.sabotage = sabotage;
  const ReferenceComparison c = compare_with_reference(model, Weights::load(model, file), options);
  std::filesystem::remove(file);
  return c;
}

TEST(VerifyAgainst, HoldsProductsWithBlocksByTheSameBoundOnceTheReferenceReadsWhatTheCpuRounded) {
  for (const char* name : {"llama3-rope", "mixtral", "gpt_oss", "deepseek_v2", "phi3", "falcon-new"})
    for (const DType dtype : {DType::q8_0, DType::q4_0, DType::mxfp4}) {
      const ReferenceComparison c = compared_in_blocks(name, dtype);
      EXPECT_GT(c.kinds.at("quantise").ops, 0) << name;
      if (c.first) ADD_FAILURE() << name << ", " << c.first->op << ": " << c.first->relative;
    }
}

// All experts have one score, and the last one's is changed within what is allowed: the cpu chooses it, where the
// reference would choose lower ones by its own.
TEST(VerifyAgainst, TheReferenceSendsTokensToTheExpertsThatTheCpuChose) {
  const Model model = testing_models::small_model("mixtral");
  const auto experts = static_cast<std::int64_t>(find<Mixture>(model.layers[0])->n_experts);
  Workload one;
  one.tokens = 1;
  Weights weights = Weights::filled(expand(logical_program(model, one)), DType::float32,
                                    [](const Tensor& tensor, std::int64_t first, std::span<float> to) {
                                      for (std::size_t i = 0; i < to.size(); ++i) {
                                        std::int64_t element = first + static_cast<std::int64_t>(i);
                                        if (tensor.scope.role.part == Part::router) element %= tensor.shape[-1].size;
                                        to[i] = 0.1F * static_cast<float>(element * element % 23) - 1;
                                      }
                                    });
  int changed = 0;
  Sabotage sabotage;
  sabotage.done = [&](const HostExecutable& executable, std::size_t op) {
    const Op& done = executable.program().ops[op];
    const Tensor& scores = executable.program()[done.outputs[0]];
    if (name_of(done).find("router") == std::string::npos || scores.shape[-1].size != experts) return;
    float* const values = static_cast<const CpuExecutable&>(executable).view(done.outputs[0]).floats();
    for (std::int64_t i = experts - 1; i < scores.shape.elements(); i += experts)
      values[i] += 1e-5F * std::abs(values[i]);
    ++changed;
  };
  VerifyOptions options;
  options.sabotage = &sabotage;
  const ReferenceComparison c = compare_with_reference(model, std::move(weights), options);
  EXPECT_EQ(changed, 2);
  if (c.first) ADD_FAILURE() << c.first->op << ": " << c.first->relative;
}

// Where a processor multiplies bfloat16, more rows than 16 may be rounded to it; else they are held as any others.
TEST(VerifyAgainst, HoldsPromptsInBfloat16AlsoWhereTheProcessorRoundsThem) {
  const Model model = load_model("mini-gpt");
  VerifyOptions options;
  for (const std::int64_t tokens : {16, 32}) {
    options.tokens = tokens;
    const ReferenceComparison c = compare_with_reference(model, Weights::random(model, 1, DType::bfloat16), options);
    if (c.first) ADD_FAILURE() << tokens << ", " << c.first->op << ": " << c.first->relative;
    const bool rounds = tokens > 16 && bfloat16_instructions() == Bfloat16::avx512;
    EXPECT_EQ(c.tolerance, rounds ? ReferenceComparison::in_bfloat16 : ReferenceComparison::in_float32);
  }
}

TEST(VerifyAgainst, NamesTheProductWithBlocksThatIsWrong) {
  const std::string op = "project of layers.1.feed_forward.down";
  const Sabotage sabotage = spoiling(op);
  const ReferenceComparison c = compared_in_blocks("llama3-rope", DType::q4_0, &sabotage);
  ASSERT_FALSE(c.holds());
  EXPECT_EQ(c.first->op, op);
}

// A scale of 32 elements that is 5% too large, and an integer that is two steps off: half a step is right.
TEST(VerifyAgainst, NamesActivationsThatWereRoundedByMoreThanHalfAStep) {
  for (const bool of_scale : {true, false}) {
    Sabotage sabotage;
    sabotage.done = [&](const HostExecutable& executable, std::size_t first) {
      const Op& done = executable.program().ops[first];
      if (name_of(done) != "quantise of layers.1.feed_forward.gate") return;
      const View view = static_cast<const CpuExecutable&>(executable).view(done.outputs[0]);
      if (of_scale) {
        float scale = 0;
        std::memcpy(&scale, view.data + view.width(), 4);
        scale *= 1.05f;
        std::memcpy(view.data + view.width(), &scale, 4);
      } else {
        auto* q = reinterpret_cast<std::int8_t*>(view.data);
        *q = static_cast<std::int8_t>(*q > 0 ? *q - 2 : *q + 2);
      }
    };
    const ReferenceComparison c = compared_in_blocks("llama3-rope", DType::q8_0, &sabotage);
    ASSERT_FALSE(c.holds());
    EXPECT_EQ(c.first->op, "quantise of layers.1.feed_forward.gate");
  }
}

class GoldenAgainst : public testing::TestWithParam<std::string> {};

TEST_P(GoldenAgainst, EveryOpComputesWhatTheReferenceDoes) {
  const std::filesystem::path folder = testing_models::tiny_folder() / GetParam();
  const Model model = load_model(folder.string());
  for (const std::int64_t tokens : {std::int64_t{1}, std::int64_t{0}}) {
    VerifyOptions options;
    options.tokens = tokens;
    const ReferenceComparison c = compare_with_reference(model, Weights::load(model, folder), options);
    EXPECT_GT(c.ops(), 5);
    if (c.first) ADD_FAILURE() << c.first->op << ": " << c.first->tensor << " differs by " << c.first->relative;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenAgainst, testing::ValuesIn(testing_models::tiny_names()),
                         testing_models::tiny_test_name);

// The program as it is written, in plain loops that count what they do.
class GoldenOnReference : public testing::TestWithParam<std::string> {};

void expect_measured(const Verification& v) {
  EXPECT_EQ(findings(v), "");
  for (const Check& check : v.checks)
    EXPECT_TRUE(check.equal()) << check.name << ": " << to_string(check.measured) << " of " << to_string(check.lowered);
}

TEST_P(GoldenOnReference, PrefillAndDecodingMeasureWhatTheyPredict) {
  const std::filesystem::path folder = testing_models::tiny_folder() / GetParam();
  const Model model = load_model(folder.string());
  VerifyOptions options;
  options.device = Device::reference;
  options.tokens = 6;
  options.steps = 3;
  options.batch = 2;
  const Verification v = verify(model, Weights::load(model, folder), options);
  expect_measured(v);
  EXPECT_EQ(check_of(v, "prefill matmul FLOPs").lowered, check_of(v, "prefill matmul FLOPs").headline.value());
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenOnReference, testing::ValuesIn(testing_models::tiny_names()),
                         testing_models::tiny_test_name);

class GoldenStep : public testing::TestWithParam<std::string> {};

TEST_P(GoldenStep, MeasuresWhatItPredicts) {
  const std::filesystem::path folder = testing_models::tiny_folder() / GetParam();
  const Model model = load_model(folder.string());
  for (const DType precision : {DType::float32, DType::bfloat16}) {
    VerifyOptions options;
    options.batch = 2;
    options.tokens = 20;
    options.precision = precision;
    const Verification v = verify_step(model, Weights::load(model, folder), options);
    expect_measured(v);
  }
}

TEST_P(GoldenStep, MeasuresWhatItPredictsOnTheReference) {
  const std::filesystem::path folder = testing_models::tiny_folder() / GetParam();
  const Model model = load_model(folder.string());
  VerifyOptions options;
  options.batch = 2;
  options.tokens = 5;
  options.device = Device::reference;
  expect_measured(verify_step(model, Weights::load(model, folder), options));
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenStep, testing::ValuesIn(testing_models::with_gradients()),
                         testing_models::tiny_test_name);

}  // namespace
}  // namespace reckon
