// `reckon time` asked how much to train, and how well a run that was measured used its devices.
#include <algorithm>
#include <map>

#include "program_fixture.h"

namespace reckon {
namespace {

using TimeQuestions = ProgramTest;

TEST_F(TimeQuestions, ComputeOptimalSaysWhatEachLawTakesOnTheDevice) {
  const Json report = json({"time", "gpt2", "--on", "a100", "--phase", "train", "--batch", "8", "--compute-optimal"});
  const Json& optimal = report.at("compute_optimal");
  EXPECT_EQ(optimal.at("parameters"), 124439808);
  ASSERT_EQ(optimal.at("laws").size(), 4U);
  for (const Json& law : optimal.at("laws")) {
    SCOPED_TRACE(law.at("name"));
    EXPECT_NE(law.at("reference"), "");
    const double tokens = law.at("tokens");
    EXPECT_NEAR(law.at("tokens_per_parameter").get<double>(), tokens / 124439808, 1e-6);
    // As long as so many tokens take at the rate of the step, of which there is a whole number.
    EXPECT_NEAR(law.at("training").at("seconds").get<double>() * report.at("tokens_per_second").get<double>() / tokens,
                1, 1e-5);
  }
  EXPECT_FALSE(optimal.contains("inference"));
  EXPECT_FALSE(optimal.contains("same_compute"));
}

// Sardana et al. 2023, figure 1: a 13B model and 2T tokens of inference; llama-2-13b has 13.0B parameters.
TEST_F(TimeQuestions, ComputeOptimalWithInferenceIsASmallerModelTrainedForLonger) {
  const Json report = json({"time", "llama-2-13b", "--on", "h100", "--phase", "train", "--tokens", "512",
                            "--compute-optimal", "--inference-tokens", "2T", "--tokens-total", "2T"});
  const Json& inference = report.at("compute_optimal").at("inference");
  EXPECT_EQ(inference.at("tokens"), 2000000000000);
  bool found = false;
  for (const Json& law : inference.at("laws")) {
    if (law.at("name") != "Sardana") continue;
    found = true;
    EXPECT_NEAR(law.at("same_loss").at("parameters").get<double>() / 1e9, 7, 0.1);
    EXPECT_NEAR(law.at("saved").get<double>(), 0.17, 0.005);
    EXPECT_GT(law.at("tokens").get<double>(), law.at("plain").at("tokens").get<double>());
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(report.at("compute_optimal").at("same_compute").at("optima").size(), 5U);
}

TEST_F(TimeQuestions, TablesOfHowMuchToTrainAreNoWiderThanATerminal) {
  const Result result = run({"time", "llama-3-8b", "--on", "h100:64", "--phase", "train", "--tokens", "512",
                             "--compute-optimal", "--inference-tokens", "2T", "--tokens-total", "15T"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("How much to train"), std::string::npos);
  EXPECT_NE(result.out.find("With 2T tokens of inference"), std::string::npos);
}

// Korthikanti et al. 2022, table 5, 22B: 1.10 s on 8 A100s; 41.5% MFU, 43.7% HFU as they count, 42.4% by the program.
TEST_F(TimeQuestions, AMeasuredStepHasItsUtilisationByTheProgramAndAsPublished) {
  const Json report =
      json({"time",    "gpt2",  "--layers",    "48",        "--d-model",   "6144",         "--heads",    "64",
            "--vocab", "51200", "--context",   "2k",        "--on",        "a100:8",       "--phase",    "train",
            "--batch", "4",     "--recompute", "selective", "--attention", "materialised", "--measured", "1.10s"});
  EXPECT_EQ(report.at("schema"), "reckon.utilisation/1");
  EXPECT_EQ(report.at("devices"), 8);
  EXPECT_EQ(report.at("seconds"), 1.1);
  EXPECT_NEAR(report.at("tokens_per_second").get<double>(), 4 * 2048 / 1.1, 1e-6);
  EXPECT_EQ(report.at("peak").at("flops"), 8 * 312e12);
  EXPECT_EQ(report.at("attention"), "materialised");
  std::map<std::string, double> shares;
  for (const Json& one : report.at("utilisation"))
    shares[one.at("kind").get<std::string>() + " " + one.at("name").get<std::string>()] = one.at("share");
  EXPECT_NEAR(shares.at("mfu program"), 0.415, 0.002);
  EXPECT_NEAR(shares.at("mfu megatron"), 0.415, 0.002);
  EXPECT_NEAR(shares.at("hfu megatron"), 0.437, 0.002);
  EXPECT_NEAR(shares.at("hfu program"), 0.424, 0.001);
}

// Text with its lines joined.
std::string joined(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST_F(TimeQuestions, AShareAboveThePeakIsSaidToBeImpossible) {
  const std::vector<std::string> asked{"time", "llama-3.1-8b", "--on", "h100:64", "--phase", "train", "--batch", "1"};
  const auto with = [&](const char* measured) {
    std::vector<std::string> all = asked;
    all.insert(all.end(), {"--measured", measured});
    return all;
  };
  const std::string said = "More than 100% is impossible: the time, the batch or the devices are not those of the run.";
  EXPECT_NE(joined(run(with("1e-9")).out).find(said), std::string::npos);
  EXPECT_EQ(json(with("1e-9")).at("note"), said);
  EXPECT_FALSE(json(with("100")).contains("note"));
  EXPECT_EQ(run(with("100")).out.find("impossible"), std::string::npos);
}

// --batch is each device's in a prediction, and the whole step's of a run that was measured.
TEST_F(TimeQuestions, AStepSaysHowManySequencesItHasInAllAndOnHowManyDevices) {
  const std::vector<std::string> asked{"time",  "llama-3.1-8b", "--on", "h100:64", "--phase",
                                       "train", "--context",    "8k",   "--batch", "1"};
  EXPECT_NE(joined(run(asked).out).find("64 sequences of 8,192 new tokens at a time, in all on 64 devices"),
            std::string::npos)
      << run(asked).out;
  auto measured = asked;
  measured.insert(measured.end(), {"--measured", "10"});
  EXPECT_NE(joined(run(measured).out).find("of 1 sequence of 8,192 tokens in all, on 64 devices"), std::string::npos)
      << run(measured).out;
  EXPECT_NE(joined(run(measured).out).find("HFU is of streamed attention."), std::string::npos) << run(measured).out;
}

TEST_F(TimeQuestions, WhatNoNumberHoldsIsTooLargeToTime) {
  for (const char* phase : {"decode", "train"})
    expect_complaint({"time", "llama-3-8b", "--on", "h100", "--phase", phase, "--batch", "1000000000000"}, 1,
                     "llama-3-8b: the workload is too large to time: ");
}

// A layout's batch is that of a rank and a micro-batch; a rate says the same as a time.
TEST_F(TimeQuestions, ARateIsTokensOverSecondsOfAllRanks) {
  const std::vector<std::string> with{"time", "gpt2",     "--on", "h100:8",          "--phase", "train",   "--data",
                                      "4",    "--tensor", "2",    "--micro-batches", "2",       "--batch", "8"};
  auto seconds = with, rate = with;
  seconds.insert(seconds.end(), {"--measured", "500ms"});
  rate.insert(rate.end(), {"--rate", std::to_string(2 * 8 * 4 * 2 * 1024)});
  const Json a = json(seconds), b = json(rate);
  EXPECT_EQ(a.at("batch"), 8 * 4 * 2);
  EXPECT_EQ(a.at("seconds"), 0.5);
  EXPECT_EQ(a, b);
}

// What a report says of adapters: their parameters, and the type of what is frozen.
TEST_F(TimeQuestions, OfAdaptersSayWhatIsTrainedAndWhatIsFrozen) {
  for (const char* command : {"time", "memory"}) {
    const Json report = json({command, "llama-3-8b", "--on", "a100", "--phase", "train", "--tokens", "512", "--lora",
                              "8", "--precision", "nf4"});
    EXPECT_EQ(report.at("adapters").at("parameters"), 3407872);
    EXPECT_EQ(report.at("adapters").at("all"), 8033669120);
    EXPECT_EQ(report.at("workload").at("lora"), 8);
    EXPECT_EQ(report.at("workload").at("lora_targets"), "query-value");
    EXPECT_EQ(report.at("workload").at("types").at("weights"), "nf4");
  }
  EXPECT_EQ(run({"time", "gpt-oss-20b", "--on", "epyc-9654", "--phase", "train", "--tokens", "64", "--lora", "8"}).code,
            0);
  // Without training they are not merged.
  const std::vector<std::string> decode{"time", "llama-3-8b", "--on", "a100", "--context", "512"};
  auto with = decode;
  with.insert(with.end(), {"--lora", "8", "--lora-targets", "all"});
  EXPECT_EQ(json(with).at("flops").at("headline").get<std::int64_t>() -
                json(decode).at("flops").at("headline").get<std::int64_t>(),
            2 * 20971520);
}

TEST_F(TimeQuestions, ThatMakeNoSenseAreOneSentence) {
  const std::vector<std::string> train{"time", "gpt2", "--on", "a100", "--phase", "train"};
  const auto expect = [&](std::vector<std::string> more, const std::string& part) {
    auto all = train;
    all.insert(all.end(), more.begin(), more.end());
    expect_complaint(all, 2, part);
  };
  expect({"--inference-tokens", "2T"}, "--inference-tokens is given without --compute-optimal");
  expect({"--compute-optimal", "--inference-tokens", "0"}, "--inference-tokens is 0");
  expect({"--measured", "0"}, "--measured is '0'; expected the seconds of a step");
  expect({"--measured", "-1s"}, "--measured is '-1s'");
  expect({"--measured", "1h"}, "--measured is '1h'");
  expect({"--measured", "nan"}, "--measured is 'nan'");
  expect({"--measured", "x"}, "--measured is 'x'");
  expect({"--rate", "0"}, "--rate is 0");
  expect({"--rate", "1k", "--measured", "1"}, "--measured and --rate both say");
  expect({"--compute-optimal", "--measured", "1"}, "--compute-optimal is given with a run that was measured");
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{{"--batches"},
                                                                                     {"--roofline"},
                                                                                     {"--svg", "x.svg"},
                                                                                     {"--efficiency", "0.5"},
                                                                                     {"--tokens-total", "1B"},
                                                                                     {"--steps", "10"},
                                                                                     {"--network", "25"},
                                                                                     {"--price", "2"}}) {
    auto with = other;
    with.insert(with.end(), {"--measured", "1"});
    expect(with, other[0] + " is of a prediction, and --measured of a run that was measured; expected one of them");
    with = other;
    with.insert(with.end(), {"--rate", "1k"});
    expect(with, other[0] + " is of a prediction, and --rate of a run that was measured; expected one of them");
  }
  expect({"--lora", "0"}, "--lora is 0");
  expect({"--lora", "-4"}, "--lora is ");
  expect({"--lora", "1k"}, "--lora is 1024, but the attention/query matrices of gpt2 are 768 × 768; expected 1 to 768");
  expect({"--precision", "nf4"}, "--precision is nf4 in --phase train");
  expect_complaint({"time", "gpt2", "--on", "a100", "--compute-optimal"}, 2, "expected --phase train");
}

}  // namespace
}  // namespace reckon
