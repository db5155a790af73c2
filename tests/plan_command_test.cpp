// reckon plan as people use it: forms, exports and what it says of wrong use.
#include <algorithm>

#include "gguf_of_folder.h"
#include "program_fixture.h"

namespace reckon {
namespace {

TEST_F(ProgramTest, PlansATraining) {
  const Json report = json({"plan", "llama-3-8b", "--on", "h100:64", "--batch-tokens", "4M", "--context", "8k"});
  EXPECT_EQ(report.at("schema"), "reckon.plan/1");
  EXPECT_EQ(report.at("sequences"), 512);
  EXPECT_EQ(report.at("hardware").at("devices"), 64);
  EXPECT_EQ(report.at("hardware").at("node"), 8);
  ASSERT_GE(report.at("plans").size(), 2u);
  for (const Json& plan : report.at("plans")) {
    const Json& layout = plan.at("layout");
    std::int64_t ranks = 1;
    for (const char* key : {"tensor", "context", "pipeline", "data"}) ranks *= layout.at(key).get<std::int64_t>();
    EXPECT_EQ(ranks, 64);
    EXPECT_TRUE(plan.at("memory").at("total").is_number_integer());
    EXPECT_TRUE(plan.at("sent").at("data").is_number_integer());
    EXPECT_EQ(plan.contains("why_not"), &plan != &report.at("plans").front());
  }
}

TEST_F(ProgramTest, PlansWithinAHundredColumnsInAllForms) {
  const std::vector<std::string> asked{"plan", "llama-3-8b", "--on", "h100:64", "--batch-tokens", "4M"};
  const Result table = run(asked);
  EXPECT_EQ(table.code, 0) << table.err;
  std::istringstream lines(table.out);
  for (std::string line; std::getline(lines, line);) {
    std::size_t columns = 0;
    for (char c : line) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    EXPECT_LE(columns, 100u) << line;
  }
  EXPECT_NE(table.out.find("Why the others lose"), std::string::npos);
  for (const char* format : {"csv", "markdown"}) {
    std::vector<std::string> other = asked;
    other.insert(other.end(), {"--format", format});
    EXPECT_EQ(run(other).code, 0) << format;
  }
}

TEST_F(ProgramTest, NamesEachQuantityOfAPlanByItselfInCsv) {
  const std::string csv =
      run({"plan", "llama-3-8b", "--on", "h100:64", "--batch-tokens", "4M", "--tensor", "2", "--format", "csv"}).out;
  const std::string head = "," + csv.substr(0, csv.find("\r\n")) + ",";
  for (const char* name : {"memory bytes", "step seconds", "bubble share", "bubble seconds", "optimizer seconds",
                           "optimizer bytes", "tensor links seconds", "tensor sent bytes"})
    EXPECT_NE(head.find(std::string(",") + name + ","), std::string::npos) << name << " is not in " << head;
  for (const char* name : {"bubble", "optimizer", "memory"})
    EXPECT_EQ(head.find(std::string(",") + name + ","), std::string::npos) << head;
  const std::string served = run({"plan", "llama-3-8b", "--on", "h100:8", "--phase", "serve", "--format", "csv"}).out;
  EXPECT_NE(served.find(",token seconds,"), std::string::npos) << served;
}

TEST_F(ProgramTest, ExportsPlansForEngines) {
  const std::vector<std::string> asked{"plan", "llama-3-8b", "--on", "h100:64", "--batch-tokens", "4M"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = asked;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Result megatron = with({"--export", "megatron"});
  EXPECT_EQ(megatron.code, 0) << megatron.err;
  EXPECT_TRUE(megatron.out.starts_with("# Megatron-LM core_v0.19.0: llama-3-8b,")) << megatron.out;
  EXPECT_NE(megatron.out.find("--nnodes 8 --nproc_per_node 8"), std::string::npos) << megatron.out;
  EXPECT_NE(megatron.out.find("--global-batch-size 512"), std::string::npos) << megatron.out;
  for (const char* engine : {"torchtitan", "deepspeed"})
    EXPECT_EQ(with({"--gradients", "float32", "--export", engine}).code, 0) << engine;
  const Result narrow = with({"--export", "torchtitan"});
  EXPECT_EQ(narrow.code, 1);
  EXPECT_EQ(narrow.err,
            "reckon: torchtitan v0.2.2 sums gradients over ranks in float32 only; expected gradients float32\n");
  EXPECT_NE(with({"--export", "megatron", "--rank", "2"}).out, megatron.out);
  const std::string file = (folder_ / "launch.sh").string();
  EXPECT_EQ(with({"--export", "megatron", "--output", file}).out, "");
  EXPECT_EQ(text_of(file), megatron.out);
  const Result served = run({"plan", "llama-3-8b", "--on", "h100:8", "--phase", "serve", "--export", "vllm"});
  EXPECT_EQ(served.code, 0) << served.err;
  EXPECT_TRUE(served.out.starts_with("# vLLM v0.27.1: llama-3-8b")) << served.out;
  EXPECT_NE(served.out.find("--max-model-len 8192"), std::string::npos) << served.out;
}

// Engines that take the network from a config.json are not given the name of another one. LLaMA 3 has RoPE for 8,192
// tokens, GPT-2 a table of 1,024 positions.
TEST_F(ProgramTest, ExportsSayThatAModelWasChanged) {
  const auto exported = [&](const std::vector<std::string>& asked, const char* engine) {
    std::vector<std::string> all{"plan", "--on", "h100:8", "--export", engine};
    all.insert(all.end(), asked.begin(), asked.end());
    const Result ran = run(all);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const auto expect = [&](const std::string& text, const char* name, const std::string& fields) {
    const bool changed = !fields.empty();
    EXPECT_EQ(text.find(std::string("\nMODEL=") + name) == std::string::npos, changed) << text;
    EXPECT_EQ(text.find("\nMODEL=${MODEL:?a folder with its config.json") != std::string::npos, changed) << text;
    if (changed) {
      EXPECT_NE(text.find(std::string("config.json is that of ") + name + " but for\n# " + fields + "\n"),
                std::string::npos)
          << text;
    }
  };
  const std::vector<std::string> train{"gpt2", "--batch-tokens", "64k"};
  const auto trained = [&](std::vector<std::string> more) {
    more.insert(more.begin(), train.begin(), train.end());
    return exported(more, "deepspeed");
  };
  expect(trained({}), "gpt2", "");
  expect(trained({"--layers", "24"}), "gpt2", R"({"n_layer":24})");
  expect(trained({"--context", "4k"}), "gpt2", R"({"n_positions":4096})");
  expect(trained({"--context", "512"}), "gpt2", R"({"n_positions":512})");
  const std::vector<std::string> serve{"llama-3-8b", "--phase", "serve", "--context"};
  const auto served = [&](std::vector<std::string> more) {
    more.insert(more.begin(), serve.begin(), serve.end());
    return exported(more, "vllm");
  };
  expect(served({"8k"}), "llama-3-8b", "");
  expect(served({"4k"}), "llama-3-8b", "");
  expect(served({"64k"}), "llama-3-8b", R"({"max_position_embeddings":65536})");
  expect(served({"8k", "--layers", "16"}), "llama-3-8b", R"({"num_hidden_layers":16})");
  // Its words are Megatron's own: no file has to say them.
  EXPECT_NE(exported({"gpt2", "--batch-tokens", "64k", "--layers", "24"}, "megatron").find("--num-layers 24"),
            std::string::npos);
  expect_complaint(
      {"plan", "gpt2", "--on", "h100:8", "--batch-tokens", "64k", "--ffn", "swiglu", "--export", "deepspeed"}, 2,
      "a config.json of type gpt2 cannot say these changes to gpt2");
  expect_complaint({"plan", "llama-3.1-8b", "--on", "h100:8", "--gradients", "float32", "--kv-heads", "32", "--export",
                    "torchtitan"},
                   1, "knows networks by name, and llama-3.1-8b as it is planned is none of its");
}

// DeepSpeed has no pipeline and no sequence parallelism: where these are the fastest, its script says so.
TEST_F(ProgramTest, ExportsSayThatAnotherLayoutWouldBeTheBest) {
  const std::vector<std::string> asked{"plan", "llama-3.1-70b", "--on", "h100:64", "--batch-tokens",
                                       "4M",   "--context",     "8k"};
  const Json first = json(asked).at("plans").at(0).at("layout");
  const bool can = first.at("pipeline") == 1 && first.at("context") == 1 && first.at("sequence") == false;
  std::vector<std::string> exported = asked;
  exported.insert(exported.end(), {"--export", "deepspeed"});
  const Result script = run(exported);
  ASSERT_EQ(script.code, 0) << script.err;
  EXPECT_EQ(script.out.find("\n# not the best of all layouts, which is ") == std::string::npos, can) << script.out;
  EXPECT_EQ(script.out.find("\n# DeepSpeed v0.19.5 ") == std::string::npos, can) << script.out;
}

TEST_F(ProgramTest, SaysOneOfAThingInTheSingular) {
  const Result plan = run({"plan", "gpt2", "--on", "h100", "--batch-tokens", "1k", "--context", "1k"});
  EXPECT_NE(plan.out.find("steps of 1 sequence of 1,024 tokens"), std::string::npos) << plan.out << plan.err;
  const Result served = run(
      {"plan", "gpt2", "--on", "h100:8", "--phase", "serve", "--tensor", "1", "--pipeline", "1", "--export", "vllm"});
  EXPECT_NE(served.out.find("# 8 servers like this one, each on 1 device of its own"), std::string::npos)
      << served.out << served.err;
  const Result time = run({"time", "gpt2", "--on", "h100", "--phase", "train", "--batch", "1", "--steps", "1"});
  EXPECT_NE(time.out.find("1 step: "), std::string::npos) << time.out << time.err;
  EXPECT_NE(time.out.find("less than 0.01 device-hours"), std::string::npos) << time.out;
}

// 64 cards of 48 GiB without a network of their own: twice the bytes a second are not slower.
TEST_F(ProgramTest, PlansOverANetworkThatIsGiven) {
  const std::vector<std::string> asked{"plan", "llama-3-8b", "--on", "l40s:64", "--context", "8k"};
  expect_complaint(asked, 1,
                   "l40s has no link that joins 64 devices; expected the GB/s that each of them has between nodes "
                   "(--network), or a profile of your own with such a link");
  expect_complaint({"time", "gpt2", "--on", "epyc-9654:4", "--phase", "train"}, 1, "between nodes (--network), or");
  const auto seconds = [&](const char* network) {
    std::vector<std::string> given = asked;
    given.insert(given.end(), {"--network", network, "--count", "1"});
    return json(given).at("plans").at(0).at("step_seconds").get<double>();
  };
  EXPECT_LT(seconds("25"), seconds("1.5"));
  expect_complaint({"time", "gpt2", "--on", "h100:16", "--network", "0"}, 2,
                   "--network is 0; expected a number above 0");
}

TEST_F(ProgramTest, ExportsWhatTheFlagsOfALayoutSay) {
  const Result ran = run(
      {"plan", "llama-3.1-405b", "--on",       "h100:16384", "--batch-tokens",   "16M", "--context", "8k", "--tensor",
       "8",    "--sequence",     "--pipeline", "16",         "--virtual-stages", "8",   "--zero",    "1",  "--batch",
       "1",    "--export",       "megatron"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"--tensor-model-parallel-size 8", "--pipeline-model-parallel-size 16",
                           "--num-layers-per-virtual-pipeline-stage 1", "--global-batch-size 2048", "--nnodes 2048"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << ran.out;
}

TEST_F(ProgramTest, PlansSayWhatTheirFiguresRestOn) {
  const auto text = [&](const std::vector<std::string>& asked) {
    std::string lines = run(asked).out;
    std::replace(lines.begin(), lines.end(), '\n', ' ');
    return lines;
  };
  const auto says = [&](const std::vector<std::string>& asked, const std::string& sentence) {
    EXPECT_NE(text(asked).find(sentence), std::string::npos) << text(asked);
  };
  const std::vector<std::string> train{"plan",      "gpt2",        "--on",    "h100:2",      "--batch-tokens",
                                       "64k",       "--gradients", "float32", "--optimizer", "sgd",
                                       "--dropout", "0.1",         "--lora",  "16"};
  const Json report = json(train);
  EXPECT_EQ(report.at("types"), (Json{{"weights", "bfloat16"}, {"activations", "bfloat16"}, {"gradients", "float32"}}));
  EXPECT_EQ(report.at("optimizer"), "sgd");
  EXPECT_EQ(report.at("dropout"), 0.1);
  EXPECT_EQ(report.at("attention_dropout"), 0);
  EXPECT_EQ(report.at("lora"), 16);
  EXPECT_EQ(report.at("lora_targets"), "query-value");
  says(train,
       "Weights are in bfloat16, activations in bfloat16, gradients in float32; the optimizer is sgd, with adapters of "
       "rank 16 beside query and value and dropout 0.1. Attention is streamed. ");
  EXPECT_EQ(report.at("attention"), "streamed");
  const std::vector<std::string> far{"plan",           "gpt2", "--on",        "h100:16",      "--node",    "4",
                                     "--batch-tokens", "64k",  "--attention", "materialised", "--network", "12.5"};
  EXPECT_EQ(json(far).at("attention"), "materialised");
  EXPECT_EQ(json(far).at("hardware").at("node"), 4);
  EXPECT_EQ(json(far).at("hardware").at("network"), 12'500'000'000);
  says(far, "gpt2 on 16 × h100-sxm in nodes of 4, 12.5 GB/s between them: ");
  says(far, "Attention is materialised. ");
  says({"plan", "gpt2", "--on", "h100:16", "--batch-tokens", "64k"}, " in nodes of 8, 50 GB/s between them: ");
  EXPECT_FALSE(report.at("hardware").contains("network"));
  says(train, "gpt2 on 2 × h100-sxm: ");
  says({"plan", "gpt2", "--on", "h100:2", "--batch-tokens", "64k"}, "; the optimizer is adamw. ");
  const fs::path folder = fs::path(project_folder()) / "tests/data/tiny/llama3-rope", path = folder_ / "model.gguf";
  std::ofstream(path, std::ios::binary) << GgufOfFolder(folder).file(DType::q4_0);
  const std::vector<std::string> serve{"plan", path.string(), "--on", "h100", "--phase", "serve", "--cache", "int8"};
  EXPECT_EQ(json(serve).at("types"), (Json{{"weights", "stored"}, {"activations", "bfloat16"}, {"cache", "int8"}}));
  says(serve, "Weights are as in the file, activations in bfloat16, the cache in int8. Attention is streamed. ");
  EXPECT_EQ(json(serve).at("attention"), "streamed");
}

// Of mistral-7b-v0.1's 128k tokens 4,096 keys are an eighth of the scores that causality lets through.
TEST_F(ProgramTest, PlansSayWhyMfuIsMoreThanAllOfAPeak) {
  const auto says = [&](const char* context) {
    return run({"plan", "mistral-7b-v0.1", "--on", "h100:16", "--context", context, "--format", "markdown"})
        .out.find("nobody computes: hence more than 100%.");
  };
  EXPECT_NE(says("128k"), std::string::npos);
  EXPECT_EQ(says("4k"), std::string::npos);
}

TEST_F(ProgramTest, PlansFromOneToAHundredThousandDevices) {
  EXPECT_EQ(run({"plan", "gpt2", "--on", "h100", "--batch-tokens", "64k"}).code, 0);
  const Result many = run({"plan", "llama-3-8b", "--on", "h100:100000", "--batch-tokens", "819200000"});
  EXPECT_EQ(many.code, 0) << many.err;  // 100,000 sequences of 8,192
}

// 12,500 nodes of 8 devices each.
TEST_F(ProgramTest, ExportsPlansOfAHundredThousandDevices) {
  const std::vector<std::string> train{"plan",           "llama-3-8b", "--on",        "h100:100000",
                                       "--batch-tokens", "819200000",  "--gradients", "float32"};
  const std::vector<std::string> serve{"plan",  "llama-3-8b", "--on", "h100:100000", "--phase",
                                       "serve", "--tensor",   "1",    "--pipeline",  "1"};
  for (const char* engine : {"megatron", "torchtitan", "deepspeed", "vllm"}) {
    const bool serves = std::string_view(engine) == "vllm";
    std::vector<std::string> asked = serves ? serve : train;
    asked.insert(asked.end(), {"--export", engine});
    const Result launch = run(asked);
    EXPECT_EQ(launch.code, 0) << launch.err;
    EXPECT_NE(launch.out.find(serves ? "100,000" : "12500"), std::string::npos) << launch.out;
  }
}

TEST_F(ProgramTest, HelpNamesNumbersOfPredictionsPlainly) {
  const std::string plan = run({"plan", "--help"}).out, time = run({"time", "--help"}).out;
  for (const char* part : {"--token-latency MS ", "--memory-share X "})
    EXPECT_NE(plan.find(part), std::string::npos) << plan;
  for (const char* part : {"POSITIVE", "FLOAT"}) EXPECT_EQ(plan.find(part), std::string::npos) << plan;
  EXPECT_NE(time.find("--efficiency X "), std::string::npos) << time;
  EXPECT_EQ(time.find("\nOPTIONS:"), std::string::npos) << time;
}

TEST_F(ProgramTest, PlansStepsOfUsualSizeWhereNoneIsSaid) {
  const std::string text = run({"plan", "llama-3-8b", "--on", "h100:8", "--format", "json"}).out;
  const std::vector<std::string> assumed = nlohmann::json::parse(text).at("assumptions");
  EXPECT_EQ(assumed.back(), "steps of 4,194,304 tokens (--batch-tokens)") << text;
}

TEST_F(ProgramTest, SaysWhatIsWrongWithAPlan) {
  const std::vector<std::string> plan{"plan", "llama-3-8b"};
  const auto complain = [&](const std::vector<std::string>& more, int code, const std::string& part) {
    std::vector<std::string> all = plan;
    all.insert(all.end(), more.begin(), more.end());
    expect_complaint(all, code, part);
  };
  complain(
      {"--on", "h100:64", "--batch-tokens", "4000000"}, 2,
      "--batch-tokens is 4,000,000, which is no whole number of sequences of 8,192 tokens (--context); the nearest "
      "are 3,997,696 and 4,005,888");
  complain({"--on", "h100:64", "--batch-tokens", "100"}, 2, "the nearest is 8,192");
  complain({"--batch-tokens", "4M"}, 2, "--on is missing");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--export", "megatorn"}, 2, "did you mean megatron?");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--export", "vllm"}, 2, "expected --phase serve");
  complain({"--on", "h100:64", "--phase", "serve", "--export", "megatron"}, 2, "expected --phase train");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--engine", "megatron", "--export", "deepspeed"}, 2,
           "expected the same, or one of them");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--rank", "2"}, 2, "--rank chooses what --export writes");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--export", "megatron", "--format", "json"}, 2,
           "--format is given with --export, which writes what the engine reads; expected one of them");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--token-latency", "50"}, 2, "expected --phase serve");
  complain({"--on", "h100:64", "--phase", "serve", "--batch-tokens", "4M"}, 2, "expected --phase train");
  complain({"--on", "h100:8", "--phase", "serve", "--token-latency", "-1"}, 2,
           "--token-latency is -1; expected a number above 0, up to 100000");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--memory-share", "0"}, 2,
           "--memory-share is 0; expected a number above 0, up to 1");
  // What the other phase has no use for is never passed over.
  for (const std::vector<std::string>& given :
       std::initializer_list<std::vector<std::string>>{{"--zero", "1"},
                                                       {"--context-ranks", "2"},
                                                       {"--virtual-stages", "2"},
                                                       {"--sequence"},
                                                       {"--optimizer", "sgd"},
                                                       {"--gradients", "float32"},
                                                       {"--recompute", "block"},
                                                       {"--dropout", "0.1"},
                                                       {"--lora", "16"},
                                                       {"--attention-dropout", "0.1"}}) {
    std::vector<std::string> more{"--on", "h100:8", "--phase", "serve"};
    more.insert(more.end(), given.begin(), given.end());
    complain(more, 2, given.front() + " is given in --phase serve; expected --phase train");
  }
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--cache", "float8_e4m3"}, 2,
           "--cache is given in --phase train; expected --phase serve");
  complain({"--on", "h100:1000000", "--batch-tokens", "4M"}, 2, "expected 1 to 100,000");
  complain({"--on", "tpu-v5p:64", "--batch-tokens", "4M", "--engine", "megatron"}, 2, "known here for GPUs");
  complain({"--on", "h1000:64", "--batch-tokens", "4M"}, 2, "did you mean h100?");
  // 7 is prime: no layer, head or sequence divides by it. 7 data ranks take 73 sequences each of 511.
  complain({"--on", "h100:7", "--batch-tokens", "4M"}, 1,
           "no layout of 7 devices that divides the 32 layers and the heads of llama-3-8b has a number of data ranks "
           "that divides the 512 sequences of a step; --batch-tokens 4186112 (511 sequences) or 8 devices would do");
  // 24,000 = 2⁶·3·5³, and 5³ divides neither layers nor heads nor tokens: data ranks are multiples of 125, and of 2,048
  // sequences 2,000 are the nearest multiple.
  expect_complaint(
      {"plan", "llama-3.1-405b", "--on", "h100:24000", "--context", "8k", "--batch-tokens", "16M"}, 1,
      "no layout of 24,000 devices that divides the 126 layers and the heads of llama-3.1-405b has a number of data "
      "ranks that divides the 2,048 sequences of a step; --batch-tokens 16384000 (2,000 sequences) would do");
  EXPECT_EQ(run({"plan", "llama-3.1-405b", "--on", "h100:24000", "--context", "8k", "--batch-tokens", "16384000",
                 "--count", "1"})
                .code,
            0);
  expect_complaint({"plan", "llama-3.1-405b", "--on", "h100:16", "--context", "1073741824", "--batch-tokens",
                    "1125899906842624", "--batch", "65536"},
                   1, "llama-3.1-405b: the workload is too large to plan: ");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--pipeline", "64"}, 2,
           "32 layers cannot be shared out over 64 stages");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--optimizer", "muon", "--zero", "1"}, 2,
           "the optimizer muon steps whole matrices, of which ZeRO 1 leaves a rank parts; expected ZeRO 0");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--tensor", "3"}, 2,
           "64 devices cannot be divided by the 3 tensor · context · pipeline ranks that are given");
  // 256 sequences over 1, 2, 4 … data ranks never divide by 3, on however many devices.
  complain({"--on", "h100:8", "--batch-tokens", "1M", "--context", "4k", "--batch", "3"}, 2,
           "--batch is 3, and no layout of 8 devices leaves a rank a number of sequences that it divides; a step has "
           "256 (--batch-tokens over --context)");
  complain({"--on", "h100:8", "--batch-tokens", "1M", "--pipeline", "8", "--zero", "2", "--engine", "deepspeed"}, 2,
           "--zero is 2, and no layout of 8 devices with the ranks that are given has data or context ranks");
  complain({"--on", "h100:7", "--batch-tokens", "4M", "--sequence"}, 1, "; 8 devices would do");
  complain({"--on", "h100:64", "--batch-tokens", "4M", "--pipeline", "2", "--export", "deepspeed"}, 1,
           "DeepSpeed v0.19.5 has no pipeline for stock models");
  expect_complaint({"plan", "gpt2", "--on", "h100:8", "--batch-tokens", "64k", "--export", "torchtitan"}, 1,
                   "knows networks by name");
  expect_complaint({"plan", "llama-3.1-405b", "--on", "h100:8", "--batch-tokens", "64k", "--context", "8k"}, 1,
                   "does not fit on 8 × h100-sxm");
  complain({"--on", "h100:8", "--phase", "serve", "--token-latency", "0.001"}, 1,
           "no layout gives a token within 0.001 ms; the soonest takes");
}

}  // namespace
}  // namespace reckon
