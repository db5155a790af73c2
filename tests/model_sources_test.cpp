// Where a model may come from on the command line, and what is said about how it was read.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "paths.h"
#include "program_fixture.h"

namespace reckon {
namespace {

const char* const small =
    R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                              "intermediate_size": 128, "vocab_size": 100, "_attn_implementation_autoset": true})";
// 2·100·64 + 2·(4·64² + 3·64·128 + 2·64) + 64
constexpr std::int64_t small_parameters = 12'800 + 2 * (16'384 + 24'576 + 128) + 64;

class ModelSource : public ProgramTest {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }
};

TEST_F(ModelSource, MayBeStandardInput) {
  const Result result = run({"count", "-", "--format", "json"}, put("config", small));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json report = Json::parse(result.out);
  EXPECT_EQ(report["model"], "standard input");
  EXPECT_EQ(report["parameters"]["total"], small_parameters);
  const Result broken = run({"count", "-"}, put("broken", "{"));
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.err, "reckon: standard input: not JSON from line 1, byte 2 of the file on\n");
  const Result trained =
      run({"train", "-", "--steps", "1", "--batch", "1", "--vocab", "300", "--context", "16", "--out", path("run")},
          put("config", small));
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(ModelSource, MayBeAPipeOrAFileOfAnyName) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << small; });
  const Json report = json({"count", pipe});
  writer.join();
  EXPECT_EQ(report["parameters"]["total"], small_parameters);
  EXPECT_EQ(json({"count", put("llama.cfg", small)})["parameters"]["total"], small_parameters);
}

TEST_F(ModelSource, SaysWhatIsLeftOutOnStandardErrorAndInJson) {
  const std::string note =
      "a further layer (num_nextn_predict_layers), which predicts a token after the next, is counted apart";
  const Result counted = run({"count", "deepseek-v3"});
  EXPECT_EQ(counted.code, 0);
  EXPECT_EQ(counted.err, "reckon: note: deepseek-v3: " + note + "\n");
  EXPECT_EQ(json({"count", "deepseek-v3"})["architecture"]["notes"], Json{note});
  EXPECT_EQ(json({"compare", "gpt2", "deepseek-v3"})["models"][1]["architecture"]["notes"], Json{note});
  EXPECT_EQ(json({"explain", "deepseek-v3"})["architecture"]["notes"], Json{note});
  EXPECT_EQ(run({"count", "gpt2"}).err, "");
}

// 11.5B of a layer, as README_WEIGHTS.md of DeepSeek-V3 says, and 0.1B of what joins it to the stack; of it a token
// takes 8 experts of 256.
TEST_F(ModelSource, CountsLayersThatPredictFurtherTokensApartInEveryFormat) {
  const std::int64_t layer = 11507286016, join = 2 * 7168ll * 7168 + 3 * 7168;
  const std::int64_t active = layer + join - (256 - 8) * 3 * 7168ll * 2048;
  const Json parameters = json({"count", "deepseek-v3"})["parameters"];
  EXPECT_EQ(parameters["prediction"]["total"], layer + join);
  EXPECT_EQ(parameters["prediction"]["active"], active);
  EXPECT_EQ(parameters["total"], 671026404352);
  EXPECT_FALSE(json({"count", "gpt2"})["parameters"].contains("prediction"));
  EXPECT_NE(run({"count", "deepseek-v3"})
                .out.find("11,610,067,968 (11.6B) beside these, of what predicts tokens after "
                          "the next"),
            std::string::npos);
  EXPECT_NE(run({"count", "deepseek-v3", "--format", "csv"})
                .out.find("model,parameters that predict further tokens,11610067968,parameters"),
            std::string::npos);
}

TEST_F(ModelSource, MiniGptIsSaidToBeReckonsOwn) {
  const Result result = run({"count", "mini-gpt"});
  EXPECT_NE(result.out.find("reckon's own small GPT, which transformers reads as arcee · 2 layers"), std::string::npos)
      << result.out;
  EXPECT_EQ(json({"count", "mini-gpt"})["architecture"]["family"], "arcee");
}

TEST_F(ModelSource, MayBeTheFolderOfARunInEveryCommand) {
  const std::string folder = path("run"), text = put("birds.txt", [] {
                                            std::string birds;
                                            for (int i = 0; i < 300; ++i)
                                              birds += "There were " + std::to_string(i * i) + " birds.\n";
                                            return birds;
                                          }());
  const Result trained = run({"train", "mini-gpt", "--text", text, "--tokenizer", "bytes", "--steps", "4",
                              "--save-every", "2", "--batch", "2", "--threads", "1", "--out", folder});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string note = "reckon: note: " + folder + ": the newest checkpoint of this run, step-000004, is taken\n";
  const std::vector<std::vector<std::string>> commands = {
      {"count", folder},
      {"explain", folder, "--prompt", "There were"},
      {"compare", folder, "mini-gpt"},
      {"sweep", folder, "--layers", "1..4"},
      {"generate", folder, "There were", "--tokens", "4"},
      {"score", folder, text},
      {"logits", folder, "--ids", "1,2"},
      {"verify", folder},
      {"train", folder, "--text", text, "--steps", "1", "--batch", "1", "--out", path("again")},
  };
  for (const auto& command : commands) {
    const Result result = run(command);
    EXPECT_EQ(result.code, 0) << command[0] << ": " << result.err;
    EXPECT_EQ(result.err.find(note), 0u) << command[0] << ": " << result.err;
  }
  EXPECT_EQ(json({"count", folder})["file"]["complete"], true);
}

}  // namespace
}  // namespace reckon
