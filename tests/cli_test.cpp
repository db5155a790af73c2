// The program as a person or a script uses it: exit codes, sentences, forms, figures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gguf_of_folder.h"
#include "paths.h"
#include "program_fixture.h"
#include "report/text.h"
#include "text_fixture.h"

namespace reckon {
namespace {

std::int64_t sum_of(const Json& rows) {
  std::int64_t sum = 0;
  for (const Json& row : rows) sum += row.at("value").get<std::int64_t>();
  return sum;
}

TEST_F(ProgramTest, CountsGpt2AsPublished) {
  const Json report = json({"count", "gpt2"});
  EXPECT_EQ(report.at("schema"), "reckon.count/1");
  EXPECT_EQ(report.at("model"), "gpt2");
  EXPECT_EQ(report.at("architecture").at("d_model"), 768);
  EXPECT_EQ(report.at("architecture").at("tied"), true);
  EXPECT_EQ(report.at("workload").at("tokens"), 1024);
  EXPECT_EQ(report.at("workload").at("past"), 0);
  const Json& parameters = report.at("parameters");
  EXPECT_EQ(parameters.at("total"), 124439808);
  EXPECT_EQ(parameters.at("active"), 124439808);
  EXPECT_EQ(parameters.at("embedding"), 39383808);  // 50,257·768 + 1,024·768
  EXPECT_EQ(parameters.at("non_embedding"), 124439808 - 39383808);
  EXPECT_EQ(parameters.at("tensors"), 12 * 16 + 4);  // weights and biases of 8 parts; two tables, the last norm's two
  EXPECT_EQ(report.at("weights").at("float32"), 124439808 * 4);
  EXPECT_EQ(report.at("weights").at("int8"), 124439808);
}

// What cannot be trained yet is counted all the same, and says why there is nothing of training.
TEST_F(ProgramTest, CountsWhatCannotBeTrainedWithoutOptions) {
  for (const auto& [name, why] : {std::pair{"zaya", "the convolutions of its heads have no backward pass"},
                                  {"inkling", "its positions by distance have no backward pass"},
                                  {"deepseek_v4", "keys of several tokens have no backward pass"}}) {
    const std::string file = project_folder() + "/tests/data/families/published/" + name + ".json";
    const Json report = json({"count", file, "--train-tokens", "1T"});
    EXPECT_NE(report.at("why_not_trained").get<std::string>().find(why), std::string::npos) << name;
    int without = 0;
    for (const Json& rule : report.at("rules"))
      for (const char* trained : {"4·N", "6·N", "6·N·20·N", "6·N·D"})
        if (rule.at("name") == trained) {
          EXPECT_TRUE(rule.at("exact").is_null() && rule.at("error").is_null()) << name << ": " << trained;
          ++without;
        }
    EXPECT_EQ(without, 4) << name;
    const Result table = run({"count", file});
    EXPECT_EQ(table.code, 0);
    EXPECT_NE(table.out.find("It cannot be trained yet: "), std::string::npos) << name;
    const Result training = run({"count", file, "--phase", "train"});
    EXPECT_NE(training.code, 0);
    EXPECT_NE(training.err.find("cannot be trained yet: "), std::string::npos) << name;
  }
  EXPECT_FALSE(json({"count", "gpt2"}).contains("why_not_trained"));
}

TEST_F(ProgramTest, SaysThatIndexersStayFrozenInTraining) {
  const std::string sentence = "its indexers stay frozen in training: their choice of keys has no gradient\n";
  for (const char* name : {"deepseek_v32", "minimax_m3_vl"}) {
    const std::string model = project_folder() + "/tests/data/families/tiny/" + name;
    for (const char* command : {"count", "memory", "explain"})
      EXPECT_TRUE(run({command, model, "--phase", "train"}).err.ends_with(sentence)) << command << " " << name;
    EXPECT_EQ(run({"count", model}).err.find("frozen"), std::string::npos) << name;
    const std::string out = (folder_ / name).string();
    const Result training =
        run({"train", model, "--steps", "1", "--batch", "1", "--tokenizer", "train:300", "--out", out});
    EXPECT_NE(training.err.find(sentence), std::string::npos) << training.err;
  }
  EXPECT_EQ(run({"count", "gpt2", "--phase", "train"}).err, "");
}

// Before anything else that may be wrong, and without a phase where none was asked for.
TEST_F(ProgramTest, SaysFirstThatAModelCannotBeTrained) {
  const std::string families = project_folder() + "/tests/data/families/";
  for (const char* name : {"published/zaya.json", "tiny/zaya", "tiny/deepseek_v4"}) {
    const Result training = run({"train", families + name, "--steps", "1", "--out", (folder_ / "never").string()});
    EXPECT_EQ(training.code, 2) << name;
    EXPECT_NE(training.err.find("cannot be trained yet: "), std::string::npos) << training.err;
    EXPECT_FALSE(std::filesystem::exists((folder_ / "never").string()));
  }
  const Result step = run({"verify", families + "tiny/zaya", "--train"});
  EXPECT_EQ(step.code, 2);
  EXPECT_NE(step.err.find("cannot be trained yet: "), std::string::npos) << step.err;
  EXPECT_EQ(step.err.find("expected another phase"), std::string::npos) << step.err;
}

TEST_F(ProgramTest, MeasuresTheTimesOfWhatCannotBeTrainedWithoutTraining) {
  const std::string model = project_folder() + "/tests/data/families/tiny/zaya";
  const Json report = json({"verify", model, "--time", "--rounds", "1"});
  ASSERT_EQ(report.at("phases").size(), 2U);
  EXPECT_EQ(report.at("phases")[0].at("phase"), "prefill");
  EXPECT_EQ(report.at("phases")[1].at("phase"), "decode");
  EXPECT_NE(report.at("why_not_trained").get<std::string>().find("no backward pass"), std::string::npos);
}

// A step reads one set of states and writes the other; the count is of one.
TEST_F(ProgramTest, SaysThatMemoryHoldsStatesTwice) {
  const std::string file = project_folder() + "/tests/data/families/published/mamba.json";
  const Result held = run({"memory", file});
  EXPECT_EQ(held.code, 0);
  EXPECT_NE(held.out.find("5,160,960 a sequence"), std::string::npos) << held.out;
  EXPECT_NE(held.out.find("one set and writes the other"), std::string::npos) << held.out;
  EXPECT_EQ(run({"memory", "gpt2"}).out.find("writes the other"), std::string::npos);
}

// Inkling's router weighs two experts with the others that every token takes.
TEST_F(ProgramTest, TellsExpertsThatEveryTokenTakesFromThoseThatAreChosen) {
  const std::string file = project_folder() + "/tests/data/families/published/inkling.json";
  const Json architecture = json({"count", file}).at("architecture");
  EXPECT_EQ(architecture.at("n_experts"), 256);
  EXPECT_EQ(architecture.at("n_active_experts"), 6);
  EXPECT_EQ(architecture.at("n_always_experts"), 2);
  const Result text = run({"count", file});
  EXPECT_NE(text.out.find("6 of 256 experts"), std::string::npos) << text.out;
  const Json fewer = json({"count", file, "--experts", "64"}).at("architecture");
  EXPECT_EQ(fewer.at("n_experts"), 64);
  EXPECT_EQ(fewer.at("n_active_experts"), 6);
  const Result experts = run({"memory", file, "--expert", "8", "--data", "8"});
  EXPECT_EQ(experts.code, 2);
  EXPECT_NE(experts.err.find("258 experts, of which every token takes 2, cannot be shared out over 8 expert ranks"),
            std::string::npos)
      << experts.err;
  const Result tensor = run({"memory", file, "--tensor", "2"});
  EXPECT_EQ(tensor.code, 2);
  EXPECT_NE(tensor.err.find("short convolutions cannot be shared out over tensor or context ranks"), std::string::npos)
      << tensor.err;
}

TEST_F(ProgramTest, GivesEveryCountAsAnIntegerThatAddsUp) {
  for (const char* model : {"gpt2", "llama-3.1-8b", "mixtral-8x7b", "deepseek-v3"}) {
    for (const char* phase : {"forward", "train", "decode"}) {
      const Json report = json({"count", model, "--phase", phase});
      const Json &parameters = report.at("parameters"), &flops = report.at("flops");
      for (const char* key : {"total", "active", "embedding", "non_embedding", "active_non_embedding", "tensors"}) {
        EXPECT_TRUE(parameters.at(key).is_number_integer()) << key;
      }
      for (const char* key : {"matmul", "elementwise", "total"}) EXPECT_TRUE(flops.at(key).is_number_integer()) << key;
      for (const char* key : {"float32", "bfloat16", "int8", "int4"}) {
        EXPECT_TRUE(report.at("weights").at(key).is_number_integer()) << key;
      }
      EXPECT_EQ(sum_of(parameters.at("by_component")), parameters.at("total"));
      EXPECT_EQ(sum_of(flops.at("by_component")), flops.at("matmul"));
      EXPECT_EQ(sum_of(flops.at("elementwise_by_component")), flops.at("elementwise"));
      for (const Json& rule : report.at("rules")) {
        for (const char* key : {"name", "meaning", "unit", "estimate", "exact", "error"})
          EXPECT_TRUE(rule.contains(key)) << rule;
      }
    }
  }
}

TEST_F(ProgramTest, ShowsCacheTrafficAndTrainingStateEverywhere) {
  // llama-3-8b: 131,072 bytes a token and 1 GiB at 8,192 tokens in bfloat16; 16 bytes a parameter to train in float32
  const std::int64_t parameters = 8030261248;
  const auto expect_cache = [](const Json& report, std::int64_t scale) {
    EXPECT_EQ(report.at("cache").at("bytes_per_token"), 131072 * scale);
    EXPECT_EQ(report.at("cache").at("bytes"), (std::int64_t{1} << 30) * scale);
    EXPECT_FALSE(report.contains("state"));
    const Json& bytes = report.at("bytes");
    EXPECT_GT(bytes.at("read").get<std::int64_t>(), 0);
    EXPECT_GT(bytes.at("written").get<std::int64_t>(), 0);
    EXPECT_GT(bytes.at("flops_per_byte").get<double>(), 0);
  };
  const auto expect_state = [&](const Json& report) {
    EXPECT_EQ(report.at("state").at("weights"), 4 * parameters);
    EXPECT_EQ(report.at("state").at("gradients"), 4 * parameters);
    EXPECT_EQ(report.at("state").at("moments"), 8 * parameters);
    EXPECT_FALSE(report.contains("cache"));
  };
  const Json count = json({"count", "llama-3-8b"});
  expect_cache(count, 1);
  EXPECT_DOUBLE_EQ(count.at("bytes").at("flops_per_byte").get<double>(),
                   count.at("flops").at("total").get<double>() /
                       (count.at("bytes").at("read").get<double>() + count.at("bytes").at("written").get<double>()));
  expect_cache(json({"count", "llama-3-8b", "--phase", "decode", "--precision", "float32"}), 2);
  expect_cache(json({"compare", "gpt2", "llama-3-8b", "--phase", "decode", "--past", "8191", "--context", "8k"})
                   .at("models")
                   .at(1),
               1);
  expect_cache(json({"sweep", "llama-3-8b", "--tokens", "4k..8k"}).at("points").at(1), 1);
  expect_state(json({"count", "llama-3-8b", "--phase", "train"}));
  expect_state(json({"compare", "gpt2", "llama-3-8b", "--phase", "train", "--tokens", "8"}).at("models").at(1));
  expect_state(json({"sweep", "llama-3-8b", "--phase", "train", "--batch", "1..2"}).at("points").at(1));
  const std::string text = run({"count", "llama-3-8b"}).out,
                    sweep = run({"sweep", "llama-3-8b", "--tokens", "4k..8k"}).out;
  EXPECT_NE(text.find("131,072 bytes a token; 1.00 GiB for 8,192 tokens in bfloat16"), std::string::npos) << text;
  for (const char* part : {"KV cache", "FLOP/byte", "1.00 GiB"}) EXPECT_NE(sweep.find(part), std::string::npos) << part;
  for (const char* row : {"KV cache of a token", "bytes read", "bytes written", "FLOP per byte"})
    EXPECT_NE(run({"compare", "gpt2", "llama-3-8b"}).out.find(row), std::string::npos) << row;
  expect_complaint({"count", "gpt2", "--precision", "int3"}, 2,
                   "--precision is 'int3'; expected one of: float32 bfloat16");
  // In bfloat16: weights 2 and the optimizer's wide ones 4, gradients 2, moments 8.
  const Json narrow = json({"count", "llama-3-8b", "--phase", "train", "--precision", "bfloat16"}).at("state");
  EXPECT_EQ(narrow.at("weights"), 6 * parameters);
  EXPECT_EQ(narrow.at("gradients"), 2 * parameters);
  EXPECT_EQ(narrow.at("moments"), 8 * parameters);
  EXPECT_EQ(narrow.at("total"), 16 * parameters);
}

// 12 layers keep a key and a value of 768 elements, 2 bytes each: 36,864 bytes of a token, here or of the encoder.
TEST_F(ProgramTest, SaysWhatTheCacheKeepsOfAnEncoder) {
  const std::vector<std::string> words = {"count", "gpt2", "--cross-attention", "--tokens", "10", "--encoder-tokens",
                                          "7"};
  const std::string one = run(words).out;
  EXPECT_NE(one.find("36,864 bytes a token; 612.00 KiB for 10 tokens and 7 of an encoder in bfloat16"),
            std::string::npos)
      << one;
  EXPECT_EQ(json(words).at("cache").at("encoder_tokens"), 7);
  std::vector<std::string> two = words;
  two.insert(two.end(), {"--batch", "2"});
  EXPECT_NE(run(two).out.find("for 2 × (10 tokens and 7 of an encoder)"), std::string::npos);
}

TEST_F(ProgramTest, SaysBytesThatAreMovedInGigabytesEverywhere) {
  const Json bytes = json({"count", "gpt2"}).at("bytes");
  const auto text = [](const Json& count) { return fmt::format("{:.2f} GB", count.get<double>() / 1e9); };
  const std::string read = text(bytes.at("read")), written = text(bytes.at("written"));
  EXPECT_NE(run({"count", "gpt2"}).out.find(read + " read, " + written + " written"), std::string::npos) << read;
  const std::regex lines("bytes read +" + read + " +" + read + "\nbytes written +" + written + " +" + written + "\n");
  const std::string compared = run({"compare", "gpt2", "gpt2"}).out;
  EXPECT_TRUE(std::regex_search(compared, lines)) << compared;
}

TEST_F(ProgramTest, EveryFormSaysThePhaseThePrecisionAndHowScoresAreCounted) {
  const std::vector<std::string> asked = {"--phase", "prefill", "--causal", "exact", "--precision", "float32"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.end(), asked.begin(), asked.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string count = run(with({"count", "gpt2"}, {"--format", "csv"})).out,
                    compare = run(with({"compare", "gpt2", "gpt2-xl"}, {"--format", "csv"})).out;
  for (const char* row :
       {"model,phase,prefill,word\r\n", "model,causal,exact,word\r\n", "model,precision,float32,word\r\n"}) {
    EXPECT_NE(count.find(row), std::string::npos) << row;
    EXPECT_NE(compare.find(std::string("gpt2-xl,") + row), std::string::npos) << row;
  }
  const Json workload = json(with({"count", "gpt2"})).at("workload");
  EXPECT_EQ(workload.at("phase"), "prefill");
  EXPECT_EQ(workload.at("causal"), "exact");
  EXPECT_EQ(workload.at("precision"), "float32");
}

TEST_F(ProgramTest, SplitsTrainingIntoForwardAndBackward) {
  const Json report = json({"count", "cs336-gpt2-xl", "--phase", "train"});
  const Json& flops = report.at("flops");
  EXPECT_EQ(flops.at("forward_matmul"), 4513336524800);
  EXPECT_EQ(flops.at("forward_matmul").get<std::int64_t>() + flops.at("backward_matmul").get<std::int64_t>(),
            flops.at("matmul"));
  EXPECT_FALSE(json({"count", "gpt2"}).at("flops").contains("forward_matmul"));
}

TEST_F(ProgramTest, TakesModifiers) {
  EXPECT_EQ(json({"count", "gpt2", "--qkv-bias", "no"}).at("parameters").at("total"), 124412160);
  EXPECT_EQ(json({"count", "gpt2", "--qkv-bias", "no", "--tied", "no"}).at("parameters").at("total"), 163009536);
  EXPECT_EQ(json({"count", "mini-gpt", "--positions", "learned"}).at("parameters").at("total"), 131392 + 2048);
  // Swish-gated with 8/3·d: three matrices of 2,048·768 for two of 3,072·768
  EXPECT_EQ(json({"count", "gpt2", "--bias", "no", "--ffn", "swiglu", "--d-ff", "match"}).at("parameters").at("total"),
            json({"count", "gpt2", "--bias", "no"}).at("parameters").at("total"));
  EXPECT_EQ(json({"count", "cs336-gpt2-xl", "--context", "16k"}).at("workload").at("tokens"), 16384);
}

TEST_F(ProgramTest, SaysWhatAModifiedModelIs) {
  const std::vector<std::string> changed = {"count",
                                            "gpt2",
                                            "--positions",
                                            "rope",
                                            "--norm",
                                            "rmsnorm",
                                            "--bias",
                                            "no",
                                            "--cross-attention",
                                            "--encoder-tokens",
                                            "77"};
  const std::string plain = run({"count", "gpt2"}).out, text = run(changed).out;
  for (const char* part : {"learned positions", "LayerNorm", "biases"}) {
    EXPECT_NE(plain.find(part), std::string::npos) << part;
    EXPECT_EQ(text.substr(0, text.find("\n\n")).find(part), std::string::npos) << part;
  }
  for (const char* part : {"RoPE", "RMSNorm", "cross-attention", "77 from an encoder"}) {
    EXPECT_EQ(plain.find(part), std::string::npos) << part;
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  const auto expect = [](const Json& found, const Json& expected) {
    for (const auto& [key, value] : expected.items()) EXPECT_EQ(found.at(key), value) << key;
  };
  const Json before = json({"count", "gpt2"}), after = json(changed);
  expect(before.at("architecture"), {{"norm", "layernorm"},
                                     {"norm_position", "pre"},
                                     {"positions", "learned"},
                                     {"activation", "gelu_tanh"},
                                     {"gated", false},
                                     {"bias", true},
                                     {"qkv_bias", true},
                                     {"window", 0},
                                     {"n_experts", 0},
                                     {"n_active_experts", 0},
                                     {"cross_attention", false}});
  expect(after.at("architecture"),
         {{"norm", "rmsnorm"}, {"positions", "rope"}, {"bias", false}, {"qkv_bias", false}, {"cross_attention", true}});
  EXPECT_FALSE(before.at("workload").contains("encoder_tokens"));
  EXPECT_EQ(after.at("workload").at("encoder_tokens"), 77);
  expect(
      json({"count", "mixtral-8x7b", "--norm-position", "post"}).at("architecture"),
      {{"norm_position", "post"}, {"activation", "silu"}, {"gated", true}, {"n_experts", 8}, {"n_active_experts", 2}});
  expect(json({"count", "gemma-2-2b"}).at("architecture"), {{"norm_position", "both"}, {"window", 4096}});
}

TEST_F(ProgramTest, PartsThatAModelHasNotAreNotDescribed) {
  const std::string published = project_folder() + "/tests/data/families/published/";
  const Json mamba = json({"count", published + "mamba.json"}).at("architecture");
  EXPECT_TRUE(mamba.at("activation").is_null());
  EXPECT_EQ(mamba.at("n_heads"), 0);
  EXPECT_EQ(json({"count", published + "inkling.json"}).at("architecture").at("positions"), "distance");
  const std::string text = run({"compare", "gpt2", published + "mamba.json"}).out;
  for (const char* size : {"\nheads ", "\nkey/value heads ", "\nhead width ", "\nfeed-forward "}) {
    const std::size_t at = text.find(size);
    ASSERT_NE(at, std::string::npos) << size;
    EXPECT_NE(text.substr(at + 1, text.find('\n', at + 1) - at - 1).find("–"), std::string::npos) << size;
  }
}

TEST_F(ProgramTest, CountsCausalScoresOnlyWhenAsked) {
  const Json full = json({"count", "mini-gpt"}), exact = json({"count", "mini-gpt", "--causal", "exact"});
  EXPECT_EQ(full.at("flops").at("causal"), "full");
  EXPECT_EQ(exact.at("flops").at("causal"), "exact");
  // 2 layers, scores and mixing: 2·2·64 FLOPs a pair; 32·32 pairs or 32·33/2
  EXPECT_EQ(full.at("flops").at("matmul").get<std::int64_t>() - exact.at("flops").at("matmul").get<std::int64_t>(),
            2 * 2 * 2 * 64 * (32 * 32 - 32 * 33 / 2));
}

// gpt-oss-120b at 131,072 tokens: half of its layers see 128 tokens, the others half of all pairs.
TEST_F(ProgramTest, ShowsHeadlineAndExactFlopsWhereTheyDifferByMoreThanATenth) {
  const Json full = json({"count", "gpt-oss-120b"}).at("flops");
  const Json exact = json({"count", "gpt-oss-120b", "--causal", "exact"}).at("flops");
  EXPECT_EQ(full.at("matmul_full"), full.at("matmul"));
  EXPECT_EQ(full.at("matmul_exact"), exact.at("matmul"));
  EXPECT_EQ(exact.at("matmul_full"), full.at("matmul"));
  EXPECT_EQ(exact.at("matmul_exact"), exact.at("matmul"));
  for (const char* causal : {"full", "exact"}) {
    const std::string text = run({"count", "gpt-oss-120b", "--causal", causal}).out;
    for (const char* part : {"11.48 PFLOP", "3.88"}) EXPECT_NE(text.find(part), std::string::npos) << text;
    const std::string compare = run({"compare", "gpt2", "gpt-oss-120b", "--context", "128k", "--causal", causal}).out;
    for (const char* part : {"11.48 PFLOP", "3.88"}) EXPECT_NE(compare.find(part), std::string::npos) << compare;
  }
  const std::string sweep = run({"sweep", "gpt-oss-120b", "--tokens", "64k..128k"}).out;
  EXPECT_NE(sweep.find("3.88"), std::string::npos) << sweep;
  EXPECT_TRUE(std::regex_search(sweep, std::regex("131,072 .*11\\.48 PFLOP.*GiB +[0-9.]+\n"))) << sweep;  // one table
  // gpt2 at 1,024 tokens: scores and mixing are 13% of its matmul FLOPs, so that leaving half of them out is not much
  EXPECT_EQ(run({"count", "gpt2"}).out.find("causality"), std::string::npos);
  for (const char* phase : {"forward", "prefill", "decode", "train"}) {
    const Json flops = json({"count", "gemma-3-1b", "--phase", phase, "--tokens", "700"}).at("flops");
    EXPECT_EQ(flops.at("matmul_exact"),
              json({"count", "gemma-3-1b", "--phase", phase, "--tokens", "700", "--causal", "exact"})
                  .at("flops")
                  .at("matmul"))
        << phase;
  }
}

TEST_F(ProgramTest, GroupsByLayerTensorAndOp) {
  for (const std::string by : {"layer", "tensor", "op"}) {
    const Json report = json({"count", "gemma-2-2b", "--by", by});
    EXPECT_EQ(sum_of(report.at("parameters").at("by_" + by)), report.at("parameters").at("total"));
    EXPECT_EQ(sum_of(report.at("flops").at("by_" + by)), report.at("flops").at("matmul"));
  }
  const Result folded = run({"count", "gpt2", "--by", "layer"});
  EXPECT_NE(folded.out.find("layers 0–11"), std::string::npos);
  // every second layer of gpt-oss sees a window only
  const Result mixed = run({"count", "gpt-oss-20b", "--by", "layer", "--phase", "decode"});
  EXPECT_NE(mixed.out.find("layers 0, 2, 4, …, 22"), std::string::npos) << mixed.out;
}

TEST_F(ProgramTest, ReportsWhatAWeightFileHolds) {
  const Json report = json({"count", project_folder() + "/tests/data/tiny/gpt2"});
  EXPECT_EQ(report.at("file").at("complete"), true);
  EXPECT_EQ(report.at("file").at("expected_elements"), report.at("parameters").at("total"));
  EXPECT_FALSE(json({"count", "gpt2"}).contains("file"));
}

// Of the header alone: 263 tokens, 64 and 160 wide, 2 layers, so that blocks of 32 divide the rows of every matrix.
TEST_F(ProgramTest, CountsAndExplainsAGgufFile) {
  const fs::path folder = fs::path(project_folder()) / "tests/data/tiny/llama3-rope", path = folder_ / "model.gguf";
  std::ofstream(path, std::ios::binary) << GgufOfFolder(folder).file(DType::q8_0);
  const std::int64_t matrices = 263 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64), norms = 5 * 64;
  const Json report = json({"count", path.string()});
  EXPECT_EQ(report.at("parameters").at("total"), matrices + norms);
  const Json& file = report.at("file");
  EXPECT_EQ(file.at("complete"), true);
  EXPECT_EQ(file.at("types").at("Q8_0"),
            (Json{{"tensors", 1 + 2 * 7}, {"elements", matrices}, {"bytes", matrices / 32 * 34}}));
  const std::int64_t divisors = 8;  // of RoPE's frequencies: a tensor in GGUF, and none of the model's parameters
  EXPECT_EQ(file.at("types").at("F32"),
            (Json{{"tensors", 5 + 1}, {"elements", norms + divisors}, {"bytes", 4 * (norms + divisors)}}));
  EXPECT_EQ(file.at("bytes"), matrices / 32 * 34 + 4 * (norms + divisors));
  const Result table = run({"count", path.string()});
  EXPECT_NE(table.out.find("Q8_0"), std::string::npos) << table.out;

  const Json steps = json({"explain", path.string()}).at("steps"),
             original = json({"explain", folder.string()}).at("steps");
  ASSERT_EQ(steps.size(), original.size());
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].at("path"), original[i].at("path"));
    EXPECT_EQ(steps[i].at("flops"), original[i].at("flops"));
    parameters += steps[i].at("parameters").at("value").get<std::int64_t>() * steps[i].at("times").get<std::int64_t>();
  }
  EXPECT_EQ(parameters, matrices + norms);
}

TEST_F(ProgramTest, NamesTheConventionOfAPublication) {
  const Json report = json({"count", "gpt3-175b", "--convention", "palm", "--train-tokens", "300B"});
  EXPECT_TRUE(report.contains("convention"));
  bool found = false;
  for (const Json& rule : report.at("rules")) {
    if (rule.at("name") != "6·N·D") continue;
    found = true;
    EXPECT_NEAR(rule.at("estimate").get<double>(), 3.14e23, 0.01e23);  // Brown et al. 2020, table D.1
  }
  EXPECT_TRUE(found);
}

TEST_F(ProgramTest, TablesAreAtMostAHundredColumnsWide) {
  for (const char* model :
       {"gpt2", "mini-gpt", "llama-3.1-405b", "deepseek-v3", "gpt-oss-120b", "gemma-2-27b", "mixtral-8x7b"}) {
    for (const char* phase : {"forward", "prefill", "decode", "train"}) {
      for (const char* by : {"component", "layer", "tensor", "op"}) {
        const Result result = run({"count", model, "--phase", phase, "--by", by});
        EXPECT_EQ(result.code, 0) << result.err;
        for (const std::string& line : lines_of(result.out)) EXPECT_LE(display_width(line), 100) << line;
      }
    }
  }
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"models"},
           {"hardware"},
           {"hardware", "--sources"},
           {"compare", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "deepseek-v3"},
           {"sweep", "llama-3.1-405b", "--context", "1k..1M"},
           {"sweep", "llama-3.1-405b", "--tokens", "1T", "--batch", "1..8M"},
           {"explain", "deepseek-v3", "--phase", "train", "--batch", "15360", "--tokens", "4k"},
           {"compare", "llama-3.1-405b", "deepseek-v3", "--phase", "train", "--batch", "15360", "--tokens", "4k"}}) {
    for (const std::string& line : lines_of(run(arguments).out)) EXPECT_LE(display_width(line), 100) << line;
  }
}

TEST_F(ProgramTest, HasNoColourWhereNobodyLooks) {
  EXPECT_EQ(run({"count", "gpt2"}).out.find('\033'), std::string::npos);
}

TEST_F(ProgramTest, ListsModels) {
  const Json all = json({"models"});
  EXPECT_GT(all.at("models").size(), 50u);
  const Json some = json({"models", "GPT2-XL"});
  for (const Json& model : some.at("models"))
    EXPECT_NE(model.at("name").get<std::string>().find("gpt2-xl"), std::string::npos);
  EXPECT_EQ(lines_of(run({"models", "--format", "csv"}).out).size(), all.at("models").size() + 1);
}

TEST_F(ProgramTest, ListsHardware) {
  const Json all = json({"hardware"});
  EXPECT_EQ(all.at("schema"), "reckon.hardware/1");
  EXPECT_GE(all.at("hardware").size(), 40u);
  const Json some = json({"hardware", "H100"}).at("hardware");
  ASSERT_EQ(some.size(), 3u);  // NVL, PCIe, SXM
  EXPECT_EQ(some.at(2).at("name"), "h100-sxm");
  EXPECT_EQ(some.at(2).at("peak").at("bfloat16"), 989400000000000);
  const std::string csv = run({"hardware", "h100-sxm", "--format", "csv"}).out;
  EXPECT_NE(csv.find("h100-sxm,peak of bfloat16,989400000000000,FLOP/s"), std::string::npos) << csv;
  EXPECT_NE(csv.find("h100-sxm,link of 8 devices,450000000000,bytes/s"), std::string::npos) << csv;
  EXPECT_NE(csv.find("h100-sxm,link between nodes,50000000000,bytes/s"), std::string::npos) << csv;
  expect_complaint({"hardware", "no-such"}, 2, "no-such");
  expect_complaint({"hardware", "h1000"}, 2, "there is no hardware 'h1000' (did you mean h100?)");
}

TEST_F(ProgramTest, ShowsAProfileOfAFileAsOneThatIsKnown) {
  const fs::path file = folder_ / "mine.json";
  std::ofstream(file) << R"({"name": "mine", "kind": "gpu", "peak": {"float16": 65000000000000},
                            "memory": {"bytes": 17179869184, "bandwidth": 320000000000}})";
  const Json shown = json({"hardware", file.string()}).at("hardware");
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown.at(0).at("name"), "mine");
  EXPECT_EQ(shown.at(0).at("memory").at("bytes"), 17179869184);
  const std::string table = run({"hardware", file.string(), "--sources"}).out;
  EXPECT_NE(table.find("mine"), std::string::npos) << table;
  expect_complaint({"hardware", "./none.json"}, 1, "none.json");
}

// Of devices that have both, float16 and bfloat16 are alike; T4 has float16 alone (65 TFLOP/s), TPUs bfloat16 alone.
TEST_F(ProgramTest, ShowsWhichTypeOfSixteenBitsADeviceHas) {
  EXPECT_NE(run({"hardware", "t4"}).out.find(" 65 fp16 "), std::string::npos);
  EXPECT_NE(run({"hardware", "tpu-v4"}).out.find(" 275 bf16 "), std::string::npos);
  const std::string both = run({"hardware", "h100-sxm"}).out;
  EXPECT_NE(both.find(" 989.4 "), std::string::npos) << both;
  EXPECT_EQ(both.find("989.4 bf16"), std::string::npos) << both;
}

// Names of Hugging Face's, PyTorch's and DeepSpeed's arguments.
TEST_F(ProgramTest, TakesTypesByTheNamesThatPeopleType) {
  const auto weights = [&](const char* name) {
    return json({"memory", "gpt2", "--precision", name}).at("workload").at("types").at("weights");
  };
  EXPECT_EQ(weights("fp32"), "float32");
  EXPECT_EQ(weights("bf16"), "bfloat16");
  EXPECT_EQ(weights("fp16"), "float16");
  EXPECT_EQ(weights("fp8"), "float8_e4m3");
  EXPECT_EQ(json({"count", "gpt2", "--precision", "fp32"}).at("workload").at("precision"), "float32");
  EXPECT_EQ(json({"memory", "gpt2", "--cache", "e5m2"}).at("workload").at("types").at("cache"), "float8_e5m2");
  EXPECT_EQ(json({"memory", "gpt2", "--phase", "train", "--optimizer", "adam"}).at("workload").at("optimizer"),
            "adamw");
  expect_complaint({"count", "gpt2", "--precision", "fp8"}, 2,
                   "--precision is 'fp8'; expected one of: float32 bfloat16");
  for (const char* command : {"memory", "time", "plan"}) {
    const std::string help = run({command, "--help"}).out;
    for (const char* name : {"fp32", "bf16", "fp16", "fp8", "adam"})
      EXPECT_NE(help.find(std::string(" ") + name), std::string::npos) << command << " " << name;
  }
  for (const char* command : {"count", "train", "verify"})
    EXPECT_NE(run({command, "--help"}).out.find("also fp32, bf16"), std::string::npos) << command;
}

TEST_F(ProgramTest, ComparesSideBySide) {
  const Json report = json({"compare", "gpt2", "gpt2-xl"});
  EXPECT_EQ(report.at("models").at(1).at("parameters").at("total"), 1557611200);
  std::int64_t sum = 0;
  for (const Json& line : report.at("parameters")) sum += line.at("values").at(1).get<std::int64_t>();
  EXPECT_EQ(sum, 1557611200);
  const Json& embedding = report.at("parameters").at(0);
  EXPECT_EQ(embedding.at("values"), Json({50257 * 768, 50257 * 1600}));
  EXPECT_NEAR(embedding.at("growth").at(1).get<double>(), 1600.0 / 768.0, 1e-12);
}

// gpt-oss-120b's model card: 116.83B parameters, 5.13B active for a token (the embedding not counted).
TEST_F(ProgramTest, ShowsActiveParametersWithAndWithoutTheEmbedding) {
  const std::int64_t embedding = std::int64_t{201088} * 2880, active = 5711982912;
  const auto expect = [&](const Json& found) {
    EXPECT_EQ(found.at("active"), active);
    EXPECT_EQ(found.at("active_non_embedding"), active - embedding);
  };
  expect(json({"count", "gpt-oss-120b"}).at("parameters"));
  expect(json({"compare", "gpt2", "gpt-oss-120b"}).at("models").at(1).at("parameters"));
  expect(json({"sweep", "gpt-oss-120b", "--batch", "1..2"}).at("points").at(1));
  const std::string count = run({"count", "gpt-oss-120b"}).out, compare = run({"compare", "gpt2", "gpt-oss-120b"}).out;
  for (const char* part : {"(5.71B)", "(5.13B)"}) EXPECT_NE(count.find(part), std::string::npos) << part;
  for (const char* part : {"active for a token", "5,711,982,912", "active outside embeddings", "5,132,849,472"})
    EXPECT_NE(compare.find(part), std::string::npos) << part;
  const std::string sweep = run({"sweep", "gpt-oss-120b", "--batch", "1..2"}).out;
  EXPECT_NE(sweep.find("active"), std::string::npos);
  EXPECT_NE(sweep.find("5.71B"), std::string::npos);
  EXPECT_EQ(run({"sweep", "gpt2", "--batch", "1..2"}).out.find("active"), std::string::npos);
  const std::string csv = run({"sweep", "gpt-oss-120b", "--batch", "1..2", "--format", "csv"}).out;
  EXPECT_NE(csv.find("active outside embeddings"), std::string::npos);
  EXPECT_NE(csv.find("5132849472"), std::string::npos);
}

TEST_F(ProgramTest, ComparesTheSizesThatModelsDifferIn) {
  const std::string text = run({"compare", "gpt2", "mixtral-8x7b", "deepseek-v3"}).out;
  const auto row = [&](const std::string& name) {
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with(name + "  ")) return std::regex_replace(line.substr(name.size()), std::regex(" +"), " ");
    }
    return std::string("(no row " + name + ")");
  };
  EXPECT_EQ(row("head width"), " 64 128 192");
  EXPECT_EQ(row("latent of keys and values"), " – – 512");
  EXPECT_EQ(row("latent of queries"), " – – 1,536");
  EXPECT_EQ(row("feed-forward"), " 3,072 – 18,432");
  EXPECT_EQ(row("experts"), " – 8 256");
  EXPECT_EQ(row("active experts"), " – 2 8");
  EXPECT_EQ(row("expert width"), " – 14,336 2,048");
  EXPECT_EQ(row("shared expert width"), " – – 2,048");
  EXPECT_EQ(row("KV cache of a token"), " 36.00 KiB 128.00 KiB 68.62 KiB");
  EXPECT_EQ(run({"compare", "gpt2", "gpt2-xl"}).out.find("experts"), std::string::npos);
}

TEST_F(ProgramTest, ComparesAtOneLengthAndSaysSo) {
  const auto tokens = [&](const std::vector<std::string>& arguments) {
    std::vector<std::int64_t> found;
    const Json report = json(arguments);
    for (const Json& model : report.at("models")) {
      const Json& workload = model.at("workload");
      found.push_back(workload.at("past").get<std::int64_t>() + workload.at("tokens").get<std::int64_t>());
    }
    return found;
  };
  using Lengths = std::vector<std::int64_t>;
  EXPECT_EQ(tokens({"compare", "llama-2-7b", "gpt2"}), (Lengths{1024, 1024}));
  EXPECT_EQ(tokens({"compare", "llama-2-7b", "gpt2", "--phase", "decode"}), (Lengths{1024, 1024}));
  EXPECT_EQ(tokens({"compare", "llama-2-7b", "gpt2", "--tokens", "8"}), (Lengths{8, 8}));
  EXPECT_EQ(tokens({"compare", "llama-2-7b", "gpt2", "--phase", "decode", "--past", "8"}), (Lengths{9, 9}));
  EXPECT_EQ(tokens({"compare", "llama-2-7b", "gpt2", "--context", "2k"}), (Lengths{2048, 2048}));
  const std::string text = run({"compare", "llama-2-7b", "gpt2"}).out;
  EXPECT_NE(text.find("All at a context of 1,024 tokens, the shortest among them (gpt2)"), std::string::npos) << text;
  EXPECT_EQ(run({"compare", "gpt2", "gpt2-xl"}).out.find("shortest"), std::string::npos);
}

TEST_F(ProgramTest, SweepsTheContextByDoubling) {
  const Json report = json({"sweep", "cs336-gpt2-xl", "--context", "1k..16k"});
  const Json& points = report.at("points");
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points.front().at("value"), 1024);
  EXPECT_EQ(points.front().at("matmul"), 4513336524800);
  EXPECT_TRUE(points.front().at("growth").is_null());
  EXPECT_EQ(points.back().at("value"), 16384);
  // scores and mixing grow 256 times, everything else 16 times
  EXPECT_EQ(points.back().at("scores_and_mixing").get<std::int64_t>(),
            256 * points.front().at("scores_and_mixing").get<std::int64_t>());
  for (const char* part : {"feed_forward", "projections", "head"}) {
    EXPECT_EQ(points.back().at(part).get<std::int64_t>(), 16 * points.front().at(part).get<std::int64_t>());
  }
}

TEST_F(ProgramTest, SweepsInEqualStepsToo) {
  const auto values = [&](const std::vector<std::string>& arguments) {
    const Json report = json(arguments);
    std::vector<std::int64_t> found;
    for (const Json& point : report.at("points")) found.push_back(point.at("value"));
    return found;
  };
  EXPECT_EQ(values({"sweep", "gpt2", "--layers", "2..8:3"}), (std::vector<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(values({"sweep", "gpt2", "--batch", "1..9", "--steps", "3"}), (std::vector<std::int64_t>{1, 5, 9}));
  EXPECT_EQ(values({"sweep", "llama-2-7b", "--phase", "decode", "--past", "0..5"}),
            (std::vector<std::int64_t>{0, 1, 2, 4, 5}));
}

// The figures are worked out in count_test.cpp.
TEST_F(ProgramTest, CountsAWholeTrainingBatchExactlyInEveryForm) {
  const std::vector<std::string> step{"count", "llama-3.1-405b", "--phase", "train", "--batch", "2k", "--tokens", "8k"};
  const auto in = [&](const char* format) {
    std::vector<std::string> arguments = step;
    arguments.insert(arguments.end(), {"--format", format});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  EXPECT_NE(in("json").find("\"matmul\": 44047315418008780800,"), std::string::npos);
  EXPECT_NE(in("csv").find("44047315418008780800"), std::string::npos);
  for (const char* format : {"table", "markdown"}) {
    const std::string text = in(format);
    EXPECT_NE(text.find("44,047,315,418,008,780,800 (44.05 EFLOP)"), std::string::npos) << text;
  }
  for (const std::string& line : lines_of(in("table"))) EXPECT_LE(display_width(line), 100) << line;
}

// Training takes 12·L·T²·d FLOPs of scores and mixing a sequence, L = 126, d = 16,384, T = 3·10⁹: 2.23e26, and so
// 1.14e38 for 512·10⁹ sequences, 2.28e38 for twice as many. 2¹²⁷ is 1.70e38.
TEST_F(ProgramTest, ASweepThatCannotFinishPrintsWhatThereIsAndFails) {
  const Result result = run(
      {"sweep", "llama-3.1-405b", "--phase", "train", "--tokens", "3B", "--batch", "256B..1024B", "--format", "csv"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(lines_of(result.out).size(), 3u) << result.out;  // the head, 256B and 512B
  EXPECT_NE(result.err.find("the sweep ends before --batch 1024000000000"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("is past 2^127 - 1"), std::string::npos) << result.err;
}

// Three layers more each time: the difference is that of three blocks, and nothing is left out on the way.
TEST_F(ProgramTest, SweepsTheDepthToItsLimitInSteps) {
  const Json points = json({"sweep", "deepseek-v3", "--layers", "1..100000:3"}).at("points");
  ASSERT_EQ(points.size(), 33'334u);
  // attention, two norms, router, 256 experts and a shared one of 3·d·2,048, with d = 7,168
  const std::int64_t block = 187'107'328 + 2 * 7'168 + 256 * 7'168 + std::int64_t{257} * 3 * 7'168 * 2'048;
  EXPECT_EQ(points.back().at("value"), 100'000);
  EXPECT_EQ(points[20].at("parameters"), 671'026'404'352);
  EXPECT_EQ(points.back().at("parameters"), 671'026'404'352 + (100'000 - 61) * block);
}

TEST_F(ProgramTest, AnInterruptedSweepPrintsWhatThereIsAndFails) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  const pid_t child = start({"sweep", "gpt2", "--batch", "1..1M:2", "--format", "csv"});
  ASSERT_GT(child, 0);
  wait_until_it_catches_signals(child);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::kill(child, SIGINT);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  const std::size_t lines = lines_of(result.out).size();
  EXPECT_GT(lines, 2u);
  EXPECT_LT(lines, 524'288u);
  const std::regex sentence("reckon: interrupted before --batch [0-9]+, after [0-9,]+ of 524,288 points\n");
  EXPECT_TRUE(std::regex_match(result.err, sentence)) << result.err;
}

TEST_F(ProgramTest, AnInterruptedSweepSaysInItsJsonHowManyPointsWereAskedFor) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  const pid_t child = start({"sweep", "gpt2", "--batch", "1..1M:2", "--format", "json"});
  ASSERT_GT(child, 0);
  wait_until_it_catches_signals(child);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::kill(child, SIGINT);
  const Json report = Json::parse(end(child).out);
  EXPECT_EQ(report.at("of_points"), 524'288);
  EXPECT_LT(report.at("points").size(), 524'288u);
}

// Steps are an amount, as `--help` says: 1k of them are 1,000.
TEST_F(ProgramTest, ASweepOfAThousandStepsHasAThousandPoints) {
  const Json report = json({"sweep", "gpt2", "--batch", "1..1M", "--steps", "1k"});
  EXPECT_EQ(report.at("points").size(), 1'000u);
  EXPECT_EQ(report.at("of_points"), 1'000);
}

TEST_F(ProgramTest, WritesReportsAndChartsToFiles) {
  const fs::path table = folder_ / "table.md", chart = folder_ / "chart.svg";
  const Result result = run({"sweep", "gpt2", "--layers", "2..8", "--format", "markdown", "--output", table.string(),
                             "--svg", chart.string()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(text_of(table).find("| layers |"), std::string::npos);
  EXPECT_TRUE(text_of(chart).starts_with("<svg"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4);  // and nothing else beside stdout and stderr
}

TEST_F(ProgramTest, TakesADashForStandardOutput) {
  EXPECT_EQ(run({"count", "gpt2", "--output", "-"}).out, run({"count", "gpt2"}).out);
  const fs::path table = folder_ / "table.md";
  const Result both = run({"sweep", "gpt2", "--layers", "2..8", "--svg", "-", "--output", table.string()});
  EXPECT_TRUE(both.out.starts_with("<svg")) << both.out;
  EXPECT_NE(text_of(table), "");
  const Result drawing = run({"sweep", "gpt2", "--layers", "2..8", "--svg", "-"});
  EXPECT_EQ(drawing.out, both.out);  // no table behind it
  for (std::vector<std::string> command : {std::vector<std::string>{"sweep", "gpt2", "--layers", "2..8"},
                                           {"memory", "gpt2"},
                                           {"time", "gpt2", "--on", "h100"},
                                           {"quantize", "gpt2", "--table", "--random", "1", table.string()}}) {
    command.insert(command.end(), {"--svg", "-", "--format", "json"});
    expect_complaint(command, 2, "--svg - draws to standard output in place of the report; expected no --format");
  }
  EXPECT_FALSE(fs::exists("-"));
}

TEST_F(ProgramTest, CsvIsARectangleOfPlainNumbers) {
  const std::string csv = run({"sweep", "gpt2", "--layers", "2..4", "--format", "csv"}).out;
  const std::vector<std::string> lines = lines_of(csv);
  ASSERT_EQ(lines.size(), 3u);
  // two blocks of 7,087,872 and 39,385,344 around them
  EXPECT_TRUE(lines[1].starts_with("2,53561088,")) << lines[1];
}

// A line of CSV without quoted commas.
std::vector<std::string> fields_of(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '"') {
      fields.back() += c;
    }
  }
  return fields;
}

TEST_F(ProgramTest, CountAndCompareAreTidyAsCsv) {
  using Fields = std::vector<std::string>;
  const auto check = [&](const std::vector<std::string>& arguments, const Fields& head) {
    SCOPED_TRACE(arguments[1]);
    const std::vector<std::string> lines = lines_of(run(arguments).out);
    EXPECT_EQ(fields_of(lines.at(0)), head);
    std::set<Fields> seen;
    std::map<std::string, std::string> units;
    std::map<std::string, std::map<std::string, double>> sums;  // by model and quantity
    for (std::size_t i = 1; i < lines.size(); ++i) {
      Fields fields = fields_of(lines[i]);
      EXPECT_EQ(fields.size(), head.size()) << lines[i];
      const std::string model = head.size() == 5 ? fields[0] : "";
      if (head.size() == 5) fields.erase(fields.begin());
      EXPECT_TRUE(seen.insert({model, fields[0], fields[1]}).second) << "twice: " << lines[i];
      EXPECT_FALSE(fields[0].empty()) << lines[i];
      EXPECT_FALSE(fields[3].empty()) << lines[i];
      if (fields[3] == "word") continue;
      std::size_t end = 0;
      sums[model][fields[1]] += std::stod(fields[2], &end);
      EXPECT_EQ(end, fields[2].size()) << "no plain number: " << lines[i];
    }
    return sums;
  };
  const Fields head{"component", "quantity", "value", "unit"},
      with_model{"model", "component", "quantity", "value", "unit"};
  for (const char* name : {"gpt2", "gpt-oss-20b", "deepseek-v3"}) {
    for (const char* by : {"component", "layer", "tensor", "op"}) {
      auto sums = check({"count", name, "--format", "csv", "--by", by}, head)[""];
      EXPECT_EQ(sums.at("parameters"), sums.at("all parameters")) << by;  // no subtotals among the parts
      EXPECT_DOUBLE_EQ(sums.at("matmul FLOPs"), sums.at("all matmul FLOPs")) << by;
      EXPECT_DOUBLE_EQ(sums.at("element-wise FLOPs"), sums.at("all element-wise FLOPs")) << by;
    }
  }
  auto train = check({"count", "gpt2", "--format", "csv", "--phase", "train", "--convention", "palm"}, head)[""];
  EXPECT_EQ(train.at("training state"), 16.0 * 124439808);
  EXPECT_DOUBLE_EQ(train.at("matmul FLOPs of a stage"), train.at("all matmul FLOPs"));
  auto compared = check({"compare", "gpt2", "gpt2", "mixtral-8x7b", "--format", "csv"}, with_model);
  EXPECT_EQ(compared.size(), 3u);
  EXPECT_EQ(compared.at("gpt2").at("parameters"), 124439808);
  EXPECT_EQ(compared.at("gpt2 (2)").at("KV cache of a token"), 12 * 2 * 768 * 2);
  EXPECT_EQ(compared.at("mixtral-8x7b").at("n_experts"), 8);
  check({"count", project_folder() + "/tests/data/tiny/gpt2", "--format", "csv"}, head);
}

TEST_F(ProgramTest, ExitsWithTwoAndASentenceOnWrongUse) {
  expect_complaint({"count", "gtp2"}, 2, "gpt2");
  expect_complaint({"cuont", "gpt2"}, 2, "did you mean count?");
  expect_complaint({"count", "gpt2", "--layrs", "3"}, 2, "did you mean --layers?");
  expect_complaint({"count"}, 2, "MODEL is required");
  expect_complaint({"count", "gpt2", "more"}, 2, "unknown argument 'more'");
  expect_complaint({"count", "gpt2", "--layers"}, 2, "--layers has no value");
  expect_complaint({"count", "gpt2", "--layers", "2", "--layers", "3"}, 2, "more than once");
  expect_complaint({"count", "gpt2", "--phase", "backward"}, 2, "forward prefill decode train");
  expect_complaint({"count", "gpt2", "--format", "xml"}, 2, "table json csv markdown");
  expect_complaint({"count", "gpt2", "--context", "1k..2k"}, 2, "range");
  expect_complaint({"count", "gpt2", "--tokens", "2k"}, 2, "learned positions");
  expect_complaint({"count", "gpt2", "--encoder-tokens", "77"}, 2, "no cross-attention");
  expect_complaint({"help"}, 2, "unknown command 'help'; did you mean `reckon --help`?");
  expect_complaint({"help", "count"}, 2, "did you mean `reckon count --help`?");
  expect_complaint({"version"}, 2, "did you mean `reckon --version`?");
  expect_complaint({"compare", "gpt2"}, 2, "two models");
  expect_complaint({"sweep", "gpt2"}, 2, "no option is a range");
  expect_complaint({"sweep", "gpt2", "--layers", "1..4", "--batch", "1..4"}, 2, "--layers and --batch");
  expect_complaint({"sweep", "gpt2", "--layers", "8..4"}, 2, "goes up");
  expect_complaint({"models", "no-such"}, 2, "no-such");
  expect_complaint({"completion", "tcsh"}, 2, "bash zsh fish");
}

TEST_F(ProgramTest, RefusesSizesThatAreNoWholeNumbers) {
  for (const char* text : {"1.5x", "-3", "0", "", "1.", ".5", "k", "12 ", "0x10", "1e", "1,024", "99999999999999999999",
                           "9223372036854775808", "9999999T", "1.0001k"}) {
    const Result result = run({"count", "gpt2", std::string("--layers=") + text});
    EXPECT_EQ(result.code, 2) << text << result.err;
  }
}

TEST_F(ProgramTest, ReadsSizesWithUnits) {
  EXPECT_EQ(json({"count", "mini-gpt", "--vocab", "1.5k"}).at("architecture").at("vocab_size"), 1536);
  EXPECT_EQ(json({"count", "mini-gpt", "--tokens", "2M"}).at("workload").at("tokens"), 2 << 20);
  EXPECT_EQ(json({"count", "mini-gpt", "--vocab", "1B"}).at("architecture").at("vocab_size"), 1000000000);
  EXPECT_EQ(json({"count", "mini-gpt", "--vocab", "3e5"}).at("architecture").at("vocab_size"), 300000);
}

TEST_F(ProgramTest, ExitsWithOneOnBadData) {
  expect_complaint({"count", "./no/such/folder"}, 1, "no such file");
  std::ofstream(folder_ / "config.json") << "{ \"model_type\": ";
  expect_complaint({"count", folder_.string()}, 1, "not JSON");
  expect_complaint({"count", "gpt2", "--output", (folder_ / "no" / "file").string()}, 1, "cannot be written");
}

TEST_F(ProgramTest, NotesTokensPastTheContext) {
  const Result result = run({"count", "llama-2-7b", "--tokens", "8k"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "reckon: note: 8,192 tokens are past llama-2-7b's context of 4,096\n");
}

TEST_F(ProgramTest, HelpsOnEveryCommand) {
  const Result top = run({"--help"});
  EXPECT_EQ(top.code, 0);
  for (const char* command : {"count", "explain", "models", "hardware", "compare", "sweep", "generate", "score",
                              "logits", "verify", "tokenize", "tokenizer", "serve", "completion"}) {
    EXPECT_NE(top.out.find(std::string("\n  ") + command), std::string::npos) << command;
    const Result help = run({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Examples:\n"), std::string::npos) << help.out;
    EXPECT_NE(help.out.find(std::string("Usage: reckon ") + command), std::string::npos) << help.out;
    for (const char* leak : {"INT", "POSITIVE", "FLOAT"}) EXPECT_EQ(help.out.find(leak), std::string::npos) << help.out;
  }
  EXPECT_EQ(run({"--version"}).out.substr(0, 7), "reckon ");
}

TEST_F(ProgramTest, EndsQuietlyWhenItsReaderGoesAway) {
  const std::string command = reckon_program() + " models 2> " + (folder_ / "err").string() + " | head -1 > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of(folder_ / "err"), "");
}

}  // namespace
}  // namespace reckon
