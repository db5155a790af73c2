// What follows from the time of a program: utilisation, throughput by batch, whole trainings, and their report.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <cmath>

#include "files/numbers.h"
#include "model/load.h"
#include "network/forward.h"
#include "program_fixture.h"
#include "files/duration.h"
#include "report/describe.h"
#include "report/text.h"
#include "report/time.h"
#include "text_fixture.h"
#include "time/estimate.h"

namespace reckon {
namespace {

Workload resolved(const Model& model, Phase phase, std::int64_t batch, std::int64_t tokens, std::int64_t past = -1) {
  Workload workload = workload_of(phase);
  workload.batch = batch;
  workload.tokens = tokens;
  workload.past = past;
  workload.precision.weights = workload.precision.activations = workload.precision.cache =
      workload.precision.gradients = DType::bfloat16;
  return resolve(model, workload);
}

// Stanford's CS336, assignment 1, adamwAccounting (d): 400,000 steps at batch 1,024 of GPT-2 XL with their SwiGLU on
// one A100 at half of 19.5 TFLOP/s, a backward pass counted as two forward: 3 · 4,513,336,524,800 FLOPs a sequence.
TEST(Estimate, training_gpt2_xl_on_one_a100_at_half_its_peak_takes_6583_days) {
  const Model model = load_model("cs336-gpt2-xl");
  Workload workload = workload_of(Phase::train);
  workload.batch = 1024;
  workload.tokens = 1024;
  const Estimate step = plain_estimate(model, resolve(model, workload), read_hardware("a100"), 0.5);
  EXPECT_EQ(step.type, ComputeType::float32);
  EXPECT_NEAR(step.headline, 1024.0 * 3 * 4'513'336'524'800, 1);
  const TrainingRun run = training_run(step, 400'000.0 * 1024 * 1024, {});
  EXPECT_EQ(run.steps, 400'000);
  EXPECT_NEAR(run.days(), 6583.6, 0.05);
  EXPECT_NEAR(step.mfu(), 0.5, 1e-12);
}

TEST(Estimate, parts_add_up_to_the_step_and_bounds_to_the_parts) {
  const Model model = load_model("gpt2");
  const Estimate step = estimate(model, resolved(model, Phase::train, 8, 1024), gpu_target, read_hardware("h200"));
  double sum = 0, bounds = 0;
  for (const TimeRow& row : step.rows) {
    sum += row.seconds();
    for (double bound : row.bound_by) bounds += bound;
  }
  EXPECT_NEAR(sum, step.seconds, 1e-9);
  EXPECT_NEAR(bounds, step.seconds, 1e-9);
  EXPECT_NEAR(step.stages[0] + step.stages[1] + step.stages[2], step.seconds, 1e-9);
  const auto has = [&](const char* name) {
    return std::any_of(step.rows.begin(), step.rows.end(), [&](const TimeRow& row) { return row.name == name; });
  };
  for (const char* part :
       {"embedding", "norms", "query, key, value", "attention", "attention output", "feed-forward up", "activation",
        "feed-forward down", "head", "loss", "gradients of biases", "optimizer"})
    EXPECT_TRUE(has(part)) << part;
  EXPECT_FALSE(has("other"));
}

// Headline FLOPs count every score, those that are computed only what blocks of queries see.
TEST(Estimate, utilisation_is_of_headline_and_of_computed_flops) {
  const Model model = load_model("gpt2");
  const Estimate step = estimate(model, resolved(model, Phase::train, 8, 1024), gpu_target, read_hardware("h200"));
  const double projections = 6.0 * 8 * 1024 * (12 * 12 * 768 * 768 + 50257 * 768);
  const double scores = 12.0 * 12 * 768 * 8 * 1024 * 1024;
  EXPECT_NEAR(step.headline, projections + scores, 1);
  // Blocks of 128 queries see 36 of 64 blocks of keys; the backward pass computes scores once more.
  EXPECT_NEAR(step.computed, projections + scores * (36.0 / 64) * 14 / 12, 1);
  EXPECT_NEAR(step.mfu(), step.headline / step.seconds / 989.4e12, 1e-12);
  EXPECT_NEAR(step.hfu(), step.computed / step.seconds / 989.4e12, 1e-12);
}

TEST(Estimate, recomputation_adds_to_what_is_computed_and_not_to_the_headline) {
  const Model model = load_model("gpt2");
  Workload workload = resolved(model, Phase::train, 8, 1024);
  const Estimate plain = estimate(model, workload, gpu_target, read_hardware("h200"));
  workload.recompute = Recompute::block;
  const Estimate again = estimate(model, workload, gpu_target, read_hardware("h200"));
  EXPECT_EQ(again.headline, plain.headline);
  // The blocks' forward pass again, but for the down-projection, a third of its weights, whose result nobody reads.
  const double projections = 2.0 * 8 * 1024 * 12 * 12 * 768 * 768, scores = 4.0 * 12 * 768 * 8 * 1024 * 1024;
  EXPECT_NEAR(again.computed - plain.computed, projections * 2 / 3 + scores * 36 / 64, 1);
  EXPECT_LT(again.mfu(), plain.mfu());
}

// A T4 multiplies float16 at 65 TFLOP/s and bfloat16, in which muon multiplies, as float32 at 8.1; an Xeon 8480
// float32, in which processors train, at 7.2 and bfloat16 at 114.7. MFU is of the network's type, HFU of each product's
// own, of which none is assumed to reach more than 75%.
TEST(Estimate, utilisation_is_of_the_peaks_of_the_types_that_are_multiplied) {
  const Model model = load_model("gpt2");
  Workload workload = resolved(model, Phase::train, 1, 64);
  workload.optimizer = Optimizer::muon;
  const auto is_of = [&](DType type, const char* device, const Target& target, double peak) {
    workload.precision.weights = workload.precision.activations = workload.precision.gradients = type;
    const Estimate step = estimate(model, workload, target, read_hardware(device));
    EXPECT_GT(step.computed, 2 * step.headline) << device;  // most products are muon's
    EXPECT_EQ(step.peak, peak) << device;
    EXPECT_GT(step.hfu(), step.mfu()) << device;
    EXPECT_LT(step.hfu(), 0.75) << device;
    return step;
  };
  is_of(DType::float16, "t4", gpu_target, 65e12);
  is_of(DType::float32, "xeon-8480", cpu_target, 7.168e12);
  const Estimate narrow = is_of(DType::bfloat16, "xeon-8480", cpu_target, 114.688e12);
  EXPECT_EQ(
      std::count(narrow.assumptions.begin(), narrow.assumptions.end(), "weights in bfloat16 are multiplied in float32"),
      0);
}

TEST(Estimate, micro_batches_go_through_forward_and_backward_and_the_optimizer_steps_once) {
  const Model model = load_model("gpt2");
  Workload workload = resolved(model, Phase::train, 8, 1024);
  const Estimate one = estimate(model, workload, gpu_target, read_hardware("h200"));
  workload.layout.micro_batches = 4;
  const Estimate four = estimate(model, workload, gpu_target, read_hardware("h200"));
  EXPECT_NEAR(four.stages[0], 4 * one.stages[0], 1e-9);
  EXPECT_NEAR(four.stages[1], 4 * one.stages[1], 1e-9);
  EXPECT_NEAR(four.stages[2], one.stages[2], 1e-9);
  EXPECT_EQ(four.tokens, 4 * one.tokens);
  EXPECT_EQ(four.headline, 4 * one.headline);
}

// The head is computed by the last stage alone: what all stages compute is what one device would.
TEST(Estimate, what_a_pipeline_computes_is_the_sum_of_its_stages) {
  const Model model = load_model("gpt2");
  Workload workload = resolved(model, Phase::train, 2, 1024);
  workload.layout.micro_batches = 4;
  const Estimate one = estimate(model, workload, gpu_target, read_hardware("h100"));
  for (const std::int64_t stages : {2, 4, 6}) {
    workload.layout.pipeline = stages;
    const Hardware hardware{read_hardware("h100").profile, stages};
    EXPECT_NEAR(estimate(model, workload, gpu_target, hardware).computed / one.computed, 1, 1e-12) << stages;
  }
}

// 80 GiB hold the 16.06 GB of the weights, and for each sequence 131,072 bytes for each of 4,096 tokens: 130 of them.
TEST(Throughput, ends_where_memory_is_full) {
  const Model model = load_model("llama-3-8b");
  const Throughput found =
      throughput(model, resolved(model, Phase::decode, 1, 1, 4095), gpu_target, read_hardware("h100"));
  EXPECT_EQ(found.largest, 130);
  EXPECT_FALSE(found.knee);
  ASSERT_EQ(found.points.size(), 9u);
  EXPECT_EQ(found.points[7].batch, 128);
  EXPECT_EQ(found.points[8].batch, 130);
  for (const BatchPoint& point : found.points) {
    EXPECT_EQ(point.bound, Bound::memory);
    EXPECT_LE(point.bytes, std::int64_t{80} << 30);
    EXPECT_NEAR(point.tokens_per_second * point.seconds, static_cast<double>(point.batch), 1e-6);
  }
}

// With little cache, a batch reads the weights once and computes for each sequence: 2·N FLOPs at 742 TFLOP/s take as
// long as 2·N bytes at 2.85 TB/s from about 260 sequences on.
TEST(Throughput, has_its_knee_where_computing_takes_as_long_as_reading_the_weights) {
  const Model model = load_model("llama-3-8b");
  const Throughput found =
      throughput(model, resolved(model, Phase::decode, 1, 1, 15), gpu_target, read_hardware("h100"));
  ASSERT_TRUE(found.knee);
  EXPECT_GT(*found.knee, 128);
  EXPECT_LT(*found.knee, 400);
}

TEST(Throughput, a_model_that_does_not_fit_says_what_it_needs) {
  const Model model = load_model("llama-3.1-405b");
  const Throughput found =
      throughput(model, resolved(model, Phase::decode, 1, 1, 15), gpu_target, read_hardware("h100"));
  EXPECT_EQ(found.largest, 0);
  EXPECT_TRUE(found.points.empty());
  EXPECT_GT(found.needed, 2 * 405'000'000'000);
}

TEST(TrainingRun, has_hours_energy_and_cost_of_all_devices) {
  Estimate step;
  step.hardware = read_hardware("h200:8");  // 700 W, 3.59 USD an hour
  step.seconds = 2;
  step.tokens = 1000;
  const TrainingRun run = training_run(step, 999'001, {});
  EXPECT_EQ(run.steps, 1000);  // the last is not full
  EXPECT_NEAR(run.device_hours, 8 * 2000.0 / 3600, 1e-9);
  EXPECT_NEAR(*run.kilowatt_hours, 0.7 * 8 * 2000.0 / 3600, 1e-9);
  EXPECT_NEAR(*run.usd, 3.59 * 8 * 2000.0 / 3600, 1e-9);
  EXPECT_EQ(run.price, "3.59 USD a device-hour (RunPod, rented by the hour without a commitment, 2026-03)");
  const TrainingRun given = training_run(step, 999'001, 2.0);
  EXPECT_NEAR(*given.usd, 2.0 * 8 * 2000.0 / 3600, 1e-9);
  EXPECT_EQ(given.price, "2 USD a device-hour, as given");
  step.hardware = read_hardware("apple-m1");
  EXPECT_FALSE(training_run(step, 1000, {}).usd || training_run(step, 1000, {}).kilowatt_hours);
}

TEST(Duration, has_the_unit_that_people_would_use) {
  EXPECT_EQ(duration(12.34e-6), "12.3 µs");
  EXPECT_EQ(duration(1.2345e-6), "1.23 µs");
  EXPECT_EQ(duration(0.10936), "109.4 ms");
  EXPECT_EQ(duration(1.2345), "1.23 s");
  EXPECT_EQ(duration(1800), "30.0 min");
  EXPECT_EQ(duration(3600 * 12.5), "12.5 h");
  EXPECT_EQ(duration(6583.556 * 86400), "6,583.6 days");
}

RooflinePicture picture() {
  return {"a network",
          {{"peak", 1000e12, 5e12}, {"reached", 800e12, 4e12}},
          {{"norms", 0.5, 1.5e12, 0.04}, {"head", 700, 600e12, 0.96}}};
}

TEST(RooflinePicture, has_points_by_letters_and_stays_within_its_width) {
  for (const int width : {40, 72, 100}) {
    const std::string text = roofline_text(picture(), width);
    for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), width) << line;
    EXPECT_NE(text.find("a norms 4.0%"), std::string::npos);
    EXPECT_NE(text.find("B head 96.0%"), std::string::npos);
  }
}

TEST(RooflinePicture, is_drawn_with_circles_whose_areas_are_shares) {
  const std::string svg = roofline_svg(picture());
  EXPECT_NE(svg.find("<title>head: 96.0% of the time, 600 TFLOP/s at 700 FLOP per byte</title>"), std::string::npos);
  EXPECT_NE(svg.find("r=\"20.0\""), std::string::npos);
  EXPECT_NE(svg.find("r=\"4.1\""), std::string::npos);  // 20 · √(0.04 / 0.96)
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST_F(ProgramTest, time_reports_a_step_of_training) {
  const Json report =
      json({"time", "gpt2", "--on", "h200", "--phase", "train", "--batch", "64", "--tokens-total", "1B"});
  EXPECT_EQ(report.at("schema"), "reckon.time/1");
  // Our own measurement on an H200: 533,000 tokens/s (docs/predicting.md).
  EXPECT_NEAR(report.at("tokens_per_second").get<double>() / 533e3, 1, 0.15);
  EXPECT_EQ(report.at("tokens"), 65536);
  EXPECT_TRUE(report.at("flops").at("headline").is_number_integer());
  EXPECT_EQ(report.at("training").at("steps"), 15259);  // 10⁹ / 65,536, rounded up
  double share = 0;
  for (const Json& part : report.at("parts")) share += part.at("share").get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(report.at("assumptions").size(), 2u);
}

// An H100 has 50 GB/s between nodes of 8.
TEST_F(ProgramTest, time_says_which_attention_and_which_network_it_takes) {
  const auto with = [](std::vector<std::string> asked, const std::vector<std::string>& more) {
    asked.insert(asked.end(), more.begin(), more.end());
    return asked;
  };
  const auto text = [&](const std::vector<std::string>& asked) {
    std::string line;  // as if it were not broken to fit the terminal
    for (const char c : run(asked).out)
      if (c != '\n' && c != ' ')
        line += c;
      else if (!line.ends_with(' '))
        line += ' ';
    return line;
  };
  const std::vector<std::string> asked{"time", "gpt2", "--phase", "train", "--on"};
  const Json report = json(with(asked, {"h100:16"}));
  EXPECT_EQ(report.at("workload").at("attention"), "streamed");
  EXPECT_EQ(report.at("hardware").at("network"), 50'000'000'000);
  EXPECT_NE(text(with(asked, {"h100:16"})).find("· attention streamed · adamw"), std::string::npos);
  EXPECT_NE(text(with(asked, {"h100:16"})).find(" each, 50 GB/s between nodes"), std::string::npos);
  const std::vector<std::string> other = with(asked, {"h100:16", "--attention", "materialised", "--network", "12.5"});
  EXPECT_EQ(json(other).at("workload").at("attention"), "materialised");
  EXPECT_EQ(json(other).at("hardware").at("network"), 12'500'000'000);
  EXPECT_NE(text(other).find("· attention materialised · adamw"), std::string::npos);
  EXPECT_NE(text(other).find(", 12.5 GB/s between nodes"), std::string::npos) << text(other);
  EXPECT_FALSE(json(with(asked, {"h100:8"})).at("hardware").contains("network"));
  EXPECT_EQ(text(with(asked, {"h100:8"})).find("between nodes"), std::string::npos);
  const Json plain = json(with(asked, {"h100:16", "--efficiency", "0.5"}));  // neither is asked for
  EXPECT_FALSE(plain.at("workload").contains("attention"));
  EXPECT_FALSE(plain.at("hardware").contains("network"));
}

// 4,096 keys of 131,072 are an eighth of the scores that causality lets through.
TEST_F(ProgramTest, time_says_why_mfu_is_more_than_all_of_a_peak) {
  const std::string why = "nobody computes: hence more than 100%.";
  const auto says = [&](const char* model, const char* tokens) {
    return run({"time", model, "--on", "h100", "--phase", "prefill", "--tokens", tokens, "--format", "markdown"}).out;
  };
  EXPECT_NE(says("mistral-7b-v0.1", "128k").find(why), std::string::npos);
  EXPECT_EQ(says("mistral-7b-v0.1", "4k").find(why), std::string::npos);
}

TEST_F(ProgramTest, time_draws_within_the_width_of_a_terminal) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"time", "llama-3-8b", "--on", "h100", "--context", "4k", "--batches", "--roofline"},
        {"time", "mixtral-8x7b", "--on", "h100:8", "--phase", "train", "--tokens-total", "1T", "--price", "2"}}) {
    const Result outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const std::string& line : lines_of(outcome.out)) EXPECT_LE(display_width(line), 100) << line;
  }
}

// 10 devices at 3.60 USD an hour are 1 cent a second, for 1,000 tokens.
TEST_F(ProgramTest, a_million_tokens_cost_what_devices_cost_meanwhile) {
  EXPECT_DOUBLE_EQ(usd_per_million({3.6, ""}, 10, 1000), 10);
  const Json decode = json({"time", "llama-3-8b", "--on", "h100:4", "--batch", "8", "--price", "7.2"});
  EXPECT_DOUBLE_EQ(decode.at("cost").at("usd_per_million_tokens"),
                   4 * 7.2 / 3600 * 1e6 / decode.at("tokens_per_second").get<double>());
  EXPECT_EQ(decode.at("cost").at("price"), "7.2 USD a device-hour, as given");
  const std::string text = run({"time", "llama-3-8b", "--on", "h100", "--batch", "8"}).out;
  EXPECT_NE(text.find("USD for a million output tokens at"), std::string::npos) << text;
  // A whole training has a cost of its own.
  EXPECT_FALSE(json({"time", "gpt2", "--on", "h100", "--phase", "train", "--steps", "9"}).contains("cost"));
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"plan", "llama-3-8b", "--on", "h100:4", "--phase", "serve"},
        std::vector<std::string>{"plan", "gpt2", "--on", "h100:4", "--batch-tokens", "64k"}}) {
    std::vector<std::string> priced = asked;
    priced.insert(priced.end(), {"--price", "7.2"});
    const Json plan = json(priced);
    EXPECT_EQ(plan.at("price"), "7.2 USD a device-hour, as given");
    for (const Json& one : plan.at("plans"))
      EXPECT_DOUBLE_EQ(one.at("usd_per_million_tokens"),
                       4 * 7.2 / 3600 * 1e6 / one.at("tokens_per_second").get<double>());
    EXPECT_NE(run(priced).out.find("tokens of the first cost "), std::string::npos);
  }
}

TEST_F(ProgramTest, time_says_small_amounts_as_they_are) {
  const std::string text = run({"time", "gpt2", "--on", "mi325x", "--phase", "train", "--steps", "10"}).out;
  EXPECT_NE(text.find("1 sequence of 1,024 new tokens at a time"), std::string::npos) << text;
  EXPECT_NE(text.find("less than 0.01 kWh: all the while"), std::string::npos) << text;  // 10 steps of 10 ms at 1 kW
  EXPECT_EQ(dollars(0.00001), "less than 0.0001 USD");
  EXPECT_EQ(dollars(0.01234), "0.0123 USD");
  EXPECT_EQ(dollars(99.9), "99.9 USD");
  EXPECT_EQ(dollars(12345.6), "12,346 USD");
}

TEST_F(ProgramTest, time_refuses_what_does_not_go_together) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& sentence) {
    arguments.insert(arguments.begin(), {"time", "gpt2"});
    const Result outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << sentence;
    EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  };
  refused({}, "no device is named; expected --on PROFILE[:N], such as --on h100");
  refused({"--on", "h10"}, "there is no hardware 'h10' (did you mean h100?)");
  refused({"--on", "h100", "--steps", "5"}, "--steps is of a training; expected --phase train");
  refused({"--on", "h100", "--phase", "train", "--steps", "5", "--tokens-total", "5"},
          "--tokens-total and --steps both say how long to train; expected one of them");
  refused({"--on", "h100", "--phase", "train", "--steps", "5", "--price", "0"},
          "--price is 0; expected a number above 0, up to 10000");
  refused({"--on", "h100", "--efficiency", "1.5"}, "--efficiency is 1.5; expected a number above 0, up to 1");
  refused({"--on", "h100", "--efficiency", "0.5", "--roofline"},
          "expected no --batches, --roofline, --svg or --network with it");
  refused({"--on", "h100:16", "--efficiency", "0.5", "--network", "25"},
          "expected no --batches, --roofline, --svg or --network with it");
  refused({"--on", "h100", "--phase", "train", "--steps", "-3"}, "--steps is '-3'");
  refused({"--on", "h100", "--phase", "train", "--pipeline", "2", "--stage", "1"},
          "--stage is given, but a step takes");
}

}  // namespace
}  // namespace reckon
