// reckon tokenizer train as a person or a script uses it.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "program_fixture.h"
#include "report/progress.h"

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
  expect(folder_.string(), {"--vocab", "300"}, 1, "is a folder");
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
  EXPECT_EQ(progress_text("merging", 0.999, 61.5, 12), "99%");
  EXPECT_EQ(progress_text("merging", 2, 0, 30), "merging ━━━━━━ 100% · 0 s left");
}

}  // namespace
}  // namespace reckon
