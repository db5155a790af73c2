// Memory, predicted: what is held adds up, published figures come out, and what is said to fit does.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "compile/compile.h"
#include "files/machine_memory.h"
#include "files/numbers.h"
#include "gguf_of_folder.h"
#include "memory/breakdown.h"
#include "model/presets.h"
#include "phases.h"
#include "program_fixture.h"
#include "time/fit.h"

namespace reckon {
namespace {

TEST(Breakdown, AddsUpToThePlanOfEveryPresetInEveryPhase) {
  for (const Preset& preset : presets()) {
    const Model model = load_model(std::string(preset.name));
    for (Phase phase : phases_of(model)) {
      for (const Target& target : {cpu_target, gpu_target}) {
        SCOPED_TRACE(std::string(preset.name) + " on " + std::string(target.name));
        const Compiled compiled = compile(model, workload_of(phase), target);
        const Plan& plan = compiled.plan;
        const Breakdown held = break_down(compiled.lowered, plan);
        std::int64_t listed = 0, tables = 0, at_peak = 0;
        for (const HeldTensor& tensor : held.tensors) listed += tensor.bytes;
        for (std::size_t i = 0; i < plan.alive.size(); ++i) {
          const Tensor& tensor = compiled.lowered.tensors[i];
          const auto size = static_cast<std::int64_t>(bytes(tensor));
          at_peak += plan.alive[i] * padded(size, plan.alignment);
          if (tensor.kind == TensorKind::step) tables += size * compiled.lowered.count(tensor.repeat);
        }
        EXPECT_EQ(at_peak, plan.peak);
        EXPECT_EQ(listed, held.total());
        EXPECT_EQ(held.total(),
                  plan.weights + plan.gradients + plan.optimizer + plan.cache + plan.constants + tables + plan.arena);
        EXPECT_EQ(held.of(Held::activations) + held.of(Held::temporary), plan.arena);
      }
    }
  }
}

// Two blocks of width 64 with 4 heads of 16: 8 sequences of 32 tokens have a residual stream of 8·32·64 = 16,384
// floats, and queries, keys and values of three times as many in each block.
TEST(Breakdown, OfMiniGptHasTheSizesOfItsTensors) {
  Workload workload = workload_of(Phase::forward);
  workload.batch = 8;
  workload.tokens = 32;
  const Compiled compiled = compile(load_model("mini-gpt"), workload, cpu_target);
  const Program logical = logical_program(load_model("mini-gpt"), workload);
  std::int64_t residual = 0, queries_keys_values = 0;
  for (const Tensor& tensor : logical.tensors) {
    if (tensor.kind != TensorKind::activation || tensor.storage != no_tensor) continue;
    const Role role = tensor.scope.role;
    if (role.block == Block::attention && role.part == Part::residual) residual = tensor.shape.elements();
    const bool projected = role.part == Part::query || role.part == Part::key || role.part == Part::value;
    if (role.block == Block::attention && projected) queries_keys_values += tensor.shape.elements();
  }
  EXPECT_EQ(residual, 16'384);
  EXPECT_EQ(queries_keys_values, 49'152);
  const Breakdown held = break_down(compiled.lowered, compiled.plan);
  EXPECT_EQ(held.of(Held::weights), 525'568);
  EXPECT_EQ(held.parameters, 131'392);
  EXPECT_LT(held.total(), 2 << 20);
}

// Stages of a pipeline have micro-batches in flight: the first of four as many as there are stages, the last one.
TEST(Breakdown, OfAPipelinesRankHasTheActivationsOfAllMicroBatchesInFlight) {
  const Model model = load_model("gpt2");
  Workload workload = workload_of(Phase::train);
  workload.layout = {.pipeline = 4, .micro_batches = 8};
  for (std::int64_t stage : {0, 3}) {
    workload.layout.stage = stage;
    const Compiled compiled = compile(model, workload, gpu_target);
    const Plan& plan = compiled.plan;
    const Breakdown held = break_down(compiled.lowered, plan);
    EXPECT_EQ(held.of(Held::activations) + held.of(Held::temporary), plan.arena + plan.saved * (stage == 0 ? 3 : 0));
    EXPECT_EQ(held.total(), rank_bytes(plan, workload.layout));
  }
}

TEST(Course, RunsThroughEveryOpAndReachesThePeak) {
  const Compiled compiled = compile(load_model("gpt2"), workload_of(Phase::train), gpu_target);
  const Course all = course_of(compiled.lowered, compiled.plan, 1000);
  std::int64_t ops = 0;
  for (const Op& op : compiled.lowered.ops) ops += compiled.lowered.count(op.repeat);
  EXPECT_EQ(all.ops, ops);
  EXPECT_EQ(std::ssize(all.points), ops);
  for (std::size_t i = 0; i < all.points.size(); ++i) ASSERT_EQ(all.points[i].at, static_cast<std::int64_t>(i));
  const auto by_bytes = [](const LivePoint& a, const LivePoint& b) { return a.bytes < b.bytes; };
  EXPECT_EQ(std::max_element(all.points.begin(), all.points.end(), by_bytes)->bytes, compiled.plan.peak);
  // With fewer iterations the same figures at the same places.
  const Course few = course_of(compiled.lowered, compiled.plan, 5);
  EXPECT_EQ(few.ops, ops);
  EXPECT_LT(few.points.size(), all.points.size());
  for (const LivePoint& point : few.points)
    ASSERT_EQ(point.bytes, all.points[static_cast<std::size_t>(point.at)].bytes) << point.at;
}

TEST(Fit, IsTheLargestBatchAndTheLongestContextThatFit) {
  constexpr std::int64_t room = std::int64_t{24} << 30;
  for (Phase phase : {Phase::decode, Phase::prefill, Phase::train}) {
    const Model model = load_model(phase == Phase::train ? "smollm2-135m" : "llama-3.2-3b");
    Workload workload = workload_of(phase);
    if (phase == Phase::decode) {
      workload.past = 8191;
    } else {
      workload.tokens = 1024;
    }
    const std::int64_t batch = largest_batch(model, workload, gpu_target, room).value;
    ASSERT_GT(batch, 0);
    workload.batch = batch;
    EXPECT_LE(bytes_needed(model, workload, gpu_target), room);
    workload.batch = batch + 1;
    EXPECT_GT(bytes_needed(model, workload, gpu_target), room);
    workload.batch = 1;
    const std::int64_t context = largest_context(model, workload, gpu_target, room).value;
    ASSERT_GT(context, 0);
    EXPECT_LE(bytes_needed(model, with_context(workload, context), gpu_target), room);
    EXPECT_GT(bytes_needed(model, with_context(workload, context + 1), gpu_target), room);
  }
}

// Where an arena cannot be laid out within its peak, room for the peak is not enough, and what fits is still found.
TEST(Fit, IsOfArenasAsTheyAreLaidOut) {
  const Model model = load_model("mimo-v2-flash");
  Workload workload = workload_of(Phase::decode);
  workload.batch = 16;
  workload.tokens = 2;
  workload.past = 64;
  workload.layout = {.tensor = 8, .pipeline = 2};
  const std::int64_t peak = bytes_needed(model, workload, gpu_target, Places::none);
  ASSERT_GT(bytes_needed(model, workload, gpu_target), peak);
  const std::int64_t batch = largest_batch(model, workload, gpu_target, peak).value;
  EXPECT_LT(batch, 16);
  EXPECT_GT(batch, 8);  // a sequence of the 16 is less than an eighth of what is not weights
  workload.batch = batch;
  EXPECT_LE(bytes_needed(model, workload, gpu_target), peak);
}

// A processor with terabytes has room for more than there are numbers for.
std::string refusal(const Model& model, const RunOnCpu& run, std::int64_t memory, std::int64_t beside = 0) {
  try {
    check_fits(model, run, memory, beside);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Fit, RefusesAModelThatTakesMoreThanThereIsAndSaysWhichEncodingWouldNot) {
  const Model gpt2 = load_model("gpt2");
  const RunOnCpu run{nullptr, 1024};
  // Weights and cache, in float32; the rest is a step's activations and logits.
  const std::int64_t weights = 4LL * 124'439'808, cache = 4LL * 2 * 12 * 768 * 1024, needed = bytes_to_run(gpt2, run);
  EXPECT_GT(needed, weights + cache);
  EXPECT_LT(needed, weights + cache + (1 << 20));
  EXPECT_EQ(refusal(gpt2, run, needed), "");
  EXPECT_NE(refusal(gpt2, run, needed - 1).find("gpt2 takes " + binary_bytes(needed)), std::string::npos)
      << refusal(gpt2, run, needed - 1);
  EXPECT_NE(refusal(gpt2, run, needed - 1).find("in bfloat16 it would take"), std::string::npos);
  // So are copies that kernels keep of the weights; another encoding is a GGUF file's, which is mapped.
  const RunOnCpu twice{nullptr, 1024, DType::float32, weights};
  EXPECT_EQ(bytes_to_run(gpt2, twice), needed + weights);
  EXPECT_NE(refusal(gpt2, twice, needed).find("; in bfloat16 it would take"), std::string::npos);
  // What another model takes is not there for this one.
  EXPECT_EQ(refusal(gpt2, run, 2 * needed, needed), "");
  EXPECT_NE(refusal(gpt2, run, 2 * needed - 1, needed)
                .find("but there are " + binary_bytes(needed - 1) + " left beside the " + binary_bytes(needed) +
                      " of the other model; in bfloat16 it would take"),
            std::string::npos);
  EXPECT_NE(refusal(gpt2, run, needed, 2 * needed).find("but there are 0 B left"), std::string::npos)
      << refusal(gpt2, run, needed, 2 * needed);
  // 123,532,032 elements of matrices in q5_k: 84,928,272 bytes; with positions and vectors in float32 88,559,376. In
  // q6_k they would be 101 MB alone.
  const std::string found = refusal(gpt2, {nullptr, 1}, 100'000'000);
  EXPECT_NE(found.find("in q5_k it would take 84."), std::string::npos) << found;
  const std::string none = refusal(gpt2, {nullptr, 1}, 1'000'000);
  EXPECT_NE(none.find("but there are 976.56 KiB left; even in q2_k it would take"), std::string::npos) << none;
}

TEST(MachineMemory, IsThereAndNotAllOfItIsTaken) {
  EXPECT_GT(available_memory(), std::int64_t{1} << 20);
  EXPECT_LE(available_memory(), machine_memory());
}

TEST(Fit, EndsWhereNumbersDo) {
  Workload workload = workload_of(Phase::train);
  const Largest context = largest_context(load_model("mini-gpt"), workload, cpu_target, std::int64_t{1} << 62);
  EXPECT_TRUE(context.all);
  EXPECT_GT(context.value, 1 << 20);
}

// Context ranks have two pieces of a sequence each.
TEST(Fit, AsksOnlyForLengthsThatALayoutDivides) {
  Workload workload = workload_of(Phase::train);
  workload.layout = {.context = 2};
  const Largest context = largest_context(load_model("smollm2-135m"), workload, gpu_target, std::int64_t{24} << 30);
  EXPECT_GT(context.value, 0);
  EXPECT_EQ(context.value % 4, 0);
}

class MemoryCommand : public ProgramTest {
 protected:
  std::int64_t held(const std::vector<std::string>& arguments, const char* kind) const {
    return json(arguments).at("memory").at(kind).get<std::int64_t>();
  }
  // Sentences as they were before they were broken into lines.
  static std::string text_of_lines(std::string lines) {
    std::replace(lines.begin(), lines.end(), '\n', ' ');
    return lines;
  }
};

// Llama-3-8B: 32 layers × 2 × 8 heads × 128 × 2 B. DeepSeek-V3: 61 layers × (512 + 64) × 2 B (its report, 2.1.1).
// mistral-7b-v0.1: as Llama-3-8B, a window of 4,096 (Jiang et al. 2023). gpt2: 12 layers × 2 × 768 × 2 B.
TEST_F(MemoryCommand, GivesTheCacheOfATokenAsPublished) {
  const auto cache = [&](const char* model, const char* context) {
    return json({"memory", model, "--phase", "decode", "--context", context});
  };
  const Json llama = cache("llama-3-8b", "8k"), deepseek = cache("deepseek-v3", "4k"), gpt2 = cache("gpt2", "1k");
  EXPECT_EQ(llama.at("cache").at("bytes_per_token"), 131'072);
  EXPECT_EQ(llama.at("memory").at("cache"), std::int64_t{131'072} * 8192);
  EXPECT_EQ(deepseek.at("cache").at("bytes_per_token"), 70'272);
  EXPECT_EQ(deepseek.at("memory").at("cache"), std::int64_t{70'272} * 4096);
  EXPECT_EQ(gpt2.at("cache").at("bytes_per_token"), 36'864);
  for (const char* context : {"8k", "32k"}) {
    const Json mistral = cache("mistral-7b-v0.1", context);
    EXPECT_EQ(mistral.at("cache").at("bytes_per_token"), 131'072);
    EXPECT_EQ(mistral.at("cache").at("bytes_per_token_at_length"), 0);
    EXPECT_EQ(mistral.at("memory").at("cache"), 131'072 * 4096);
  }
  const std::vector<std::string> at_8k{"memory", "llama-3-8b", "--context", "8k"};
  std::vector<std::string> narrow = at_8k;
  narrow.insert(narrow.end(), {"--cache", "float8_e4m3"});
  EXPECT_EQ(held(narrow, "cache") * 2, held(at_8k, "cache"));
  narrow.back() = "int8";
  EXPECT_EQ(held(narrow, "cache") * 2, held(at_8k, "cache"));
}

// Meta's model card has 8.03B parameters: 8,030,261,248 · 2 B = 14.96 GiB.
TEST_F(MemoryCommand, GivesTheWeightsOfLlamaInBfloat16AndQuantised) {
  EXPECT_EQ(held({"memory", "llama-3.1-8b"}, "weights"), 16'060'522'496);
  EXPECT_NE(run({"memory", "llama-3.1-8b"}).out.find("14.96 GiB"), std::string::npos);
  // The layers' matrices: 4,096 × (4,096 + 1,024 + 1,024 + 4,096) and 3 × 4,096 × 14,336, in 32 layers.
  constexpr std::int64_t matrices = 32 * (std::int64_t{4096} * 10'240 + std::int64_t{3} * 4096 * 14'336);
  constexpr std::int64_t rest = (8'030'261'248 - matrices) * 2;
  EXPECT_EQ(held({"memory", "llama-3.1-8b", "--precision", "int8"}, "weights"), matrices + rest);
  EXPECT_EQ(held({"memory", "llama-3.1-8b", "--precision", "float8_e4m3"}, "weights"), matrices + rest);
  EXPECT_EQ(held({"memory", "llama-3.1-8b", "--precision", "int4"}, "weights"), matrices / 2 + rest);
  EXPECT_EQ(held({"memory", "llama-3.1-8b", "--precision", "nf4"}, "weights"), matrices / 64 * 36 + rest);
}

TEST_F(MemoryCommand, SaysWhatItsFiguresRestOn) {
  const auto notes = [&](std::vector<std::string> asked) {
    const Json report = json(asked);
    return report.contains("notes") ? report.at("notes").dump() : "";
  };
  const auto scales = [](const std::string& of) { return "\"Scales of " + of + " are not counted.\""; };
  for (const auto& [more, of] : std::initializer_list<std::pair<std::vector<std::string>, const char*>>{
           {{"--precision", "int4"}, "weights in int4"},
           {{"--precision", "float8_e4m3"}, "weights in float8_e4m3"},
           {{"--cache", "int8"}, "the cache in int8"},
           {{"--cache", "int4"}, "the cache in int4"},
           {{"--precision", "int4", "--cache", "int8"}, "weights in int4 and of the cache in int8"}}) {
    std::vector<std::string> asked{"memory", "llama-3-8b"};
    asked.insert(asked.end(), more.begin(), more.end());
    EXPECT_NE(notes(asked).find(scales(of)), std::string::npos) << notes(asked);
  }
  // q8_0 and nf4 have their scales in their blocks.
  for (const char* cache : {"q8_0", "bfloat16"})
    EXPECT_EQ(notes({"memory", "llama-3-8b", "--cache", cache}).find("cales"), std::string::npos) << cache;
  EXPECT_EQ(notes({"memory", "llama-3-8b", "--precision", "nf4"}).find("not counted"), std::string::npos);
  const std::vector<std::string> mixture{"memory", "mixtral-8x7b", "--phase", "train", "--data", "8", "--expert", "8"};
  EXPECT_NE(notes(mixture).find("Tokens are taken to choose experts evenly"), std::string::npos) << notes(mixture);
  EXPECT_EQ(notes({"memory", "mixtral-8x7b", "--phase", "train"}).find("evenly"),
            std::string::npos);  // all on one rank
}

TEST_F(MemoryCommand, SaysOfARangeWhatItsFiguresRestOn) {
  const std::vector<std::string> narrow{"memory", "llama-3-8b", "--precision", "int4", "--cache",
                                        "int8",   "--batch",    "1..4",        "--on", "rtx-4090"};
  const std::string scales = "Scales of weights in int4 and of the cache in int8 are not counted.";
  const std::string matrices =
      "The layers' matrices are in int4, embeddings, head, norms, routers and biases in bfloat16.";
  const Json report = json(narrow);
  EXPECT_EQ(report.at("notes"), (Json{matrices, scales}));
  EXPECT_EQ(report.at("workload").at("types"),
            (Json{{"weights", "int4"}, {"activations", "bfloat16"}, {"cache", "int8"}}));
  EXPECT_EQ(report.at("workload").at("target"), "gpu");
  const std::string text = text_of_lines(run(narrow).out);
  for (const std::string& part :  // the batch is what varies
       {std::string("decode · 1 token after 8,191 · gpu target · int4 · cache in int8 · attention streamed "), scales})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const std::vector<std::string> mixture{"memory",  "mixtral-8x7b", "--tokens", "1k",     "--phase",
                                         "train",   "--expert",     "8",        "--data", "8",
                                         "--batch", "1..2"};
  EXPECT_EQ(json(mixture).at("notes"),
            (Json{"Tokens are taken to choose experts evenly: a rank whose experts get more rows needs more.",
                  "Of one rank of the layout."}));
  EXPECT_NE(run(mixture).out.find("training step · 1,024 tokens · every logit"), std::string::npos);
}

// The fullest stage is each point's own, and so is how many parameters there are: neither is said of all.
TEST_F(MemoryCommand, SaysOfARangeOnlyWhatHoldsOfAllItsPoints) {
  const std::vector<std::string> piped{"memory",          "llama-3-8b", "--tokens", "1k",     "--phase",
                                       "train",           "--pipeline", "4",        "--lora", "8",
                                       "--micro-batches", "8",          "--layers", "16..32"};
  const Json fullest = json(piped);
  EXPECT_EQ(fullest.at("notes"),
            (Json{"Only adapters are trained; all other parameters are frozen.",
                  "Of one rank of the pipeline's fullest stage, with the activations of all its micro-batches in "
                  "flight."}));
  EXPECT_FALSE(fullest.at("workload").at("layout").contains("stage"));
  std::vector<std::string> second = piped;
  second.insert(second.end(), {"--stage", "1"});
  EXPECT_EQ(json(second).at("workload").at("layout").at("stage"), 1);
  EXPECT_EQ(json(second).at("notes").at(1),  // 4 stages have 4, 3, 2 and 1 under way
            "Of one rank of stage 1 of the pipeline, with the activations of 3 micro-batches in flight.");
  const std::string contexts = run({"memory", "llama-3-8b", "--context", "1k..2k", "--batch", "1..2"}).out;
  EXPECT_NE(contexts.find("\ndecode · gpu target · bfloat16 · attention streamed\n"), std::string::npos) << contexts;
}

// Of 4,097, 8,193 and 16,385 tokens the last are the most.
TEST_F(MemoryCommand, SaysOnceThatARangeGoesPastTheContext) {
  EXPECT_EQ(run({"memory", "llama-3-8b", "--past", "4k..16k"}).err,
            "reckon: note: 16,385 tokens are past llama-3-8b's context of 8,192\n");
  EXPECT_EQ(run({"memory", "llama-3-8b", "--past", "1k..4k"}).err, "");
}

// A T4's tensor cores have float16 and no bfloat16.
TEST_F(MemoryCommand, HasBesideQuantisedMatricesSixteenBitsThatTheDeviceMultiplies) {
  const auto activations = [&](const char* device) {
    return json({"memory", "llama-3.1-8b", "--precision", "int4", "--context", "2k", "--on", device})
        .at("workload")
        .at("types")
        .at("activations");
  };
  EXPECT_EQ(activations("t4"), "float16");
  EXPECT_EQ(activations("a100"), "bfloat16");
}

TEST_F(MemoryCommand, TakesFloat16WhereADeviceHasNoBfloat16AndSaysSo) {
  const std::string sentence = "has no bfloat16: weights, activations and cache are taken to be in float16";
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"memory", "gpt2"},
                                                {"memory", "gpt2", "--batch", "1..2"},
                                                {"memory", "gpt2", "--phase", "train"},
                                                {"time", "gpt2"},
                                                {"plan", "gpt2", "--batch-tokens", "64k"}}) {
    std::vector<std::string> here = asked, there = asked, said = asked;
    here.insert(here.end(), {"--on", "t4"});
    there.insert(there.end(), {"--on", "a100"});
    said.insert(said.end(), {"--on", "t4", "--precision", "float32"});
    const Result found = run(here);
    EXPECT_NE(found.err.find("t4 " + sentence), std::string::npos) << asked[0] << ": " << found.err;
    EXPECT_EQ(found.out.find("bfloat16"), std::string::npos) << found.out;
    EXPECT_EQ(run(there).err.find(sentence), std::string::npos);
    EXPECT_EQ(run(said).err.find(sentence), std::string::npos);
  }
}

// Hu et al. 2021: A and B of rank 16 beside queries (4,096 × 4,096) and values (4,096 × 1,024) of 32 layers.
TEST_F(MemoryCommand, SaysHowManyParametersAdaptersTrain) {
  constexpr std::int64_t trained = 32 * 16 * ((4096 + 4096) + (4096 + 1024)), all = 8'030'261'248 + trained;
  const std::vector<std::string> asked{"memory", "llama-3-8b", "--phase", "train", "--tokens", "512", "--lora", "16"};
  const Json report = json(asked);
  EXPECT_EQ(report.at("adapters").at("parameters"), trained);
  EXPECT_EQ(report.at("adapters").at("all"), all);
  EXPECT_NE(
      text_of_lines(run(asked).out)
          .find("Only adapters are trained, 6,815,744 of the model's 8,037,076,992 parameters (0.085%); all others "
                "are frozen."),
      std::string::npos)
      << run(asked).out;
}

// Korthikanti et al. 2022 (arXiv 2205.05198), table 3's set-ups: what as many layers more keep on the first rank, which
// leaves out embedding and logits as they do. They neglect the statistics of two LayerNorms a layer, two float32 a
// token each. docs/predicting.md has these commands.
TEST_F(MemoryCommand, ReachesThePublishedActivationsOfMegatron) {
  struct SetUp {
    const char *layers, *width, *heads;
    std::vector<std::string> more;
    double tensor, sequence_and_selective;  // GiB
    std::int64_t batch, in_flight;          // sequences; layers, of all micro-batches on the first rank
  };
  const std::vector<SetUp> set_ups = {
      {"48..96", "6144", "64", {"--batch", "4"}, 59.25, 9.5625, 4, 48},
      {"96..192",
       "12288",
       "96",
       {"--pipeline", "8", "--virtual-stages", "3", "--micro-batches", "64"},
       66.84375,
       12.3515625,
       1,
       31 * 4},
      {"105..210",
       "20480",
       "128",
       {"--pipeline", "35", "--virtual-stages", "3", "--micro-batches", "280"},
       114.0234375,
       23.076171875,
       1,
       139},
      {"128..256", "25600", "160", {"--pipeline", "64", "--micro-batches", "512"}, 131.25, 26.5625, 1, 64 * 2},
  };
  for (const SetUp& set_up : set_ups) {
    for (const bool selective : {false, true}) {
      std::vector<std::string> asked{"memory",
                                     "gpt3-175b",
                                     "--phase",
                                     "train",
                                     "--target",
                                     "megatron",
                                     "--layers",
                                     set_up.layers,
                                     "--d-model",
                                     set_up.width,
                                     "--heads",
                                     set_up.heads,
                                     "--vocab",
                                     "51200",
                                     "--dropout",
                                     "0.1",
                                     "--tensor",
                                     "8",
                                     "--stage",
                                     "0",
                                     "--tokens",
                                     "2048",
                                     "--attention-dropout",
                                     "0.1"};
      asked.insert(asked.end(), set_up.more.begin(), set_up.more.end());
      if (selective) asked.insert(asked.end(), {"--sequence", "--recompute", "selective"});
      const Json points = json(asked).at("points");
      ASSERT_EQ(points.size(), 2u);
      const auto kept = [&](std::size_t i) { return points.at(i).at("memory").at("activations").get<std::int64_t>(); };
      const std::int64_t statistics = 16 * 2048 * set_up.batch * set_up.in_flight / (selective ? 8 : 1);
      EXPECT_EQ(static_cast<double>(kept(1) - kept(0) - statistics) / (1 << 30),
                selective ? set_up.sequence_and_selective : set_up.tensor)
          << set_up.width;
    }
  }
}

// Rajbhandari et al. 2019, figure 1, with 4 ranks: 2 + 2 + 12/4, 2 + 14/4 and 16/4 bytes for each whole parameter.
TEST_F(MemoryCommand, StatesBytesForWholeParametersWhateverZeroSharesOut) {
  const auto text = [&](const char* zero) {
    return text_of_lines(
        run({"memory", "llama-3-8b", "--phase", "train", "--tokens", "64", "--data", "4", "--zero", zero}).out);
  };
  const auto says = [&](const char* zero, const std::string& sentence) {
    EXPECT_NE(text(zero).find(sentence), std::string::npos) << text(zero);
  };
  const std::string whole = " bytes for each of the 8.03B whole parameters that the rank computes with: ";
  says("0", "takes 16.00 bytes a parameter: weights 2.00, ");
  says("1", "takes 7.00" + whole + "weights 2.00, master copies 1.00, gradients 2.00, optimizer state 2.00. ZeRO 1 " +
                "leaves it its own part of master copies and optimizer state, and weights and gradients whole.");
  says("2", "takes 5.50" + whole + "weights 2.00, master copies 1.00, gradients 0.50, optimizer state 2.00. ZeRO 2 " +
                "leaves it its own part of master copies, gradients and optimizer state, and weights whole.");
  says("3", "takes 4.00" + whole + "weights 0.50, master copies 1.00, gradients 0.50, optimizer state 2.00. ZeRO 3 " +
                "leaves it its own part of weights, master copies, gradients and optimizer state.");
  const Json shared =
      json({"memory", "llama-3-8b", "--phase", "train", "--tokens", "64", "--data", "4", "--zero", "3"});
  EXPECT_EQ(shared.at("whole_parameters"), 8'030'261'248);
  EXPECT_EQ(shared.at("parameters"), 8'030'261'248 / 4);
}

// Rajbhandari et al. 2019, section 3.1: 2 + 2 + 4 + 4 + 4 bytes a parameter; two more where gradients are wide.
TEST_F(MemoryCommand, StatesTheBytesAParameterOfMixedPrecisionTraining) {
  constexpr std::int64_t parameters = 124'439'808;
  const Json state = json({"memory", "gpt2", "--phase", "train", "--batch", "4"}).at("memory");
  EXPECT_EQ(state.at("weights"), 2 * parameters);
  EXPECT_EQ(state.at("gradients"), 2 * parameters);
  EXPECT_EQ(state.at("master"), 4 * parameters);
  EXPECT_EQ(state.at("optimizer"), 8 * parameters);
  EXPECT_EQ(held({"memory", "gpt2", "--phase", "train", "--gradients", "float32"}, "gradients"), 4 * parameters);
  EXPECT_NE(run({"memory", "gpt2", "--phase", "train"}).out.find("takes 16.00 bytes a parameter"), std::string::npos);
  EXPECT_NE(run({"memory", "gpt2", "--phase", "train", "--gradients", "float32"}).out.find("18.00 bytes a parameter"),
            std::string::npos);
}

// The type of gradients is said where it is not that of the weights.
TEST_F(MemoryCommand, AndTimeNameTheTypeOfGradients) {
  for (const char* command : {"memory", "time"}) {
    const std::vector<std::string> usual{command, "gpt2", "--phase", "train", "--on", "h100"};
    std::vector<std::string> wide = usual;
    wide.insert(wide.end(), {"--gradients", "float32"});
    EXPECT_EQ(json(usual).at("workload").at("types").at("gradients"), "bfloat16") << command;
    EXPECT_EQ(json(wide).at("workload").at("types").at("gradients"), "float32") << command;
    EXPECT_EQ(run(usual).out.find("gradients in "), std::string::npos) << command;
    const std::string said = run(wide).out;
    EXPECT_TRUE(std::regex_search(said, std::regex("gradients in float32\\s+· adamw"))) << said;
  }
}

TEST_F(MemoryCommand, IsThatOfOneRankOfALayout) {
  const Json whole = json({"memory", "llama-3-8b", "--context", "8k"});
  const Json rank = json({"memory", "llama-3-8b", "--context", "8k", "--tensor", "8", "--on", "h100:8"});
  EXPECT_EQ(rank.at("cache").at("bytes_per_token"), 131'072 / 8);
  EXPECT_EQ(rank.at("memory").at("cache").get<std::int64_t>() * 8, whole.at("memory").at("cache"));
  EXPECT_EQ(rank.at("workload").at("layout").at("tensor"), 8);
  // All but the norms are shared out: 65 vectors of 4,096.
  EXPECT_EQ(rank.at("memory").at("weights"), (8'030'261'248 - 65 * 4096) * 2 / 8 + 65 * 4096 * 2);
  // The first stage has the most in flight; the figure is of the fullest unless one is named.
  const std::vector<std::string> piped{"memory",     "gpt2-xl", "--phase",         "train",
                                       "--pipeline", "4",       "--micro-batches", "16"};
  std::vector<std::int64_t> totals;
  for (const char* stage : {"0", "1", "2", "3"}) {
    std::vector<std::string> one = piped;
    one.insert(one.end(), {"--stage", stage});
    totals.push_back(held(one, "total"));
  }
  EXPECT_EQ(held(piped, "total"), *std::max_element(totals.begin(), totals.end()));
  EXPECT_GT(totals[1], totals[2]);
}

// 50,257 is odd; 50,257 = 29 · 1,733.
TEST_F(MemoryCommand, SaysThatAVocabularyIsFilledUp) {
  const std::vector<std::string> asked{"memory", "gpt2", "--phase", "train", "--tensor"};
  const auto notes = [&](const char* ranks, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = asked;
    all.emplace_back(ranks);
    all.insert(all.end(), more.begin(), more.end());
    return json(all).at("notes").dump();
  };
  EXPECT_NE(notes("2").find("A vocabulary of 50,257 rows is filled up to 50,258: 25,129 for each of 2 tensor ranks."),
            std::string::npos)
      << notes("2");
  EXPECT_EQ(notes("2", {"--vocab", "50258"}).find("vocabulary"), std::string::npos);
  EXPECT_EQ(notes("1").find("vocabulary"), std::string::npos);
}

TEST_F(MemoryCommand, ListsTensorsThatAddUpToTheTotal) {
  for (const char* phase : {"prefill", "decode", "train"}) {
    const Json report = json({"memory", "gemma-2-2b", "--phase", phase, "--precision", "float32", "--by", "tensor"});
    std::int64_t sum = 0;
    for (const Json& tensor : report.at("tensors")) sum += tensor.at("bytes").get<std::int64_t>();
    EXPECT_EQ(sum, report.at("memory").at("total")) << phase;
    std::int64_t kinds = 0;
    for (const auto& [kind, bytes] : report.at("memory").items()) {
      if (kind != "total") kinds += bytes.get<std::int64_t>();
    }
    EXPECT_EQ(kinds, report.at("memory").at("total")) << phase;
  }
  const Json tensor = json({"memory", "gpt2", "--by", "tensor"}).at("tensors").at(0);
  EXPECT_EQ(tensor.at("name"), "embedding.token.weight");
  EXPECT_EQ(tensor.at("held"), "weights");
  EXPECT_EQ(tensor.at("role"), "embedding/token");
  EXPECT_EQ(tensor.at("type"), "bfloat16");
  EXPECT_EQ(tensor.at("shape"), (Json{50257, 768}));
  EXPECT_EQ(tensor.at("instances"), 1);
  EXPECT_EQ(tensor.at("bytes"), 50257 * 768 * 2);
}

TEST_F(MemoryCommand, SaysThatMiniGptFitsALaptopsCache) {
  const std::vector<std::string> asked{"memory",   "mini-gpt", "--phase",     "forward", "--batch", "8",
                                       "--tokens", "32",       "--precision", "float32", "--on",    "core-i7-1165g7"};
  const Json report = json(asked);
  EXPECT_EQ(report.at("memory").at("weights"), 525'568);
  EXPECT_LT(report.at("memory").at("total"), 2 << 20);
  EXPECT_EQ(report.at("device").at("fits_cache_level"), 3);
  EXPECT_EQ(report.at("workload").at("target"), "cpu");
  EXPECT_NE(run(asked).out.find("fits its L3 of 12.00 MiB"), std::string::npos);
  EXPECT_TRUE(json({"memory", "gpt2", "--on", "core-i7-1165g7"}).at("device").at("fits_cache_level").is_null());
}

TEST_F(MemoryCommand, SaysWhatIsLeftOnADeviceAndWhatFits) {
  const Json report = json({"memory", "llama-3.1-8b", "--context", "8k", "--on", "h100", "--reserve", "2GiB"});
  const Json& device = report.at("device");
  EXPECT_EQ(device.at("name"), "h100-sxm");
  EXPECT_EQ(device.at("reserve"), std::int64_t{2} << 30);
  EXPECT_EQ(device.at("left").get<std::int64_t>(),
            (std::int64_t{78} << 30) - report.at("memory").at("total").get<std::int64_t>());
  // 78 − 14.96 GiB hold 63 caches of 1 GiB.
  EXPECT_EQ(device.at("largest_batch").at("value"), 63);
  const Json large = json({"memory", "llama-3.1-405b", "--context", "1k", "--on", "h100"}).at("device");
  EXPECT_EQ(large.at("fits"), false);
  EXPECT_EQ(large.at("largest_batch").at("value"), 0);
  EXPECT_EQ(large.at("largest_batch").at("over").get<std::int64_t>(), -large.at("left").get<std::int64_t>());
  const std::string text = run({"memory", "llama-3.1-405b", "--context", "1k", "--on", "h100:8"}).out;
  EXPECT_NE(text.find("Even a batch of 1 is "), std::string::npos) << text;
  EXPECT_NE(text.find("8 devices, but no layout"), std::string::npos) << text;
  EXPECT_EQ(json({"memory", "gpt2", "--on", "h100"}).at("device").at("largest_context").at("value"), 1024);
  EXPECT_NE(run({"memory", "gpt2", "--on", "h100"}).out.find("all that it has positions for"), std::string::npos);
}

TEST_F(MemoryCommand, SweepsAThousandPairsOfBatchAndContext) {
  const Json report =
      json({"memory", "llama-3.1-8b", "--batch", "1..40:1", "--context", "4k..100k:4k", "--on", "h100"});
  EXPECT_EQ(report.at("schema"), "reckon.memory_sweep/1");
  ASSERT_EQ(report.at("points").size(), 1000u);
  for (std::size_t i : {0u, 333u, 999u}) {
    const Json& point = report.at("points").at(i);
    const Json alone = json({"memory", "llama-3.1-8b", "--batch", std::to_string(point.at("batch").get<int>()),
                             "--context", std::to_string(point.at("context").get<int>()), "--on", "h100"});
    EXPECT_EQ(point.at("memory"), alone.at("memory"));
    EXPECT_EQ(point.at("fits"), alone.at("device").at("fits"));
  }
  EXPECT_EQ(json({"memory", "gpt2", "--batch", "1..8"}).at("points").size(), 4u);
}

// 263 tokens, 64 and 160 wide, 2 layers; blocks of 32 elements take 18 bytes, norms are in float32.
TEST_F(MemoryCommand, SweepsAGgufFileInTheTypesOfItsWeights) {
  const fs::path folder = fs::path(project_folder()) / "tests/data/tiny/llama3-rope", path = folder_ / "model.gguf";
  std::ofstream(path, std::ios::binary) << GgufOfFolder(folder).file(DType::q4_0);
  const auto elements = [](std::int64_t layers) {
    return 263 * 64 + layers * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64 + 2 * 64) + 64;
  };
  constexpr std::int64_t norms = 5 * 64;
  const std::int64_t stored = (elements(2) - norms) / 32 * 18 + 4 * norms;
  const std::vector<std::string> asked{"memory", path.string(), "--tokens", "1", "--past", "15"};
  for (const auto& [flag, range] : {std::pair{"--batch", "2..4"}, {"--layers", "1..4"}}) {
    std::vector<std::string> swept = asked;
    swept.insert(swept.end(), {flag, range});
    const Json report = json(swept), points = report.at("points");
    ASSERT_GE(points.size(), 2u);
    const bool layers = std::string_view(flag) == "--layers";
    EXPECT_EQ(report.at("workload").at("types").at("weights"), layers ? "bfloat16" : "stored");
    EXPECT_EQ(report.contains("notes"), layers);  // types are the file's at one point of them alone
    for (const Json& point : points) {
      const std::int64_t value = point.at(flag + 2).get<std::int64_t>();
      const bool of_file = !layers || value == 2;  // a model of other layers has no file
      EXPECT_EQ(point.at("memory").at("weights"), of_file ? stored : 2 * elements(value)) << flag << ' ' << value;
      std::vector<std::string> one = asked;
      one.insert(one.end(), {flag, std::to_string(value)});
      EXPECT_EQ(point.at("memory"), json(one).at("memory")) << flag << ' ' << value;
    }
  }
}

TEST_F(MemoryCommand, DrawsTheCourseOfAStep) {
  const fs::path drawing = folder_ / "step.svg";
  const Result result = run({"memory", "gpt2", "--phase", "train", "--precision", "float32", "--batch", "24", "--on",
                             "l4", "--svg", drawing.string()});
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* word : {" forward ", " backward ", "▲ peak: ", "█ weights"})
    EXPECT_NE(result.out.find(word), std::string::npos) << word;
  const std::string svg = text_of(drawing);
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  for (const char* word : {">forward<", ">backward<", ">optimizer<", "peak: ", "l4: 24.00 GiB", "</svg>"})
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  const std::string alone = run({"memory", "gpt2", "--svg", "-"}).out;
  EXPECT_TRUE(alone.starts_with("<svg") && alone.ends_with("</svg>\n")) << alone;
}

TEST_F(MemoryCommand, ComplainsInOneSentence) {
  const auto complains = [&](std::vector<std::string> more, const char* part) {
    more.insert(more.begin(), {"memory", "gpt2"});
    expect_complaint(more, 2, part);
  };
  complains({"--on", "h1000"}, "there is no hardware 'h1000' (did you mean h100?)");
  complains({"--tensor", "0"}, "--tensor is 0; expected a whole number from 1 to 1,048,576");
  complains({"--data", "-2"}, "--data is '-2'; expected a whole number from 1");
  complains({"--zero", "4", "--data", "8", "--phase", "train"}, "--zero is 4; expected 0 to 3");
  complains({"--zero", "1", "--phase", "train"},
            "--zero is 1; expected --data or --context-ranks of 2 or more with it");
  const std::vector<std::string> context{"memory", "llama-3-8b",      "--phase", "train",  "--tokens",
                                         "8k",     "--context-ranks", "2",       "--zero", "1"};
  EXPECT_EQ(run(context).code, 0) << run(context).err;  // which share the state out as data ranks do
  complains({"--micro-batches", "0", "--phase", "train"}, "--micro-batches is 0; expected a whole number from 1");
  complains({"--sequence"}, "expected --tensor of 2 or more");
  complains({"--virtual-stages", "2"}, "--virtual-stages is 2; expected --pipeline of 2 or more with it");
  complains(
      {"--phase", "train", "--pipeline", "4", "--virtual-stages", "3", "--micro-batches", "6"},
      "--micro-batches is 6; interleaved stages (--virtual-stages) go through them in rounds: expected a multiple "
      "of --pipeline, 4");
  complains({"--stage", "1"}, "--stage is 1; expected --pipeline of 2 or more with it");
  complains({"--stage", "2", "--pipeline", "2"}, "--stage is 2; expected 0 to 1, the last of --pipeline");
  complains({"--on", "h100:8", "--tensor", "4"}, "--on h100:8 are 8 devices, but the layout has 4 ranks");
  complains({"--optimizer", "sgd"}, "--optimizer is given in --phase decode; expected --phase train");
  complains({"--cache", "int8", "--phase", "train"}, "--cache is given in --phase train; expected --phase prefill");
  complains({"--precision", "int8", "--phase", "train"}, "expected --lora RANK, or float32, bfloat16 or float16");
  complains({"--precision", "fp4"}, "--precision is 'fp4'; expected one of: float32 bfloat16 float16 float8_e4m3");
  complains({"--target", "megatron", "--attention", "streamed"}, "--target megatron writes scores out");
  complains({"--dropout", "1", "--phase", "train"}, "--dropout is 1; expected 0 up to, but not including, 1");
  complains({"--lora", "0", "--phase", "train"}, "--lora is 0; expected a whole number from 1 to 65,536");
  complains({"--lora-targets", "all"}, "--lora-targets is given without --lora RANK");
  complains({"--reserve", "1GiB"}, "--reserve is kept free on a device; expected --on PROFILE with it");
  complains({"--reserve", "2 apples"}, "--reserve is '2 apples'; expected a whole number from 0");
  complains({"--reserve", "100GiB", "--on", "h100"}, "--reserve is 100.00 GiB; expected less than the 80.00 GiB");
  expect_complaint({"memory", "llama-3-8b", "--batch", "1T", "--context", "1B"}, 1,
                   "llama-3-8b: the workload is too large to plan: ");
  complains({"--batch", "0"}, "--batch is 0; expected a whole number from 1");
  complains({"--batch", "1..4", "--svg", "x.svg"}, "--svg draws one workload; expected no range with it");
  complains({"--batch", "1..4", "--context", "1..4", "--layers", "1..4"}, "3 options are ranges; expected at most 2");
}

}  // namespace
}  // namespace reckon
