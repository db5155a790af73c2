// reckon train and reckon report, as a person uses them: what they leave behind, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>

#include "paths.h"
#include "program_fixture.h"
#include "train/run_folder.h"

namespace reckon {
namespace {

using Words = std::vector<std::string>;

class TrainProgram : public ProgramTest {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  // A few steps of mini-gpt on a small text as bytes.
  Words quick(const std::string& out, const Words& more = {}) const {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "Once there were " + std::to_string(i * i) + " birds in a tree.\n";
    put("birds.txt", text);
    Words words = {"train",    "mini-gpt", "--tokenizer", "bytes",   "--steps",        "6",
                   "--batch",  "2",        "--out",       path(out), "--threads",      "1",
                   "--sample", "Once",     "--warmup",    "0",       "--eval-windows", "4"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--text") == more.end())
      words.insert(words.end(), {"--text", path("birds.txt")});
    return words;
  }

  std::vector<Json> lines(const std::string& out, const std::string& kind) const {
    std::vector<Json> found;
    std::ifstream file(folder_ / out / "metrics.jsonl");
    for (std::string text; std::getline(file, text);) {
      Json line = Json::parse(text);
      if (line["kind"] == kind) found.push_back(std::move(line));
    }
    return found;
  }

  std::string checkpoint(const std::string& out, const std::string& file) const {
    return text_of(path(out) + "/checkpoints/step-000006/" + file);
  }
};

TEST_F(TrainProgram, ARunLeavesACheckpointThatIsAModel) {
  const Result result = run(quick("run"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("reckon generate " + path("run") + "/checkpoints/step-000006"), std::string::npos);
  const Result generated = run({"generate", path("run") + "/checkpoints/step-000006", "Once", "--tokens", "5"});
  EXPECT_EQ(generated.code, 0) << generated.err;
  const auto steps = lines("run", "step");
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_NEAR(steps[0]["loss"].get<double>(), std::log(256.0), 0.3);
  EXPECT_LT(steps[5]["loss"].get<double>(), steps[0]["loss"].get<double>());
  EXPECT_DOUBLE_EQ(steps[5]["lr"].get<double>(), 1e-4);
  EXPECT_EQ(lines("run", "sample").size(), 1u);
  EXPECT_FALSE(lines("run", "layers").empty());
}

TEST_F(TrainProgram, TrainsOnTheReferenceToo) {
  for (const std::string device : {"cpu", "reference"}) {
    Words words = {"train",     "mini-gpt", "--tokenizer", "bytes",          "--steps",  "2",    "--batch",        "1",
                   "--context", "8",        "--out",       path(device),     "--sample", "Once", "--eval-windows", "2",
                   "--device",  device,     "--text",      path("birds.txt")};
    put("birds.txt", std::string(400, 'a') + "Once there were birds in a tree.\n");
    const Result result = run(words);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  const auto cpu = lines("cpu", "step"), reference = lines("reference", "step");
  ASSERT_EQ(reference.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(reference[i]["loss"].get<double>(), cpu[i]["loss"].get<double>(), 1e-4);
  expect_complaint(quick("narrow", {"--device", "reference", "--precision", "bfloat16"}), 2, "trains in float32");
}

TEST_F(TrainProgram, AnInterruptedAndResumedRunEndsWithTheSameBytes) {
  for (const std::string& precision : {std::string("float32"), std::string("bfloat16")}) {
    const Words more = {"--precision", precision, "--dropout", "0.1", "--accumulate", "2"};
    ASSERT_EQ(run(quick("whole-" + precision, more)).code, 0);
    Words first = quick("parts-" + precision, more);
    *(std::find(first.begin(), first.end(), "--steps") + 1) = "6";
    first.insert(first.end(), {"--save-every", "2", "--keep", "5", "--eval-every", "5"});
    ASSERT_EQ(run(first).code, 0);
    fs::remove_all(folder_ / ("parts-" + precision) /
                   "checkpoints/step-000006");  // as if it had been killed after step 5
    fs::remove_all(folder_ / ("parts-" + precision) / "checkpoints/step-000004");
    const Result resumed = run({"train", "--resume", "--out", path("parts-" + precision), "--threads", "2"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "config.json", "tokenizer.json"}) {
      EXPECT_EQ(checkpoint("whole-" + precision, file), checkpoint("parts-" + precision, file)) << file;
    }
    EXPECT_EQ(lines("parts-" + precision, "step").size(), 6u);
  }
}

TEST_F(TrainProgram, AnInterruptGivesUpALongStepAndLeavesTheLastWholeOne) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "there is no /proc";
  const pid_t child = start(quick("run", {"--accumulate", "20000"}));
  ASSERT_GT(child, 0);
  wait_until_it_catches_signals(child);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ::kill(child, SIGINT);
  const Result result = end(child);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("reckon: interrupted after step 0, which is saved"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints/step-000000/model.safetensors"));
}

TEST_F(TrainProgram, SaysWhereARunGoesOnWithOtherArithmeticThanItBeganWith) {
  ASSERT_EQ(run(quick("run")).code, 0);
  const fs::path saved = folder_ / "run/checkpoints/step-000006", copy = folder_ / "copy";
  auto state = nlohmann::ordered_json::parse(text_of(saved / "training.json"));
  ASSERT_FALSE(state["arithmetic"]["instruction_set"].get<std::string>().empty());
  state.erase("files");
  state.erase("hash");
  fs::rename(saved, copy);
  fs::remove(copy / "training.json");
  const auto resumed = [&] {
    fs::remove_all(folder_ / "run/checkpoints/step-000007");
    RunFolder(folder_ / "run")
        .save(
            6, [&](const fs::path& to) { fs::copy(copy, to); }, state);
    return run({"train", "--resume", "--out", path("run"), "--steps", "7"});
  };
  EXPECT_EQ(resumed().err, "");
  state["arithmetic"] = {{"instruction_set", "Z80"}, {"openblas", "OpenBLAS 9 Zilog"}};
  const Result elsewhere = resumed();
  EXPECT_EQ(elsewhere.code, 0);
  EXPECT_TRUE(elsewhere.err.starts_with("reckon: note: the checkpoint was made with Z80 and OpenBLAS 9 Zilog, and "))
      << elsewhere.err;
  EXPECT_EQ(std::count(elsewhere.err.begin(), elsewhere.err.end(), '\n'), 1);
  state.erase("arithmetic");  // of a checkpoint from before it was written
  EXPECT_EQ(resumed().err, "");
}

TEST_F(TrainProgram, SaysWhatDiffersWhereARunIsResumedWithAnother) {
  ASSERT_EQ(run(quick("run")).code, 0);
  expect_complaint({"train", "mini-gpt", "--tokenizer", "bytes", "--layers", "3", "--resume", "--out", path("run")}, 2,
                   "num_hidden_layers is 3 here and 2 there");
  expect_complaint(quick("run", {"--resume", "--lr", "0.5"}), 2, "--lr is 0.5 here and 0.001 there");
  expect_complaint(quick("run"), 2, "holds a run already");
}

TEST_F(TrainProgram, RefusesAChangedOrTruncatedCheckpointAndFallsBackOnlyIfAsked) {
  ASSERT_EQ(run(quick("run", {"--save-every", "3"})).code, 0);
  const std::string file = path("run") + "/checkpoints/step-000006/model.safetensors";
  std::string bytes = text_of(file);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  expect_complaint({"train", "--resume", "--out", path("run")}, 1,
                   "'model.safetensors' was changed since it was written");
  fs::resize_file(file, bytes.size() - 4);
  expect_complaint({"train", "--resume", "--out", path("run")}, 1, "--fall-back goes on from the checkpoint before it");
  const Result result = run({"train", "--resume", "--fall-back", "--out", path("run")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(run({"train", "--resume", "--out", path("run")}).code, 0);
}

TEST_F(TrainProgram, ANamedTokenizerSetsTheVocabularyWithItsSpecialTokens) {
  // Sizes as tiktoken gives them (n_vocab). Ranks of the bytes alone are enough to read a text.
  std::string ranks;
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t byte = 0; byte < 256; ++byte)
    ranks += digits.substr(byte >> 2, 1) + digits.substr((byte & 3) << 4, 1) + "== " + std::to_string(byte) + "\n";
  fs::create_directories(folder_ / "data/tokenizers");
  ::setenv("RECKON_DATA", path("data").c_str(), 1);
  const auto trained = [&](const std::string& model, const std::string& name, const Words& more = {}) {
    put("data/tokenizers/" + name + ".tiktoken", ranks);
    Words words = quick(model + "-" + name, {"--layers", "1", "--d-model", "8", "--heads", "1", "--context", "8"});
    words[1] = model;
    *(std::find(words.begin(), words.end(), "--tokenizer") + 1) = name;
    *(std::find(words.begin(), words.end(), "--steps") + 1) = "1";
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto vocabulary = [&](const std::string& model, const std::string& name) {
    const Result result = run(trained(model, name));
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(text_of(path(model + "-" + name) + "/checkpoints/step-000001/config.json"))["vocab_size"];
  };
  EXPECT_EQ(vocabulary("mini-gpt", "gpt2"), 50'257);
  EXPECT_EQ(vocabulary("gpt2", "gpt2"), 50'257);
  EXPECT_EQ(vocabulary("mini-gpt", "cl100k_base"), 100'277);
  EXPECT_EQ(vocabulary("mini-gpt", "o200k_base"), 200'019);
  // The special tokens have rows of their own: --vocab cannot cut them off. It is said before any text is read.
  fs::remove_all(path("mini-gpt-gpt2"));
  expect_complaint(trained("mini-gpt", "gpt2", {"--vocab", "50256", "--text", path("none.txt")}), 2,
                   "reckon: the tokenizer gpt2 has 50,257 tokens, but --vocab is 50,256\n");
  Words further = quick("further", {"--text", path("none.txt")});
  further[1] = project_folder() + "/tests/data/tiny/gpt2";  // 257 tokens, and weights
  further[3] = "gpt2";
  expect_complaint(further, 2, "reckon: the tokenizer gpt2 has 50,257 tokens, but the model's vocabulary is 257\n");
  ::unsetenv("RECKON_DATA");
}

TEST_F(TrainProgram, RefusesAnEmptySampleBeforeItTrains) {
  Words words = quick("run");
  *(std::find(words.begin(), words.end(), "--sample") + 1) = "";
  expect_complaint(words, 2, "--sample is empty, and the tokenizer begins a text with no token of its own");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(TrainProgram, RefusesTextThatIsEmptyOrShorterThanTheContext) {
  put("empty.txt", "");
  put("short.txt", "Only a few words.");
  expect_complaint(quick("a", {"--text", path("empty.txt")}), 1, "empty.txt");
  expect_complaint(quick("b", {"--text", path("short.txt")}), 1, "the text has 17 tokens");
  expect_complaint(quick("c", {"--text", path("none.txt")}), 1, "none.txt");
}

TEST_F(TrainProgram, LeavesNothingBehindWhereItFailsBeforeTheFirstStep) {
  put("short.txt", "Only a few words.");
  fs::create_directory(folder_ / "mine");
  put("mine/notes.txt", "mine");
  expect_complaint(quick("runs/new", {"--text", path("none.txt")}), 1, "none.txt");    // no such text
  expect_complaint(quick("runs/new", {"--text", path("short.txt")}), 1, "17 tokens");  // found once it is tokenized
  expect_complaint(quick("mine", {"--text", path("short.txt")}), 1, "17 tokens");
  expect_complaint({"train", "gpt3-175b", "--tokenizer", "bytes", "--out", path("runs/new")}, 1,
                   "the weights, gradients and moments of gpt3-175b take 2.5");  // TiB
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_ / "mine")) names.push_back(entry.path().filename().string());
  EXPECT_EQ(names, std::vector<std::string>{"notes.txt"});
}

TEST_F(TrainProgram, RefusesAReportThatCannotBeWrittenBeforeItTrains) {
  expect_complaint(quick("run", {"--report", path("nowhere/run.html")}), 1, "nowhere/run.html: cannot be written");
  expect_complaint(quick("run", {"--report", folder_.string()}), 1, "cannot be written");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  EXPECT_EQ(run(quick("run", {"--report", path("run/page.html")})).code, 0);  // in a folder that the run makes
  EXPECT_TRUE(fs::exists(folder_ / "run/page.html"));
}

TEST_F(TrainProgram, SaysHowMuchMemoryAStepNeedsAndHowMuchThereIs) {
  Words words = quick("run");
  *(std::find(words.begin(), words.end(), "--batch") + 1) = "1000000000";
  const Result result = run(words);
  EXPECT_EQ(result.code, 1);
  const std::regex sentence(
      "reckon: a step of 1,000,000,000 × 32 tokens needs [0-9.]+ TiB of memory, [0-9.]+ MiB of it for weights, "
      "gradients and moments and [0-9.]+ TiB for activations, but this machine has [0-9.]+ [GT]iB; .*\n");
  EXPECT_TRUE(std::regex_match(result.err, sentence)) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(TrainProgram, ASampleCannotControlTheTerminalItIsShownOn) {
  // On a terminal that is no more than one (TERM=dumb), so that there are lines and no panel.
  const Result result = run_on_terminal(quick("run"), "dumb");
  ASSERT_EQ(result.code, 0) << result.out;
  const std::string sample = lines("run", "sample")[0]["text"];
  const auto control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F; };
  ASSERT_TRUE(std::any_of(sample.begin(), sample.end(), control));  // six steps do not teach it much
  EXPECT_FALSE(std::any_of(result.out.begin(), result.out.end(), control)) << result.out;
  EXPECT_NE(result.out.find("\uFFFD"), std::string::npos);
}

// Nothing would fill what it attends to.
TEST_F(TrainProgram, RefusesAModelThatAttendsToAnEncoder) {
  Json config = Json::parse(text_of(project_folder() + "/tests/data/tiny/gpt2/config.json"));
  config["add_cross_attention"] = true;
  put("config.json", config.dump());
  expect_complaint({"train", path("config.json"), "--tokenizer", "bytes", "--steps", "1", "--out", path("run")}, 2,
                   "attends to an encoder's output; only models without an encoder run, or train");
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(TrainProgram, NamesAModelFromAPipe) {
  put("config.json", text_of(project_folder() + "/tests/data/tiny/gpt2/config.json"));
  Words words = quick("run");
  words[1] = "-";
  const Result result = run(words, path("config.json"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("stdin · ")) << result.out;
  EXPECT_EQ(lines("run", "run").at(0).at("model"), "stdin");
}

TEST_F(TrainProgram, WrapsItsLastSentencesAtWords) {
  ::setenv("COLUMNS", "40", 1);
  const std::string out = run(quick("run")).out;
  ::unsetenv("COLUMNS");
  const std::size_t at = out.find("\n6 steps in ");
  ASSERT_NE(at, std::string::npos) << out;
  const std::string sentence = out.substr(at + 1, out.find("\n\n", at) - at - 1);
  EXPECT_NE(sentence.find("over all that is held\nout"), std::string::npos) << sentence;
  std::istringstream lines(sentence);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40u) << line;
}

TEST_F(TrainProgram, OffersNoEncoder) {
  EXPECT_EQ(run({"train", "--help"}).out.find("--cross-attention"), std::string::npos);
  expect_complaint({"train", "mini-gpt", "--cross-attention"}, 2, "unknown option '--cross-attention'");
}

TEST_F(TrainProgram, RefusesIdsPastTheVocabulary) {
  ASSERT_EQ(run(quick("run")).code, 0);
  std::string tokens;
  for (const auto& entry : fs::directory_iterator(folder_ / "run/data")) tokens = entry.path().string();
  expect_complaint({"train", "mini-gpt", "--vocab", "100", "--tokens", tokens, "--steps", "2", "--out", path("small")},
                   1, "has a vocabulary of 256 tokens; expected at most 100");
  expect_complaint({"train", "mini-gpt", "--tokens", path("run/metrics.jsonl"), "--out", path("other")}, 1,
                   "is no token file");
}

TEST_F(TrainProgram, StopsWhereTheLossIsNotFiniteAndKeepsTheLastGoodCheckpoint) {
  const Result result =
      run(quick("run", {"--lr", "1e30", "--schedule", "constant", "--clip", "0", "--save-every", "1", "--decay", "0"}));
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("reckon: step "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the last good checkpoint is " + path("run") + "/checkpoints/step-"), std::string::npos)
      << result.err;
}

TEST_F(TrainProgram, AFullDiskIsOneSentenceAndLeavesTheCheckpointBeforeItWhole) {
  ASSERT_EQ(run(quick("run")).code, 0);
  // No file may have more than 100 blocks of 1,024 bytes; the weights have more.
  const std::string command = "trap '' XFSZ; ulimit -f 100; " + reckon_program() + " train --resume --steps 8 --out " +
                              path("run") + " > /dev/null 2> " + path("err");
  EXPECT_NE(std::system(("bash -c '" + std::regex_replace(command, std::regex("'"), "'\\''") + "'").c_str()), 0);
  const std::string error = text_of(path("err"));
  EXPECT_NE(error.find(" could not be saved"), std::string::npos) << error;
  EXPECT_NE(error.find("checkpoints/step-000006 is whole"), std::string::npos) << error;
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
  EXPECT_EQ(run({"train", "--resume", "--steps", "8", "--out", path("run")}).code, 0);
  expect_complaint({"train", "mini-gpt", "--out", "/dev/null/run"}, 1, "/dev/null/run/checkpoints: cannot be made");
}

TEST_F(TrainProgram, WhatItSaysToTryNextWorks) {
  const Result trained = run(quick("run"));
  const std::string hint =
      "reckon generate " + path("run") + "/checkpoints/step-000006 \"Once\" --tokens 100 --window\n";
  EXPECT_NE(trained.out.find(hint), std::string::npos) << trained.out;  // the context is 32
  EXPECT_EQ(run({"generate", path("run") + "/checkpoints/step-000006", "Once", "--tokens", "100", "--window"}).code, 0);
  EXPECT_NE(trained.out.find("--steps 12\n"), std::string::npos) << trained.out;
  const Result resumed = run({"train", "--resume", "--out", path("run"), "--steps", "12"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("goes on after step 6\n"), std::string::npos) << resumed.out;
  EXPECT_EQ(lines("run", "run").back()["settings"]["steps"], 12);
  expect_complaint({"train", "--resume", "--out", path("run"), "--steps", "7"}, 2, "the run has done 12 already");
}

TEST_F(TrainProgram, SaysWhatShareOfItsSentencesTheGrammarOfTheStoriesAccepts) {
  const Result stories = run({"train", "mini-gpt", "--steps", "1", "--eval-windows", "8", "--out", path("stories")});
  const std::regex share("Of its sentences, [0-9]+% are such as the grammar of the stories writes");
  EXPECT_TRUE(std::regex_search(stories.out, share)) << stories.out;
  EXPECT_FALSE(std::regex_search(run(quick("run")).out, share));  // there is no grammar of other texts
}

TEST_F(TrainProgram, SamplesFromAModelWhoseVocabularyIsLargerThanTheTokenizers) {
  const Result result = run(quick("run", {"--vocab", "4000"}));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(lines("run", "sample").size(), 1);
}

TEST_F(TrainProgram, RefusesToReportOnNothing) {
  fs::create_directory(folder_ / "empty");
  put("empty/metrics.jsonl", "");
  expect_complaint({"report", path("empty")}, 1, "metrics.jsonl has no line of a run");
  expect_complaint({"report", path("nowhere")}, 1, "nowhere: there is no such folder");
  fs::create_directories(folder_ / "other");
  expect_complaint({"report", path("other")}, 1, "this is not the folder of a training run: it has no metrics.jsonl");
}

TEST_F(TrainProgram, RefusesSettingsThatMakeNoSense) {
  expect_complaint(quick("run", {"--seed", "-1"}), 2, "--seed is -1; expected 0 to");
  expect_complaint(quick("run", {"--seed", "99999999999999999999"}), 2, "--seed is '99999999999999999999'; expected");
  expect_complaint(quick("run", {"--lr", "fast"}), 2, "--lr is 'fast'; expected a number");
  expect_complaint(quick("run", {"--lr", "0"}), 2, "--lr is 0; expected a number above 0");
  expect_complaint(quick("run", {"--schedule", "step"}), 2, "expected one of: cosine linear constant wsd");
  expect_complaint(quick("run", {"--init", "zero"}), 2, "expected one of: gpt2 scaled");
  expect_complaint(quick("run", {"--keep", "0"}), 2, "--keep is 0; expected a whole number from 1");
  expect_complaint({"train", "--resume", "--out", path("nothing")}, 2, "holds no checkpoint");
  expect_complaint({"train", "--resume"}, 2, "--resume needs --out");
  expect_complaint({"train", "gpt2", "--positions", "rope", "--out", path("x")}, 2,
                   "a config.json of type gpt2 cannot say");
  EXPECT_FALSE(fs::exists(folder_ / "run/checkpoints/step-000006"));
}

TEST_F(TrainProgram, TheReportIsOnePageWithoutAnythingFromElsewhere) {
  ASSERT_EQ(run(quick("run", {"--report", path("run.html")})).code, 0);
  const std::string page = text_of(path("run.html"));
  // Labels of the axis such as "8e-04", and numbers, stay on one line.
  for (const char* rule : {".y { white-space: nowrap;", "td:nth-child(2), td:nth-child(3) { white-space: nowrap; }"})
    EXPECT_NE(page.find(rule), std::string::npos) << rule;
  for (const char* part : {"<svg", "Norm of the gradient", "Update to weight", "equal to the byte", "Once"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* outside : {"http://", "https://", "src=", "href="}) EXPECT_EQ(page.find(outside), std::string::npos);
  ASSERT_EQ(run({"report", path("run"), "--output", path("again.html")}).code, 0);
  EXPECT_EQ(text_of(path("again.html")), page);
}

TEST_F(TrainProgram, TrainsATokenizerAndLearnsTheEmbeddedStoriesWhereNothingIsSaid) {
  const Result result =
      run({"train", "mini-gpt", "--steps", "2", "--batch", "1", "--eval-windows", "2", "--out", path("run")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(lines("run", "run")[0]["settings"]["tokenizer"], "train:512");
  EXPECT_NEAR(lines("run", "step")[0]["loss"].get<double>(), std::log(512.0), 0.3);
}

TEST_F(TrainProgram, NanoGptsFormIsAModelThatReadsBack) {
  const Result result = run({"train",     "gpt2", "--layers", "2",         "--heads",      "2",     "--d-model", "32",
                             "--context", "16",   "--bias",   "no",        "--tokenizer",  "bytes", "--steps",   "2",
                             "--batch",   "2",    "--out",    path("run"), "--validation", "0"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json counted = json({"count", path("run") + "/checkpoints/step-000002"});
  // 256·32 + 16·32 embeddings, 2 layers of 12·32² + 2·32, a norm of 32.
  EXPECT_EQ(counted["parameters"]["total"], 256 * 32 + 16 * 32 + 2 * (12 * 32 * 32 + 64) + 32);
}

}  // namespace
}  // namespace reckon
