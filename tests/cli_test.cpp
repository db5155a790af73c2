// The program as a person or a script uses it: exit codes, sentences, forms, figures.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "report/text.h"

extern char** environ;

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Result {
  int code = -1;
  std::string out, err;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "reckon-cli-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), RECKON_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const fs::path out = folder_ / "stdout", err = folder_ / "stderr";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, RECKON_PROGRAM, &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return {};
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
  }

  Json json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--format", "json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }

  // One sentence on stderr, nothing on stdout.
  void expect_complaint(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("reckon: ")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }

  fs::path folder_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::int64_t sum_of(const Json& rows) {
  std::int64_t sum = 0;
  for (const Json& row : rows) sum += row.at("value").get<std::int64_t>();
  return sum;
}

TEST_F(Program, CountsGpt2AsPublished) {
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

TEST_F(Program, GivesEveryCountAsAnIntegerThatAddsUp) {
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
        for (const char* key : {"name", "meaning", "unit", "estimate", "exact", "error"}) EXPECT_TRUE(rule.contains(key)) << rule;
      }
    }
  }
}

TEST_F(Program, SplitsTrainingIntoForwardAndBackward) {
  const Json report = json({"count", "cs336-gpt2-xl", "--phase", "train"});
  const Json& flops = report.at("flops");
  EXPECT_EQ(flops.at("forward_matmul"), 4513336524800);
  EXPECT_EQ(flops.at("forward_matmul").get<std::int64_t>() + flops.at("backward_matmul").get<std::int64_t>(), flops.at("matmul"));
  EXPECT_FALSE(json({"count", "gpt2"}).at("flops").contains("forward_matmul"));
}

TEST_F(Program, TakesModifiers) {
  EXPECT_EQ(json({"count", "gpt2", "--qkv-bias", "no"}).at("parameters").at("total"), 124412160);
  EXPECT_EQ(json({"count", "gpt2", "--qkv-bias", "no", "--tied", "no"}).at("parameters").at("total"), 163009536);
  EXPECT_EQ(json({"count", "mini-gpt", "--positions", "learned"}).at("parameters").at("total"), 131392 + 2048);
  // Swish-gated with 8/3·d: three matrices of 2,048·768 for two of 3,072·768
  EXPECT_EQ(json({"count", "gpt2", "--bias", "no", "--ffn", "swiglu", "--d-ff", "match"}).at("parameters").at("total"),
            json({"count", "gpt2", "--bias", "no"}).at("parameters").at("total"));
  EXPECT_EQ(json({"count", "cs336-gpt2-xl", "--context", "16k"}).at("workload").at("tokens"), 16384);
}

TEST_F(Program, CountsCausalScoresOnlyWhenAsked) {
  const Json full = json({"count", "mini-gpt"}), exact = json({"count", "mini-gpt", "--causal", "exact"});
  EXPECT_EQ(full.at("flops").at("causal"), "full");
  EXPECT_EQ(exact.at("flops").at("causal"), "exact");
  // 2 layers, scores and mixing: 2·2·64 FLOPs a pair; 32·32 pairs or 32·33/2
  EXPECT_EQ(full.at("flops").at("matmul").get<std::int64_t>() - exact.at("flops").at("matmul").get<std::int64_t>(),
            2 * 2 * 2 * 64 * (32 * 32 - 32 * 33 / 2));
}

TEST_F(Program, GroupsByLayerTensorAndOp) {
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

TEST_F(Program, ReportsWhatAWeightFileHolds) {
  const Json report = json({"count", std::string(RECKON_SOURCE_DIR) + "/tests/data/tiny/gpt2"});
  EXPECT_EQ(report.at("file").at("complete"), true);
  EXPECT_EQ(report.at("file").at("expected_elements"), report.at("parameters").at("total"));
  EXPECT_FALSE(json({"count", "gpt2"}).contains("file"));
}

TEST_F(Program, NamesTheConventionOfAPublication) {
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

TEST_F(Program, TablesAreAtMostAHundredColumnsWide) {
  for (const char* model : {"gpt2", "mini-gpt", "llama-3.1-405b", "deepseek-v3", "gpt-oss-120b", "gemma-2-27b", "mixtral-8x7b"}) {
    for (const char* phase : {"forward", "prefill", "decode", "train"}) {
      for (const char* by : {"component", "layer", "tensor", "op"}) {
        const Result result = run({"count", model, "--phase", phase, "--by", by});
        EXPECT_EQ(result.code, 0) << result.err;
        for (const std::string& line : lines_of(result.out)) EXPECT_LE(display_width(line), 100) << line;
      }
    }
  }
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"models"}, {"compare", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "deepseek-v3"}, {"sweep", "llama-3.1-405b", "--context", "1k..1M"}}) {
    for (const std::string& line : lines_of(run(arguments).out)) EXPECT_LE(display_width(line), 100) << line;
  }
}

TEST_F(Program, HasNoColourWhereNobodyLooks) {
  EXPECT_EQ(run({"count", "gpt2"}).out.find('\033'), std::string::npos);
}

TEST_F(Program, ListsModels) {
  const Json all = json({"models"});
  EXPECT_GT(all.at("models").size(), 50u);
  const Json some = json({"models", "GPT2-XL"});
  for (const Json& model : some.at("models")) EXPECT_NE(model.at("name").get<std::string>().find("gpt2-xl"), std::string::npos);
  EXPECT_EQ(lines_of(run({"models", "--format", "csv"}).out).size(), all.at("models").size() + 1);
}

TEST_F(Program, ComparesSideBySide) {
  const Json report = json({"compare", "gpt2", "gpt2-xl"});
  EXPECT_EQ(report.at("models").at(1).at("parameters").at("total"), 1557611200);
  std::int64_t sum = 0;
  for (const Json& line : report.at("parameters")) sum += line.at("values").at(1).get<std::int64_t>();
  EXPECT_EQ(sum, 1557611200);
  const Json& embedding = report.at("parameters").at(0);
  EXPECT_EQ(embedding.at("values"), Json({50257 * 768, 50257 * 1600}));
  EXPECT_NEAR(embedding.at("growth").at(1).get<double>(), 1600.0 / 768.0, 1e-12);
}

TEST_F(Program, SweepsTheContextByDoubling) {
  const Json report = json({"sweep", "cs336-gpt2-xl", "--context", "1k..16k"});
  const Json& points = report.at("points");
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points.front().at("value"), 1024);
  EXPECT_EQ(points.front().at("matmul"), 4513336524800);
  EXPECT_TRUE(points.front().at("growth").is_null());
  EXPECT_EQ(points.back().at("value"), 16384);
  // scores and mixing grow 256 times, everything else 16 times
  EXPECT_EQ(points.back().at("scores_and_mixing").get<std::int64_t>(), 256 * points.front().at("scores_and_mixing").get<std::int64_t>());
  for (const char* part : {"feed_forward", "projections", "head"}) {
    EXPECT_EQ(points.back().at(part).get<std::int64_t>(), 16 * points.front().at(part).get<std::int64_t>());
  }
}

TEST_F(Program, SweepsInEqualStepsToo) {
  const auto values = [&](const std::vector<std::string>& arguments) {
    const Json report = json(arguments);
    std::vector<std::int64_t> found;
    for (const Json& point : report.at("points")) found.push_back(point.at("value"));
    return found;
  };
  EXPECT_EQ(values({"sweep", "gpt2", "--layers", "2..8:3"}), (std::vector<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(values({"sweep", "gpt2", "--batch", "1..9", "--steps", "3"}), (std::vector<std::int64_t>{1, 5, 9}));
  EXPECT_EQ(values({"sweep", "llama-2-7b", "--phase", "decode", "--past", "0..5"}), (std::vector<std::int64_t>{0, 1, 2, 4, 5}));
}

TEST_F(Program, WritesReportsAndChartsToFiles) {
  const fs::path table = folder_ / "table.md", chart = folder_ / "chart.svg";
  const Result result = run({"sweep", "gpt2", "--layers", "2..8", "--format", "markdown", "--output", table.string(), "--svg", chart.string()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(text_of(table).find("| layers |"), std::string::npos);
  EXPECT_TRUE(text_of(chart).starts_with("<svg"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4);  // and nothing else beside stdout and stderr
}

TEST_F(Program, CsvIsARectangleOfPlainNumbers) {
  const std::string csv = run({"sweep", "gpt2", "--layers", "2..4", "--format", "csv"}).out;
  const std::vector<std::string> lines = lines_of(csv);
  ASSERT_EQ(lines.size(), 3u);
  // two blocks of 7,087,872 and 39,385,344 around them
  EXPECT_TRUE(lines[1].starts_with("2,53561088,")) << lines[1];
}

TEST_F(Program, ExitsWithTwoAndASentenceOnWrongUse) {
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
  expect_complaint({"compare", "gpt2"}, 2, "two models");
  expect_complaint({"sweep", "gpt2"}, 2, "no option is a range");
  expect_complaint({"sweep", "gpt2", "--layers", "1..4", "--batch", "1..4"}, 2, "--layers and --batch");
  expect_complaint({"sweep", "gpt2", "--layers", "8..4"}, 2, "goes up");
  expect_complaint({"models", "no-such"}, 2, "no-such");
  expect_complaint({"completion", "tcsh"}, 2, "bash zsh fish");
}

TEST_F(Program, RefusesSizesThatAreNoWholeNumbers) {
  for (const char* text : {"1.5x", "-3", "0", "", "1.", ".5", "k", "12 ", "0x10", "1e", "1,024", "99999999999999999999", "9223372036854775808", "9999999T", "1.0001k"}) {
    const Result result = run({"count", "gpt2", std::string("--layers=") + text});
    EXPECT_EQ(result.code, 2) << text << result.err;
  }
}

TEST_F(Program, ReadsSizesWithUnits) {
  EXPECT_EQ(json({"count", "mini-gpt", "--vocab", "1.5k"}).at("architecture").at("vocab_size"), 1536);
  EXPECT_EQ(json({"count", "mini-gpt", "--tokens", "2M"}).at("workload").at("tokens"), 2 << 20);
  EXPECT_EQ(json({"count", "mini-gpt", "--vocab", "1B"}).at("architecture").at("vocab_size"), 1000000000);
  EXPECT_EQ(json({"count", "mini-gpt", "--vocab", "3e5"}).at("architecture").at("vocab_size"), 300000);
}

TEST_F(Program, ExitsWithOneOnBadData) {
  expect_complaint({"count", "./no/such/folder"}, 1, "no such file");
  std::ofstream(folder_ / "config.json") << "{ \"model_type\": ";
  expect_complaint({"count", folder_.string()}, 1, "not JSON");
  expect_complaint({"count", "gpt2", "--output", (folder_ / "no" / "file").string()}, 1, "cannot be written");
}

TEST_F(Program, NotesTokensPastTheContext) {
  const Result result = run({"count", "llama-2-7b", "--tokens", "8k"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "reckon: note: 8,192 tokens are past llama-2-7b's context of 4,096\n");
}

TEST_F(Program, HelpsOnEveryCommand) {
  const Result top = run({"--help"});
  EXPECT_EQ(top.code, 0);
  for (const char* command : {"count", "models", "compare", "sweep", "completion"}) {
    EXPECT_NE(top.out.find(std::string("\n  ") + command), std::string::npos) << command;
    const Result help = run({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Examples:\n"), std::string::npos) << help.out;
    EXPECT_NE(help.out.find(std::string("Usage: reckon ") + command), std::string::npos) << help.out;
  }
  EXPECT_EQ(run({"--version"}).out.substr(0, 7), "reckon ");
}

TEST_F(Program, CompletesCommandsOptionsAndPresets) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Result result = run({"completion", shell});
    EXPECT_EQ(result.code, 0);
    for (const char* word : {"compare", "norm-position", "mixtral-8x7b", "layernorm rmsnorm"}) {
      EXPECT_NE(result.out.find(word), std::string::npos) << shell << word;
    }
  }
}

TEST_F(Program, BashTakesItsCompletionScript) {
  std::ofstream(folder_ / "script") << run({"completion", "bash"}).out;
  const std::string command = "bash -c 'source " + (folder_ / "script").string() +
                              "; COMP_WORDS=(reckon count gpt2 --phase tr); COMP_CWORD=4; _reckon; echo ${COMPREPLY[@]}' > " +
                              (folder_ / "reply").string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of(folder_ / "reply"), "train\n");
}

TEST_F(Program, EndsQuietlyWhenItsReaderGoesAway) {
  const std::string command = std::string(RECKON_PROGRAM) + " models 2> " + (folder_ / "err").string() + " | head -1 > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of(folder_ / "err"), "");
}

}  // namespace
}  // namespace reckon
