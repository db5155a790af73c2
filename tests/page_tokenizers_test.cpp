// The page's tokenizers: pieces in their places, characters that tokens share, and what is refused.
#include "page_fixture.h"

namespace reckon {
namespace {

using PageTokenizers = PageTest;

TEST_F(PageTokenizers, PiecesLieInTheTextByteByByte) {
  const Json bytes = ask("tokenizer", {{"name", "bytes"}}, "TokenizerReply");
  EXPECT_EQ(bytes["vocab"], 256);
  const Json encoded = ask("encode", {{"tokenizer", bytes["tokenizer"]}, {"text", "aé"}}, "EncodeReply");
  EXPECT_EQ(encoded["ids"], Json::parse("[97, 195, 169]"));
  EXPECT_EQ(encoded["tokens"], 3);
  EXPECT_EQ(encoded["bytes"], 3);
  EXPECT_EQ(encoded["exact"], true);
  EXPECT_EQ(encoded["decoded"], "aé");
  // é is C3 A9: two tokens, neither of which is a character.
  EXPECT_EQ(encoded["pieces"],
            Json::parse(R"([{"id": 97, "text": "a", "kind": "word", "begin": 0, "end": 1, "joined": false},
                            {"id": 195, "text": null, "bytes": [195], "kind": "part of a character", "begin": 1, "end": 2,
                             "joined": false},
                            {"id": 169, "text": null, "bytes": [169], "kind": "part of a character", "begin": 2, "end": 3,
                             "joined": true}])"));
  types_.expect("PlacedPiece", encoded["pieces"][1]);
}

TEST_F(PageTokenizers, GivesAsManyPiecesAsAskedForAndCountsThemAll) {
  const Json bytes = ask("tokenizer", {{"name", "bytes"}});
  const Json encoded = ask("encode", {{"tokenizer", bytes["tokenizer"]}, {"text", "aéz"}, {"most", 2}});
  EXPECT_EQ(encoded["tokens"], 4);
  EXPECT_EQ(encoded["ids"].size(), 2u);
  EXPECT_EQ(encoded["decoded"], "a");  // half a character is not shown
}

TEST_F(PageTokenizers, TrainsOnATextWritesItsFileAndReadsItBack) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the cat sat on the mat and the hat\n";
  put("cats.txt", text);
  const Json trained = ask("train_tokenizer", {{"text", {path("cats.txt")}}, {"vocab", 270}}, "TrainedTokenizerReply");
  EXPECT_EQ(trained["vocab"], 270);
  EXPECT_EQ(trained["merges"], 14);
  EXPECT_EQ(trained["text_bytes"], text.size());
  const Json tokenizer = trained["tokenizer"];
  ask("save_tokenizer", {{"tokenizer", tokenizer}, {"path", path("tokenizer.json")}});
  const Json again = ask("tokenizer", {{"name", path("tokenizer.json")}});
  const Json one = ask("encode", {{"tokenizer", tokenizer}, {"text", "the cat"}});
  EXPECT_EQ(one, ask("encode", {{"tokenizer", again["tokenizer"]}, {"text", "the cat"}}));
  EXPECT_LT(one["tokens"], 7);
  EXPECT_EQ(ask("decode", {{"tokenizer", tokenizer}, {"ids", one["ids"]}})["text"], "the cat");
  const Json tokens = ask("tokens", {{"tokenizer", tokenizer}, {"first", 256}, {"count", 100}})["tokens"];
  EXPECT_EQ(tokens.size(), 14u);
  types_.expect("Piece", tokens[0]);
  // What is trained on the command line is the same, token by token.
  ASSERT_EQ(run({"tokenizer", "train", path("cats.txt"), "--vocab", "270", "--out", path("mine")}).code, 0);
  EXPECT_EQ(text_of(path("mine/tokenizer.json")), text_of(path("tokenizer.json")));
}

TEST_F(PageTokenizers, SaysWhereATokenizerChangesTheText) {
  const fs::path tokenizers = fs::path(project_folder()) / "tests/data/tokenizer";
  for (const auto& entry : fs::recursive_directory_iterator(tokenizers)) {
    if (entry.path().filename() != "tokenizer.json") continue;
    const Json read = ask("tokenizer", {{"name", entry.path().string()}});
    if (read.contains("error")) continue;
    const std::string text = "naïve café — 日本語 🎈 one";
    const Json encoded = ask("encode", {{"tokenizer", read["tokenizer"]}, {"text", text}, {"special", false}});
    EXPECT_EQ(encoded["exact"], encoded["decoded"] == text) << entry.path();
    std::size_t at = 0;
    for (const Json& piece : encoded["pieces"]) {
      EXPECT_EQ(piece["begin"], at) << entry.path();
      at = piece["end"].get<std::size_t>();
    }
    EXPECT_EQ(at, encoded["decoded"].get<std::string>().size()) << entry.path();
  }
}

TEST_F(PageTokenizers, AForgottenHandleNamesNothing) {
  const Json handle = ask("tokenizer", {{"name", "bytes"}})["tokenizer"];
  ask("forget", {{"handle", handle}});
  EXPECT_EQ(page_.size(), 0u);
  EXPECT_EQ(error("encode", {{"tokenizer", handle}, {"text", "a"}}),
            "there is nothing with the handle " + handle.dump());
  EXPECT_EQ(error("forget", {{"handle", handle}}), "there is nothing with the handle " + handle.dump());
  EXPECT_NE(ask("tokenizer", {{"name", "bytes"}})["tokenizer"], handle);
}

}  // namespace
}  // namespace reckon
