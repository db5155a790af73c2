// reckon tokenize as a person or a script uses it, with the tokenizer in tests/data (ids by Hugging Face tokenizers).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "paths.h"
#include "program_fixture.h"

namespace reckon {
namespace {

const std::string golden = project_folder() + "/tests/data/tokenizer/shakespeare8k.tokenizer.json";

TEST_F(ProgramTest, TokenizePrintsIdsAndDecodesThem) {
  EXPECT_EQ(run({"tokenize", "--tokenizer", golden, "Once upon a time"}).out, "3527 597 258 673\n");
  EXPECT_EQ(run({"tokenize", "--tokenizer", golden, "--decode", "3527 597,258 673"}).out, "Once upon a time\n");
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", "Aé"}).out, "65 195 169\n");
}

TEST_F(ProgramTest, TokenizeWritesTheSameToAFile) {
  const std::string file = (folder_ / "ids").string();
  EXPECT_EQ(run({"tokenize", "--tokenizer", golden, "Once upon a time", "--output", file}).code, 0);
  EXPECT_EQ(text_of(file), "3527 597 258 673\n");
  EXPECT_EQ(run({"tokenize", "--tokenizer", golden, "Once upon a time", "--output", "-"}).out, "3527 597 258 673\n");
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", "--decode", "27,255", "--output", file}).code, 0);
  EXPECT_EQ(text_of(file), "\033\xff\n");
}

TEST_F(ProgramTest, TokenizeGivesIdsAndPiecesAsJson) {
  const Json tokens = json({"tokenize", "--tokenizer", golden, "Once upon"});
  EXPECT_EQ(tokens.at("ids"), Json({3527, 597}));
  EXPECT_EQ(tokens.at("pieces"), Json({"Once", " upon"}));
}

TEST_F(ProgramTest, DecodedIdsAreReportedToo) {
  const Json tokens = json({"tokenize", "--tokenizer", golden, "--decode", "3527,597", "--count", "--show"});
  EXPECT_EQ(tokens.at("pieces"), Json({"Once", " upon"}));
  EXPECT_EQ(tokens.at("statistics").at("bytes"), 9);
}

TEST_F(ProgramTest, TokenizeShowsEmojiCodeAndChinese) {
  const std::string text = "🙂 x = a[i]; 你好\n";
  const Json tokens = json({"tokenize", "--tokenizer", "bytes", "--show", "--count", text});
  EXPECT_EQ(tokens.at("ids").size(), text.size());
  EXPECT_EQ(tokens.at("pieces").at(0), "\uFFFD");  // the first byte of four
  const std::string out = run({"tokenize", "--tokenizer", golden, "--show", text}).out;
  // Shakespeare has no such characters, so they are shown byte by byte; a line break by its sign.
  EXPECT_NE(out.find("\\xf0|"), std::string::npos) << out;
  EXPECT_NE(out.find("⏎"), std::string::npos) << out;
  EXPECT_NE(out.find("e4"), std::string::npos) << out;
}

TEST_F(ProgramTest, TokenizeCountsAFileByKind) {
  std::ofstream(folder_ / "text") << "Once upon a time 7!\n";
  const std::string file = (folder_ / "text").string();
  const Json statistics = json({"tokenize", "--tokenizer", "bytes", "--file", file, "--count"}).at("statistics");
  EXPECT_EQ(statistics.at("bytes"), 20);
  EXPECT_EQ(statistics.at("tokens"), 20);
  EXPECT_EQ(statistics.at("kinds").at("word").at("tokens"), 13);
  EXPECT_EQ(statistics.at("kinds").at("number").at("tokens"), 1);
  EXPECT_EQ(statistics.at("kinds").at("symbol").at("tokens"), 1);
  EXPECT_EQ(statistics.at("kinds").at("white space").at("tokens"), 5);
}

TEST_F(ProgramTest, TokenizeShowsPiecesWithIdsAndBytes) {
  const std::string out = run({"tokenize", "--tokenizer", golden, "--show", "Once upon"}).out;
  EXPECT_EQ(out.substr(0, out.find('\n')), "Once| upon");
  EXPECT_NE(out.find("20 75 70 6f 6e"), std::string::npos) << out;
}

TEST_F(ProgramTest, AnEmptyTextIsATextWithoutTokens) {
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", ""}).out, "\n");
  EXPECT_EQ(json({"tokenize", "--tokenizer", "bytes", ""}).at("ids"), Json::array());
  EXPECT_EQ(json({"tokenize", "--tokenizer", "bytes", "", "--count"}).at("statistics").at("tokens"), 0);
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", "", "--show"}).code, 0);
  std::ofstream(folder_ / "empty");
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", "--file", (folder_ / "empty").string()}).out, "\n");
  // A tokenizer that puts its own first token before every text.
  const std::string first = (folder_ / "first.json").string();
  Json tokenizer = Json::parse(text_of(golden));
  tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "!"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", Json::array()},
      {"special_tokens", {{"!", {{"id", "!"}, {"ids", {0}}, {"tokens", {"!"}}}}}}};
  std::ofstream(first) << tokenizer;
  EXPECT_EQ(run({"tokenize", "--tokenizer", first, ""}).out, "0\n");
  EXPECT_EQ(run({"tokenize", "--tokenizer", first, "", "--no-special"}).out, "\n");
}

TEST_F(ProgramTest, NamesOnlyTokenizersThatCanBeHad) {
  // Ranks of OpenAI's other encodings are read where they are, but nothing fetches them.
  for (const char* name : {"p50k_base", "nothing-here"}) {
    expect_complaint({"tokenize", "--tokenizer", name, "a"}, 1,
                     std::string("there is no tokenizer '") + name +
                         "'; expected bytes, one of the names gpt2 cl100k_base o200k_base, a file or a folder");
  }
}

TEST_F(ProgramTest, SaysThatHomeIsNotSetWhereVocabulariesAreLookedForThere) {
  std::map<std::string, std::string> before;
  for (const char* name : {"HOME", "XDG_DATA_HOME", "RECKON_DATA"}) {
    if (const char* value = std::getenv(name)) before[name] = value;
    ::unsetenv(name);
  }
  expect_complaint({"tokenize", "--tokenizer", "gpt2", "a"}, 1, "HOME is not set");
  EXPECT_EQ(run({"tokenize", "--tokenizer", "bytes", "a"}).out, "97\n");
  for (const auto& [name, value] : before) ::setenv(name.c_str(), value.c_str(), 1);
}

TEST_F(ProgramTest, TokenizeSaysWhatIsWrong) {
  expect_complaint({"tokenize"}, 2, "no text is given; expected one of TEXT, --file and --decode");
  expect_complaint({"tokenize", "a", "--decode", "1"}, 2, "several texts are given");
  expect_complaint({"tokenize", "--tokenizer", golden, "--decode", "8192"}, 2,
                   "id 8192 is outside the vocabulary of 8,192 tokens");
  expect_complaint({"tokenize", "--tokenizer", "nothing-here", "a"}, 1, "there is no tokenizer 'nothing-here'");
  expect_complaint({"tokenize", "--tokenizer", golden, "--decode", "-1"}, 2,
                   "id -1 is outside the vocabulary of 8,192 tokens");
  expect_complaint({"tokenize", "--tokenizer", "bytes", "a", "--format", "xml"}, 2, "table json csv markdown");
  expect_complaint({"tokenize", "--tokenizer", "bytes", "--file", (folder_ / "none").string()}, 1, "cannot be opened");
  const std::string cut = (folder_ / "tokenizer.json").string(), whole = text_of(golden);
  std::ofstream(cut) << whole.substr(0, whole.size() / 2);
  expect_complaint({"tokenize", "--tokenizer", cut, "a"}, 1, "tokenizer.json");
  std::ofstream(cut)
      << R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": {"type": "Precompiled"}})";
  expect_complaint({"tokenize", "--tokenizer", cut, "a"}, 1, "normalizer.type is 'Precompiled'; expected one of");
}

}  // namespace
}  // namespace reckon
