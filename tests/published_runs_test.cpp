// Utilisation and compute of published runs, off the program and under the conventions that they were published in.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include "count/rules.h"
#include "count/utilisation.h"
#include "model/modify.h"
#include "model/presets.h"
#include "model/sublayers.h"
#include "program_fixture.h"
#include "small_models.h"

namespace reckon {
namespace {

double share(const std::vector<Utilisation>& all, const std::string& name, bool hardware) {
  for (const Utilisation& one : all)
    if (one.name == name && one.hardware == hardware) return 100 * one.share;
  throw Error("no utilisation " + name);
}

Workload training(std::int64_t batch, std::int64_t tokens) {
  Workload workload = workload_of(Phase::train);
  workload.batch = batch;
  workload.tokens = tokens;
  return workload;
}

// ---- PaLM 540B (Chowdhery et al. 2022, arXiv 2204.02311, section 2 and table 1): 118 layers of 48 heads of 256 with
// one key and value head, d 18,432, SwiGLU of 4·d, attention and feed-forward beside each other, no biases, 256,000
// tokens, input and output embedding one.
Model palm() {
  Model model = testing_models::small_llama("llama");
  model.name = "palm-540b";
  model.d_model = model.d_embedding = 18432;
  model.vocab_size = 256000;
  model.context = 2048;
  model.head.tied = true;
  Layer layer = model.layers[0];
  Attention& attention = *find<Attention>(layer);
  attention.n_heads = 48;
  attention.n_kv_heads = 1;
  attention.d_head = attention.d_value = 256;
  feed_forward_of(layer)->d_ff = 4 * 18432;
  testing_models::share_norm(layer);
  model.layers.assign(118, layer);
  return model;
}

TEST(PublishedRuns, PalmHasItsParameters) {
  EXPECT_NEAR(static_cast<double>(count_parameters(palm())) / 1e9, 540.35, 0.01);
}

// Appendix B: 238.3k tokens/s on 6,144 chips of 275 TFLOP/s are 46.2% with attention and 45.7% without.
TEST(PublishedRuns, PalmsUtilisationIsThatOfItsAppendixB) {
  const double tokens = 2048.0 * 2048;  // a batch of 4M
  const auto all = utilisations(palm(), training(2048, 2048), gpu_target, tokens / 238.3e3, 6144 * 275e12);
  EXPECT_NEAR(share(all, "6nd", false), 45.7, 0.05);
  EXPECT_NEAR(share(all, "palm", false), 46.2, 0.05);
  // The program multiplies by the embedding once, as the head, and knows that norms are no products.
  EXPECT_NEAR(share(all, "program", false), 46.2, 0.05);
}

// ---- Llama 3 405B (arXiv 2407.21783, sections 3 and 3.3.2): 15.6T tokens, 3.8e25 FLOPs; table 4.
TEST(PublishedRuns, Llama3sComputeIs6NDWithEmbeddingsAndTheExactOneIsBesideIt) {
  const Model model = load_model("llama-3.1-405b");
  const Rule rule = convention_flops(Convention::six_nd, model, count(model, training(1, 8192)));
  const double steps = 15.6e12 / 8192;
  EXPECT_NEAR(rule.estimate * steps / 1e25, 3.8, 0.005);
  EXPECT_NEAR(rule.exact.value() * steps / 1e25, 4.10, 0.005);
}

// Table 4 gives FLOP/s of a device and MFU. Its tokens/s are not given: they are those of 6·N·D, under which section 3
// counts. What the program multiplies is 4.10/3.80 of that at 8,192 tokens (the test above).
TEST_F(ProgramTest, Llama3sUtilisationFollowsFromItsRate) {
  struct Run {
    std::int64_t devices, context;
    double flops, mfu;
  };
  for (const Run& run : {Run{8192, 8192, 430e12, 43}, Run{16384, 8192, 400e12, 41}, Run{16384, 131072, 380e12, 38}}) {
    const double devices = static_cast<double>(run.devices);
    const auto rate = static_cast<std::int64_t>(run.flops * devices / (6 * 405.85e9));
    const Json report = json({"time", "llama-3.1-405b", "--on", "h100:" + std::to_string(run.devices), "--phase",
                              "train", "--batch", std::to_string((1 << 24) / run.context), "--tokens",
                              std::to_string(run.context), "--rate", std::to_string(rate)});
    double published = 0, program = 0;
    for (const Json& one : report.at("utilisation")) {
      if (one.at("kind") != "mfu") continue;
      if (one.at("name") == "6nd") published = 100 * one.at("share").get<double>();
      if (one.at("name") == "program") program = 100 * one.at("share").get<double>();
    }
    EXPECT_NEAR(published, run.mfu, 1) << run.devices << " " << run.context;
    if (run.context == 8192) {
      EXPECT_NEAR(program / published, 4.10 / 3.80, 0.003);
    }
    // Scores alone are more than a third of the rest at 131,072.
    if (run.context == 131072) {
      EXPECT_GT(program, 1.3 * published);
    }
  }
}

// ---- GPT-3 175B (Brown et al. 2020, arXiv 2005.14165, table D.1): 3.64e3 PF-days for 300B tokens.
TEST(PublishedRuns, Gpt3sComputeIs6NDAndTheExactOneIsBesideIt) {
  const Model model = load_model("gpt3-175b");
  const Rule rule = convention_flops(Convention::six_nd, model, count(model, training(1, 2048)));
  const double days = 300e9 / 2048 / (1e15 * 86400);
  EXPECT_NEAR(rule.estimate * days, 3.64e3, 5);
  EXPECT_NEAR(rule.exact.value() * days, 3.74e3, 5);
}

// ---- Korthikanti et al. 2022 (arXiv 2205.05198), table 5: A100s of 312 TFLOP/s, 2,048 tokens, a vocabulary of 51,200.
struct MegatronRun {
  const char* name;
  std::int64_t heads, d_model, layers, devices, batch;
  double seconds;
  double mfu, hfu;  // %, published
  double own;       // HFU of what selective recomputation adds: scores and mixing once more, 4·B·L·s²·h
};
constexpr MegatronRun megatron_runs[] = {
    {"22B", 64, 6144, 48, 8, 4, 1.10, 41.5, 43.7, 42.4},
    {"175B", 96, 12288, 96, 8 * 8, 64, 13.75, 51.4, 52.8, 51.9},
    {"530B", 128, 20480, 105, 8 * 35, 280, 37.83, 56.0, 57.0, 56.4},
    {"1T", 160, 25600, 128, 8 * 64, 512, 71.49, 56.3, 57.0, 56.5},
};

TEST(PublishedRuns, MegatronsUtilisationIsThatOfTheirTable5) {
  for (const MegatronRun& run : megatron_runs) {
    SCOPED_TRACE(run.name);
    Changes changes;
    changes.d_model = run.d_model;
    changes.heads = run.heads;
    changes.layers = run.layers;
    changes.vocab = 51200;
    changes.context = 2048;
    const Model model = modify(load_model("gpt2"), changes);
    Workload workload = training(run.batch, 2048);
    workload.recompute = Recompute::selective;
    const auto all =
        utilisations(model, workload, megatron_target, run.seconds, static_cast<double>(run.devices) * 312e12);
    EXPECT_NEAR(share(all, "program", false), run.mfu, 0.2);
    EXPECT_NEAR(share(all, "megatron", false), run.mfu, 0.2);
    EXPECT_NEAR(share(all, "megatron", true), run.hfu, 0.2);
    EXPECT_NEAR(share(all, "program", true), run.own, 0.1);
  }
}

// Equation 3 of Narayanan et al. 2021: the forward pass of the blocks once more. The program is below it: the last
// product of a block is not needed again.
TEST(PublishedRuns, MegatronsFormulaWithBlocksComputedAgainIsAForwardPassOfThemMore) {
  Workload workload = training(2, 1024);
  const Model model = load_model("gpt2");
  const Ledger plain = count(model, workload);
  workload.recompute = Recompute::block;
  const Rule rule = megatron_hardware_flops(model, count(model, workload));
  const double head = 2.0 * 2 * 1024 * 768 * 50257;
  const double blocks = static_cast<double>(plain.forward.matmul) - head;
  EXPECT_NEAR(rule.estimate / (static_cast<double>(plain.total().matmul) + blocks), 1, 1e-12);
  EXPECT_GT(rule.error().value(), 0);
}

// What a device runs may be less than what is written: blocks of scores that causality hides are skipped.
TEST(Utilisation, OfHardwareIsWhatTheTargetRuns) {
  const Model model = load_model("gpt2");
  const auto all = utilisations(model, training(8, 1024), gpu_target, 1.0, 1e15);
  EXPECT_LT(share(all, "program, causal", false), share(all, "program", false));
  EXPECT_GT(share(all, "program", true), share(all, "program, causal", false));
}

}  // namespace
}  // namespace reckon
