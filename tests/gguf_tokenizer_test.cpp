// Tokenizers in GGUF files: the ids of the tokenizer.json that they were made of, and the sentence for each way in
// which one can be bad. (The splitters that they name are tested in text_split_test.cpp.)
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "folder_fixture.h"
#include "gguf_fixture.h"
#include "paths.h"
#include "text/gguf_tokenizer.h"
#include "text/load.h"
#include "text/tokenizer_json.h"

namespace reckon {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<TokenId>;

const fs::path source_folder = project_folder();

Json pairs_of(const TokenizerSpec& spec, const std::string& model, const std::string& pre) {
  Json pairs = {{"tokenizer.ggml.model", model}, {"tokenizer.ggml.tokens", spec.tokens}};
  if (!pre.empty()) pairs["tokenizer.ggml.pre"] = pre;
  return pairs;
}

TokenizerSpec shakespeare() {
  return read_tokenizer((source_folder / "tests/data/tokenizer/shakespeare8k.tokenizer.json").string());
}

Json byte_level_pairs() {
  const TokenizerSpec spec = shakespeare();
  Json pairs = pairs_of(spec, "gpt2", "gpt-2");
  for (const TokenMerge& merge : spec.merges)
    pairs["tokenizer.ggml.merges"].push_back(spec.tokens[static_cast<std::size_t>(merge.left)] + " " +
                                             spec.tokens[static_cast<std::size_t>(merge.right)]);
  return pairs;
}

TEST(GgufTokenizer, ByteLevelGivesTheIdsOfTheTokenizerJson) {
  const Tokenizer tokenizer(read_gguf_tokenizer(byte_level_pairs(), "x.gguf"));
  const Json io = Json::parse(text_of(source_folder / "tests/data/tokenizer/shakespeare8k.io.json"));
  for (const auto& [text, ids] : io.items()) {
    EXPECT_EQ(tokenizer.encode(text), ids.get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode(ids.get<Ids>()), text);
  }
}

// SentencePiece's form: a score in place of a merge, the better the earlier.
TEST(GgufTokenizer, SentencePieceGivesTheIdsOfTheTokenizerJson) {
  const fs::path folder = source_folder.parent_path() / "shared/data/stories260K";
  if (!fs::exists(folder)) GTEST_SKIP() << "stories260K is not there";
  const TokenizerSpec spec = read_tokenizer(folder.string());
  Json pairs = pairs_of(spec, "llama", "");
  std::vector<double> scores(spec.tokens.size(), -1e6);
  for (std::size_t i = spec.merges.size(); i-- > 0;)
    scores[static_cast<std::size_t>(spec.merges[i].product)] = -static_cast<double>(i);
  std::vector<int> types(spec.tokens.size(), 1);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (spec.tokens[i].starts_with("<0x")) types[i] = 6;
  types[0] = 2;
  types[1] = types[2] = 3;
  pairs["tokenizer.ggml.scores"] = scores;
  pairs["tokenizer.ggml.token_type"] = types;
  const Tokenizer tokenizer(read_gguf_tokenizer(pairs, "x.gguf")), expected(spec);
  const Json io = Json::parse(text_of(folder / "io.json"));
  for (const auto& [text, ids] : io.at("encode").items()) EXPECT_EQ(tokenizer.encode(text), ids.get<Ids>()) << text;
  for (const char* text : {"", " ", "  a", "Zebra café 東京 🙂\n\n\ttab", "<s>Once<s> upon", "a\xFF"}) {
    EXPECT_EQ(tokenizer.encode(text), expected.encode(text)) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), expected.decode(expected.encode(text))) << text;
  }
}

// By hand: ▁ is put before a text, pairs with the best score go first, bytes stand for what is unknown.
Json small_pairs() {
  return {
      {"tokenizer.ggml.model", "llama"},
      {"tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁", "a", "b", "ab", "▁a", "bb", "<x>"}},
      {"tokenizer.ggml.scores", {0, 0, 0, 0, 0, -9, -9, -9, -1, -2, -3, 0}},
      {"tokenizer.ggml.token_type", {2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 4}}};
}

TEST(GgufTokenizer, MergesByScoreAndHasTheDefaultsOfItsKind) {
  const Tokenizer tokenizer(read_gguf_tokenizer(small_pairs(), "x.gguf"));
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{1, 5, 8}));  // ab before ▁a
  EXPECT_EQ(tokenizer.encode("a abb"), (Ids{1, 9, 5, 8, 7}));
  EXPECT_EQ(tokenizer.encode("é"), (Ids{1, 5, 3, 4}));
  EXPECT_EQ(tokenizer.encode("ü"), (Ids{1, 5, 0}));  // of which there are no bytes
  EXPECT_EQ(tokenizer.encode("b<x>b"), (Ids{1, 5, 7, 11, 5, 7}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 9, 5, 8, 7}, true), "a abb");
  Json pairs = small_pairs();
  pairs["tokenizer.ggml.add_space_prefix"] = false;
  pairs["tokenizer.ggml.add_bos_token"] = false;
  pairs["tokenizer.ggml.add_eos_token"] = true;
  EXPECT_EQ(Tokenizer(read_gguf_tokenizer(pairs, "x.gguf")).encode("ab"), (Ids{8, 2}));
  EXPECT_EQ(Tokenizer(read_gguf_tokenizer(pairs, "x.gguf")).encode("<x> \nb"), (Ids{11, 5, 0, 7, 2}));
  pairs["general.architecture"] = "phi3";  // whose special tokens take the white space behind them
  EXPECT_EQ(Tokenizer(read_gguf_tokenizer(pairs, "x.gguf")).encode("<x> \nb"), (Ids{11, 7, 2}));
}

// Of letters repeated 1 to n times, each by every cut: n·(n − 1)/2 pairs a letter.
Json runs_of_letters(std::size_t letters, std::size_t longest) {
  Json tokens = {"<unk>", "<s>", "</s>"};
  for (std::size_t letter = 0; letter < letters; ++letter)
    for (std::size_t length = 1; length <= longest; ++length)
      tokens.push_back(std::string(length, static_cast<char>('a' + letter)));
  const std::vector<double> scores(tokens.size(), 0);
  std::vector<int> types(tokens.size(), 1);
  types[0] = 2;
  types[1] = types[2] = 3;
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.scores", scores},
          {"tokenizer.ggml.token_type", types}};
}

TEST(GgufTokenizer, ATokenMayBeMadeOfManyPairsButNotOfMillions) {
  const TokenizerSpec spec = read_gguf_tokenizer(runs_of_letters(2, 100), "x.gguf");
  EXPECT_EQ(spec.merges.size(), 2u * 100 * 99 / 2);
  std::map<TokenId, TokenId> last;  // of each token, the longest left half so far
  for (const TokenMerge& merge : spec.merges) {
    const auto text = [&](TokenId id) { return spec.tokens[static_cast<std::size_t>(id)]; };
    ASSERT_EQ(text(merge.left) + text(merge.right), text(merge.product));
    ASSERT_LT(std::exchange(last[merge.product], merge.left), merge.left);
  }
  // 7 letters make 3.7 million, 8 make 4.2: of strings, these took gigabytes.
  EXPECT_EQ(error_of([] { read_gguf_tokenizer(runs_of_letters(8, 1024), "x.gguf"); }),
            "x.gguf: tokenizer.ggml.tokens is an array of 8195; expected tokens that at most 4,000,000 pairs of others "
            "make, but these have more");
}

TEST(GgufTokenizer, TakesEverySplitterThatItNamesAndRefusesOthersByName) {
  Json pairs = byte_level_pairs();
  for (const std::string& name : gguf_splitters()) {
    pairs["tokenizer.ggml.pre"] = name;
    const Tokenizer tokenizer(read_gguf_tokenizer(pairs, "x.gguf"));
    const std::string text = "Hello, wörld 1234!\n\n  中文 don't\n";
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {.add_special = false})), text) << name;
    // A tokenizer.json can say the same.
    const Tokenizer written(parse_tokenizer_json(write_tokenizer_json(tokenizer.spec()), "t.json"));
    EXPECT_EQ(written.encode(text), tokenizer.encode(text)) << name;
  }
  pairs["tokenizer.ggml.pre"] = "superbpe";
  EXPECT_TRUE(error_of([&] {
                read_gguf_tokenizer(pairs, "x.gguf");
              }).starts_with("x.gguf: tokenizer.ggml.pre is 'superbpe'; expected one of bloom,"));
}

TEST(GgufTokenizer, OfTokensThatAreNoTextHasNoTokenizerJson) {
  for (const int id : {10, 11}) {  // one that merges give, and one that is added
    Json pairs = small_pairs();
    pairs["tokenizer.ggml.tokens"][static_cast<std::size_t>(id)] = "\xff\xfe";
    const TokenizerSpec spec = read_gguf_tokenizer(pairs, "x.gguf");
    EXPECT_EQ(error_of([&] { write_tokenizer_json(spec); }),
              "token " + std::to_string(id) + " is '\\xff\\xfe'; expected UTF-8, which a tokenizer.json is written in");
  }
}

TEST(GgufTokenizer, IsFoundInAFile) {
  GgufFixture file;
  file.pair("general.architecture", "llama").pair("tokenizer.ggml.model", "llama");
  const Json pairs = small_pairs();
  file.array("tokenizer.ggml.tokens", pairs["tokenizer.ggml.tokens"].get<std::vector<std::string>>());
  file.array("tokenizer.ggml.scores", 6, pairs["tokenizer.ggml.scores"].get<std::vector<float>>());
  file.array("tokenizer.ggml.token_type", 5, pairs["tokenizer.ggml.token_type"].get<std::vector<std::int32_t>>());
  const fs::path path = fs::temp_directory_path() / "reckon-tokenizer-test.gguf";
  std::ofstream(path, std::ios::binary) << file.file();
  EXPECT_EQ(load_tokenizer(path.string()).encode("ab"), (Ids{1, 5, 8}));
  fs::remove(path);
}

TEST(GgufTokenizer, SaysWhatIsWrong) {
  const std::string at = "x.gguf: tokenizer.ggml.";
  const struct {
    const char* key;
    Json value;
    std::string error;
  } cases[] = {
      {"model", nullptr, "x.gguf: there is no tokenizer in this file"},
      {"model", "none", "x.gguf: there is no tokenizer in this file"},
      {"model", "t5", at + "model is 't5'; expected gpt2 or llama"},
      {"tokens", nullptr, at + "tokens is missing; expected an array of strings"},
      {"tokens", Json::array({1, 2}), at + "tokens is an array of 2; expected an array of strings"},
      {"scores", Json::array({0, 0}), at + "scores is an array of 2; expected an array of 12, one for each token"},
      {"scores", nullptr, at + "scores is missing; expected an array of 12, one for each token"},
      {"token_type", Json::array({1}), at + "token_type is an array of 1; expected an array of 12, one for each token"},
      {"token_type", Json::array({9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
       at + "token_type is an array of 12; expected an array of numbers from 1 to 6"},
      {"bos_token_id", 12u, at + "bos_token_id is 12; expected an id below 12, the number of tokens"},
      {"padding_token_id", 4000000000u,
       at + "padding_token_id is 4000000000; expected an id below 12, the number of tokens"},
      {"add_bos_token", 1, at + "add_bos_token is 1; expected true or false"},
  };
  for (const auto& each : cases) {
    Json pairs = small_pairs();
    const std::string key = std::string("tokenizer.ggml.") + each.key;
    if (each.value.is_null())
      pairs.erase(key);
    else
      pairs[key] = each.value;
    EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }), each.error);
  }
  // Ids that are none, in every pair that has one: none has -1, and only that.
  for (const char* key : {"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id", "unknown_token_id",
                          "seperator_token_id", "padding_token_id", "mask_token_id"}) {
    Json pairs = small_pairs();
    pairs["tokenizer.ggml.add_bos_token"] = false;
    for (const Json& bad : {Json(12u), Json(std::uint64_t{1} << 63), Json(-2), Json(1.5), Json("<s>"), Json(true)}) {
      pairs[std::string("tokenizer.ggml.") + key] = bad;
      const std::string found = bad.is_string() ? "'<s>'" : bad.dump();
      EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }),
                at + key + " is " + found + "; expected an id below 12, the number of tokens");
    }
    for (const Json& good : {Json(11u), Json(-1)}) {
      pairs[std::string("tokenizer.ggml.") + key] = good;
      EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }), "no error") << key;
    }
  }
  for (const std::size_t longer : {0, 1}) {
    Json pairs = small_pairs();
    pairs["tokenizer.ggml.tokens"][10] = std::string(1024 + longer, 'b');
    const std::string expected =
        at + "tokens is an array of 12; expected at most 1,024 bytes in each, but that of id 10 has 1,025";
    EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }), longer > 0 ? expected : "no error");
    pairs["tokenizer.ggml.token_type"][10] = 4;  // found in a text as it is, and never merged
    EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }), "no error");
  }
  Json pairs = byte_level_pairs();
  pairs.erase("tokenizer.ggml.pre");
  EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }),
            at + "pre is missing; expected the name of a splitter: without it nobody knows how the model's texts were "
                 "split");
  pairs = small_pairs();
  pairs["tokenizer.ggml.scores"][8] = std::nan("");
  EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }),
            "x.gguf: tokenizer.ggml.scores[8] is nan; expected a finite number");
  pairs = byte_level_pairs();
  pairs["tokenizer.ggml.merges"][0] = "ab";
  EXPECT_EQ(error_of([&] { read_gguf_tokenizer(pairs, "x.gguf"); }),
            at + "merges[0] is 'ab'; expected two tokens with a space between them");
}

}  // namespace
}  // namespace reckon
