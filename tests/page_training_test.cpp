// Training as the page asks for it: the same run, to the byte, as that of the command line.
#include <cmath>
#include <limits>

#include "page_fixture.h"

namespace reckon {
namespace {

class PageTraining : public PageTest {
 protected:
  std::string birds() const {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "Once there were " + std::to_string(i * i) + " birds in a tree.\n";
    return text;
  }

  Json begin(const std::string& out, const Json& settings = Json::object(), const Json& changes = Json::object()) {
    Json all = {{"model", "mini-gpt"}, {"tokenizer", "bytes"}, {"text", {path("birds.txt")}},
                {"steps", 20},         {"batch", 2},           {"warmup", 0},
                {"sample", "Once"},    {"eval_windows", 4}};
    all.update(settings);
    put("birds.txt", birds());
    return ask("train", {{"out", path(out)}, {"settings", all}, {"changes", changes}}, "RunReply");
  }

  // Steps, one by one; all lines that came.
  std::vector<Json> steps(const Json& run, int count) {
    std::vector<Json> lines;
    for (int i = 0; i < count; ++i) {
      const Json reply = ask("advance", {{"run", run}, {"milliseconds", 0}}, "AdvanceReply");
      for (const Json& line : reply["lines"]) lines.push_back(line);
    }
    return lines;
  }

  std::vector<std::string> command(const std::string& out, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"train",    "mini-gpt", "--out",    path(out), "--batch",        "2",
                                      "--warmup", "0",        "--sample", "Once",    "--eval-windows", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void expect_same_state(const std::string& one, const std::string& other) const {
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "config.json", "tokenizer.json"}) {
      const std::string bytes = text_of(path(one) + "/checkpoints/step-000020/" + file);
      EXPECT_FALSE(bytes.empty()) << file;
      EXPECT_TRUE(bytes == text_of(path(other) + "/checkpoints/step-000020/" + file)) << file;
    }
  }
};

TEST_F(PageTraining, TellsWhatARunIsAndWhatItsLossMeans) {
  const Json begun = begin("run");
  types_.expect("RunLine", begun["facts"]);
  types_.expect("Settings", begun["facts"]["settings"]);
  EXPECT_EQ(begun["step"], 0);
  EXPECT_DOUBLE_EQ(begun["ln_vocab"].get<double>(), std::log(256.0));
  EXPECT_DOUBLE_EQ(begun["bytes_per_token"].get<double>(), 1);
  // By hand: the entropy of the characters of the first nine tenths.
  const std::string text = birds();
  const auto size = static_cast<std::size_t>(static_cast<double>(text.size()) * (1 - 0.1));
  std::map<char, double> counts;
  for (const char c : text.substr(0, size)) ++counts[c];
  double entropy = 0;
  for (const auto& [c, count] : counts)
    entropy -= count / static_cast<double>(size) * std::log(count / static_cast<double>(size));
  EXPECT_NEAR(begun["unigram_entropy"].get<double>(), entropy, 1e-12);

  const std::vector<Json> lines = steps(begun["run"], 20);
  std::map<std::string, int> kinds;
  for (const Json& line : lines) ++kinds[line["kind"].get<std::string>()];
  EXPECT_EQ(kinds["step"], 20);
  EXPECT_EQ(kinds["evaluation"], 10);
  EXPECT_EQ(kinds["sample"], 1);
  EXPECT_EQ(kinds["end"], 1);
  const std::map<std::string, std::string> names = {
      {"step", "StepLine"},   {"evaluation", "EvaluationLine"}, {"sample", "SampleLine"}, {"layers", "LayersLine"},
      {"limit", "LimitLine"}, {"statistics", "StatisticsLine"}, {"end", "EndLine"}};
  for (const Json& line : lines) types_.expect(names.at(line["kind"].get<std::string>()), line);
  EXPECT_NEAR(lines[0]["loss"].get<double>(), std::log(256.0), 0.3);
  const Json after = ask("advance", {{"run", begun["run"]}, {"milliseconds", 1000}});
  EXPECT_EQ(after["done"], true);
  EXPECT_EQ(after["lines"].size(), 0u);
  // The same lines are in the file.
  std::ifstream file(folder_ / "run/metrics.jsonl");
  std::size_t in_file = 0;
  for (std::string line; std::getline(file, line);) ++in_file;
  EXPECT_EQ(in_file, lines.size() + 1);
}

TEST_F(PageTraining, AStoryRunGoesOnOnTheCommandLineToTheSameBytes) {
  const Json begun = begin("page", {{"text", Json::array()}, {"tokenizer", "train:300"}, {"validation", 0.01}});
  steps(begun["run"], 10);
  ask("save", {{"run", begun["run"]}});
  ask("forget", {{"handle", begun["run"]}});
  const Result resumed = run({"train", "--resume", "--out", path("page")});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  ASSERT_EQ(run(command("alone", {"--steps", "20", "--tokenizer", "train:300", "--validation", "0.01"})).code, 0);
  expect_same_state("page", "alone");
}

TEST_F(PageTraining, ARunOnPastedTextGoesOnElsewhereWithoutTheText) {
  const Json begun = begin("page");
  steps(begun["run"], 10);
  EXPECT_EQ(ask("save", {{"run", begun["run"]}})["path"], path("page/checkpoints/step-000010"));
  ask("forget", {{"handle", begun["run"]}});
  ASSERT_EQ(run(command("alone", {"--steps", "20", "--tokenizer", "bytes", "--text", path("birds.txt")})).code, 0);
  fs::rename(path("page"), path("unpacked"));
  fs::remove(path("birds.txt"));
  const Result resumed = run({"train", "--resume", "--out", path("unpacked")});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  expect_same_state("unpacked", "alone");
}

TEST_F(PageTraining, ARunOfTheCommandLineGoesOnInThePage) {
  put("birds.txt", birds());
  const std::vector<std::string> usual = {"--tokenizer",     "bytes",      "--text",
                                          path("birds.txt"), "--schedule", "constant"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), usual.begin(), usual.end());
    return more;
  };
  ASSERT_EQ(run(command("both", with({"--steps", "10"}))).code, 0);
  ASSERT_EQ(run(command("alone", with({"--steps", "20"}))).code, 0);
  fs::remove(path("birds.txt"));
  const Json resumed = ask("resume", {{"out", path("both")}, {"settings", {{"steps", 20}}}}, "RunReply");
  EXPECT_EQ(resumed["step"], 10);
  EXPECT_EQ(resumed["lines"][0]["kind"], "run");
  const Json reply = ask("advance", {{"run", resumed["run"]}, {"milliseconds", 600'000}});
  EXPECT_EQ(reply["done"], true);
  expect_same_state("both", "alone");
  EXPECT_EQ(error("resume", {{"out", path("both")}, {"settings", {{"lr", 0.5}}}}),
            "`lr` cannot change when a run is resumed");
}

TEST_F(PageTraining, TakesAsManyStepsAsTheTimeAllows) {
  const Json run = begin("run", {{"steps", 1'000'000}})["run"];
  EXPECT_EQ(ask("advance", {{"run", run}, {"milliseconds", 0}})["step"], 1);
  // One step more, and where its time went.
  const Json profiled = ask("advance", {{"run", run}, {"milliseconds", 0}, {"profile", true}}, "AdvanceReply");
  std::map<std::string, std::int64_t> times;
  for (const Json& one : profiled["operations"]) times[one["operation"]] = one["times"];
  EXPECT_EQ(times["attend_backward"], 2);  // one for each layer
  EXPECT_GT(times["adamw"], 2);
  const Json reply = ask("advance", {{"run", run}, {"milliseconds", 300}});
  EXPECT_GT(reply["step"], 1);
  EXPECT_EQ(reply["done"], false);
}

TEST_F(PageTraining, TheRateChangesFromTheNextStepOnAndIsSaved) {
  const Json run = begin("run", {{"schedule", "constant"}})["run"];
  EXPECT_EQ(steps(run, 1)[0]["lr"], 1e-3);
  EXPECT_EQ(ask("rate", {{"run", run}, {"lr", 2e-4}}), (Json{{"lr", 2e-4}, {"min_lr", 2e-5}}));
  EXPECT_EQ(steps(run, 1)[0]["lr"], 2e-4);
  const std::string folder = ask("save", {{"run", run}})["path"].get<std::string>();
  EXPECT_EQ(Json::parse(text_of(folder + "/training.json"))["settings"]["lr"], 2e-4);
  EXPECT_EQ(error("rate", {{"run", run}, {"lr", -1}}), "`lr` is -1; expected a number above 0");
  EXPECT_EQ(steps(run, 1)[0]["lr"], 2e-4);
}

TEST_F(PageTraining, SamplesAndEvaluatesWithoutChangingTheRun) {
  const Json one = begin("one")["run"], other = begin("other")["run"];
  steps(one, 3);
  steps(other, 3);
  const Json sampled = ask(
      "sample", {{"run", one}, {"prompt", "Once"}, {"tokens", 40}, {"sampling", {{"temperature", 0}}}}, "SampleReply");
  EXPECT_EQ(sampled["prompt_tokens"], 4);
  EXPECT_EQ(sampled["ids"].size(), 44u);
  EXPECT_TRUE(sampled["text"].get<std::string>().starts_with("Once"));
  EXPECT_EQ(ask("evaluate", {{"run", one}})["step"], 3);
  const Json a = steps(one, 1)[0], b = steps(other, 1)[0];
  EXPECT_EQ(a["loss"], b["loss"]);
  EXPECT_EQ(a["gradient_norm"], b["gradient_norm"]);
}

TEST_F(PageTraining, IsWrittenAsTheModelThatItIsNow) {
  const Json run = begin("run")["run"];
  ask("write_model", {{"of", run}, {"path", path("first")}});
  steps(run, 2);
  ask("write_model", {{"of", run}, {"path", path("now")}});
  const std::string saved = ask("save", {{"run", run}})["path"].get<std::string>();
  for (const char* file : {"model.safetensors", "config.json", "tokenizer.json"}) {
    EXPECT_TRUE(text_of(path("now") + "/" + file) == text_of(saved + "/" + file)) << file;
  }
  EXPECT_FALSE(text_of(path("now") + "/model.safetensors") == text_of(path("first") + "/model.safetensors"));
  ask("model", {{"path", path("now")}}, "ModelReply");
}

TEST_F(PageTraining, ChangesAreThoseOfTheCommandLine) {
  const Json begun = begin("page", Json::object(),
                           {{"layers", 1}, {"d_ff", "match"}, {"ffn", "relu"}, {"tied", false}, {"context", 16}});
  EXPECT_EQ(begun["facts"]["settings"]["context"], 16);
  ASSERT_EQ(run(command("alone", {"--steps", "1", "--tokenizer", "bytes", "--text", path("birds.txt"), "--layers", "1",
                                  "--d-ff", "match", "--ffn", "relu", "--tied", "no", "--context", "16"}))
                .code,
            0);
  EXPECT_EQ(begun["config"], text_of(path("alone/checkpoints/step-000001/config.json")));
}

TEST_F(PageTraining, AFailureTellsTheLinesBeforeIt) {
  const Json run = begin("run", {{"lr", 1e30}, {"clip", 0}, {"schedule", "constant"}, {"min_lr", 1e29}})["run"];
  Json reply;
  for (int i = 0; i < 20 && !reply.contains("error"); ++i)
    reply = whole_reply("advance", {{"run", run}, {"milliseconds", 100}}).json;
  ASSERT_TRUE(reply.contains("error"));
  EXPECT_NE(reply["error"].get<std::string>().find("not finite"), std::string::npos);
  EXPECT_TRUE(reply["lines"].is_array());
}

TEST_F(PageTraining, RefusesWithASentenceAndLeavesNothingBehind) {
  put("empty.txt", "");
  put("birds.txt", birds());
  const auto train = [&](const Json& settings, const Json& changes = Json::object()) {
    return error("train", {{"out", path("run")}, {"settings", settings}, {"changes", changes}});
  };
  EXPECT_EQ(train({{"modle", "mini-gpt"}}), "there is no setting 'modle'; did you mean `model`?");
  EXPECT_EQ(train(Json::object()), "`settings` name no model; expected a preset or a path");
  EXPECT_EQ(train({{"model", 3}}), "`model` is '3'; expected a text");
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"batch", 1.5}}), "`batch` is '1.5'; expected a whole number");
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"batch", -1}}), "`batch` is -1; expected 1 to 2147483647");
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"batch", std::numeric_limits<std::int64_t>::max()}}),
            "`batch` is 9223372036854775807; expected 1 to 2147483647");
  EXPECT_NE(train({{"model", "mini-gpt"}, {"accumulate", 2147483647}, {"batch", 2147483647}}), "");
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"seed", -1}}), "`seed` is '-1'; expected a whole number");
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"text", "birds.txt"}}),
            "`text` is '\"birds.txt\"'; expected a list of texts");
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"steps", 1e300}}), "`steps` is '1e+300'; expected a whole number");
  EXPECT_NE(train({{"model", "mini-gpt"}, {"context", 8}}).find("one of the `changes`"), std::string::npos);
  EXPECT_EQ(train({{"model", "mini-gpt"}}, {{"layer", 3}}), "there is no change 'layer'; did you mean `layers`?");
  EXPECT_EQ(train({{"model", "mini-gpt"}}, {{"layers", 0}}),
            "`layers` is '0'; expected a whole number from 1 to 100000");
  EXPECT_EQ(train({{"model", "mini-gpt"}}, {{"ffn", "relu6"}}),
            "`ffn` is '\"relu6\"'; expected one of: gelu relu silu swiglu geglu");
  EXPECT_NE(train({{"model", "mini-gpt"}, {"text", {path("empty.txt")}}}).find("is empty"), std::string::npos);
  EXPECT_NE(train({{"model", "mini-gpt"}, {"text", {path("gone.txt")}}}).find("gone.txt"), std::string::npos);
  EXPECT_NE(train({{"model", "mini-gtp"}}).find("mini-gpt"), std::string::npos);
  EXPECT_EQ(train({{"model", "mini-gpt"}, {"tokenizer", "train:many"}}),
            "`tokenizer` is 'train:many'; expected train:N with N from 257 to 1073741824");
  const std::string large = train({{"model", "gpt3-175b"}, {"tokenizer", "bytes"}, {"text", {path("birds.txt")}}});
  EXPECT_NE(large.find("take"), std::string::npos) << large;
  EXPECT_NE(large.find("of memory left"), std::string::npos) << large;
  const std::string wide =
      train({{"model", "mini-gpt"}, {"tokenizer", "bytes"}, {"text", {path("birds.txt")}}, {"batch", 1'000'000'000}});
  EXPECT_NE(wide.find("a step of 1,000,000,000 × 32 tokens needs"), std::string::npos) << wide;
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_EQ(page_.size(), 0u);
  EXPECT_NE(error("resume", {{"out", path("nothing")}}).find("no checkpoint"), std::string::npos);
}

TEST_F(PageTraining, ABrokenCheckpointIsRefused) {
  const Json run = begin("run")["run"];
  steps(run, 2);
  const std::string folder = ask("save", {{"run", run}})["path"].get<std::string>();
  ask("forget", {{"handle", run}});
  for (const char* file : {"optimizer.safetensors", "model.safetensors", "training.json", "config.json"}) {
    const std::string whole = text_of(folder + "/" + file);
    std::ofstream(folder + "/" + file, std::ios::binary) << whole.substr(0, whole.size() / 2);
    EXPECT_NE(error("resume", {{"out", path("run")}}).find("step-000002"), std::string::npos) << file;
    std::ofstream(folder + "/" + file, std::ios::binary) << whole;
  }
  ask("resume", {{"out", path("run")}});
}

}  // namespace
}  // namespace reckon
