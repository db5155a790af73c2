// reckon tokenizer train as a person or a script uses it.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <fstream>
#include <string>
#include <vector>

#include "paths.h"
#include "program_fixture.h"
#include "report/progress.h"
#include "run/save.h"

namespace reckon {
namespace {

TEST_F(ProgramTest, TrainsATokenizer) {
  const std::string text = (folder_ / "text.txt").string(), out = (folder_ / "made" / "here").string();
  std::ofstream(text) << "ab ab ab <s>\xFF";
  const Json report = json({"tokenizer", "train", text, text, "--vocab", "259", "--special", "<s>", "--out", out});
  EXPECT_EQ(report.at("schema"), "reckon.tokenizer-train/1");
  EXPECT_EQ(report.at("tokens"), 259);
  EXPECT_EQ(report.at("merges"), 2);
  EXPECT_EQ(report.at("text_bytes"), 26);
  EXPECT_EQ(report.at("text_tokens"), 10);  // twice: ab, Ġab, Ġab, Ġ, the byte
  const Json file = Json::parse(text_of(fs::path(out) / "tokenizer.json"));
  EXPECT_EQ(file.at("model").at("type"), "BPE");
  EXPECT_EQ(file.at("model").at("vocab").at("<s>"), 0);
  EXPECT_EQ(file.at("model").at("vocab").at("Ġab"), 258);
  EXPECT_EQ(file.at("added_tokens").at(0).at("content"), "<s>");
  EXPECT_EQ(file.at("pre_tokenizer").at("type"), "ByteLevel");
}

TEST_F(ProgramTest, NotesATextTooSmallForTheVocabulary) {
  const std::string text = (folder_ / "text.txt").string();
  std::ofstream(text) << "abc";
  const Result result = run({"tokenizer", "train", text, "--vocab", "8k", "--out", folder_.string()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "reckon: note: no pair is left to merge: 258 tokens of the 8,192 asked for were made\n");
  EXPECT_NE(result.out.find("258"), std::string::npos);
}

TEST_F(ProgramTest, TrainsOnTheFilesOfAFolderButNotOnHiddenOnes) {
  fs::create_directories(folder_ / "texts" / "more");
  std::ofstream(folder_ / "texts" / "b.txt") << "bbbb";
  std::ofstream(folder_ / "texts" / "more" / "a.txt") << "aa";
  std::ofstream(folder_ / "texts" / ".hidden") << "cccccccc";
  const Json report =
      json({"tokenizer", "train", (folder_ / "texts").string(), "--vocab", "258", "--out", (folder_ / "out").string()});
  EXPECT_EQ(report.at("text_bytes"), 6);
  EXPECT_EQ(report.at("text_tokens"), 3);  // a, a, bbbb: of pairs that occur once the greater is merged
}

TEST_F(ProgramTest, GeneratesTextWithATokenizerThatWasTrained) {
  const std::string source = project_folder();
  const std::string folder = (folder_ / "model").string();
  Json config = Json::parse(text_of(source + "/tests/data/tiny/gpt2/config.json"));
  config["vocab_size"] = 300;
  fs::create_directory(folder);
  std::ofstream(folder + "/config.json") << config;
  const Model model = load_model(folder + "/config.json");
  save_checkpoint(model, Weights::random(model, 1, DType::float32), config.dump(), folder);
  json({"tokenizer", "train", source + "/README.md", "--vocab", "290", "--special", "<|endoftext|>", "--out", folder});

  const std::string prompt = "Every size";
  Result ids = run({"tokenize", "--tokenizer", folder, prompt});
  ASSERT_EQ(ids.code, 0) << ids.err;
  const std::vector<std::string> rest = {"--tokens", "12", "--temperature", "0"};
  const auto generated = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"generate", folder});
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return json(arguments);
  };
  const Json from_text = generated({prompt}), from_ids = generated({"--ids", ids.out});
  EXPECT_EQ(from_text.at("prompt_ids"), from_ids.at("prompt_ids"));
  EXPECT_EQ(from_text.at("ids"), from_ids.at("ids"));
  ASSERT_EQ(from_text.at("ids").size(), 12u);
  std::string list;
  for (const Json& id : from_text.at("ids")) list += (list.empty() ? "" : ",") + id.dump();
  EXPECT_EQ(from_text.at("text").get<std::string>() + "\n",
            run({"tokenize", "--tokenizer", folder, "--no-special", "--decode", list}).out);

  // A vocabulary that passes the model's.
  json({"tokenizer", "train", source + "/README.md", "--vocab", "301", "--out", (folder_ / "large").string()});
  expect_complaint({"generate", folder, prompt, "--tokenizer", (folder_ / "large").string()}, 1,
                   "the tokenizer has 301 tokens, more than the vocabulary of");
}

TEST_F(ProgramTest, RefusesToTrainOnNothing) {
  const std::string text = (folder_ / "text.txt").string(), empty = (folder_ / "empty.txt").string(),
                    out = (folder_ / "out").string();
  std::ofstream(text) << "abc";
  std::ofstream(empty).flush();
  const auto expect = [&](const std::string& file, std::vector<std::string> more, int code, const std::string& part) {
    std::vector<std::string> arguments = {"tokenizer", "train", file, "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_complaint(arguments, code, part);
    EXPECT_FALSE(fs::exists(out)) << part;
  };
  expect(empty, {"--vocab", "300"}, 1, "empty.txt: is empty");
  fs::create_directory(folder_ / "folder");
  expect((folder_ / "folder").string(), {"--vocab", "300"}, 1, "there is no file in this folder");
  expect(text + "x", {"--vocab", "300"}, 1, "cannot be opened");
  expect(text, {"--vocab", "255"}, 2, "the vocabulary size is 255; expected 256");
  expect(text, {"--vocab", "256", "--special", "<s>"}, 2, "expected 257");
  expect(text, {"--vocab", "300", "--special", "<s>", "--special", "<s>"}, 2, "'<s>' is given twice");
  expect(text, {"--vocab", "300", "--special", ""}, 2, "special token is empty");
  expect(text, {"--vocab", "300", "--splitter", "gpt3"}, 2, "gpt2 cl100k qwen2 o200k");
  expect(text, {"--vocab", "300", "--threads", "0"}, 2, "--threads");
  expect(text, {"--vocab", "300", "--format", "xml"}, 2, "table json csv markdown");
  expect(text, {}, 2, "--vocab is required");
  expect_complaint({"tokenizer", "train", text, "--vocab", "300", "--out", text}, 1, "cannot be made");
  expect_complaint({"tokenizer"}, 2, "`reckon tokenizer --help` lists them");
  expect_complaint({"tokenizer", "trian"}, 2, "did you mean train?");
  EXPECT_NE(run({"tokenizer", "train", "--help"}).out.find("Usage: reckon tokenizer train"), std::string::npos);
}

TEST(Progress, FitsTheLine) {
  EXPECT_EQ(progress_text("merging", 0.5, 3, 80), "merging ━━━━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 50% · 3 s left");
  EXPECT_EQ(progress_text("merging", 0.5, -1, 20), "merging ━━━━╌╌╌╌ 50%");
  EXPECT_EQ(progress_text("merging", 0.5, 61.5, 30), "merging 50% · 1 min 2 s left");
  EXPECT_EQ(progress_text("merging", 0.999, 61.5, 12), "merging 99%");
  EXPECT_EQ(progress_text("merging", 0.999, 61.5, 10), "99%");
  EXPECT_EQ(progress_text("merging", 2, 0, 30), "merging ━━━━━━ 100% · 0 s left");
}

}  // namespace
}  // namespace reckon
