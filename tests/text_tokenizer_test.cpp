// Tokenizers at work: encodings by Hugging Face tokenizers 0.23 (tests/data/tokenizer, ../shared), round trips, added
// tokens, streaming, threads.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "files/read_text.h"
#include "paths.h"
#include "text/load.h"
#include "text/openai_formats.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"
#include "threads/pool.h"

namespace {

namespace fs = std::filesystem;
using reckon::TokenId;
using reckon::Tokenizer;
using Ids = std::vector<TokenId>;
using Json = nlohmann::json;

const fs::path source_folder = project_folder();
const fs::path shared_data = source_folder / ".." / "shared" / "data";

std::string text_of(const fs::path& path) { return reckon::read_text(path, 1 << 28); }

Tokenizer golden() {
  return reckon::load_tokenizer((source_folder / "tests/data/tokenizer/shakespeare8k.tokenizer.json").string());
}

// A text that has everything: words, many scripts, runs, broken UTF-8.
std::string mixed_text(std::size_t length) {
  const std::string parts[] = {"word ",
                               "Héllo",
                               "  ",
                               "\n\n",
                               "123",
                               "東京 ",
                               "🙂👩‍👩‍👧",
                               "don't",
                               "\xFF\xFE",
                               "a",
                               "aaaaaa",
                               "!!!",
                               "\xE6\x97",
                               "é",
                               "\t\t",
                               "the the",
                               std::string(50, ' '),
                               std::string(1, '\0')};
  std::mt19937 random(5);
  std::string text;
  while (text.size() < length) text += parts[random() % std::size(parts)];
  return text;
}

TEST(Tokenizer, EncodesAsHuggingFaceDoes) {
  const Tokenizer tokenizer = golden();
  EXPECT_EQ(tokenizer.size(), 8192u);
  const Json io = Json::parse(text_of(source_folder / "tests/data/tokenizer/shakespeare8k.io.json"));
  ASSERT_GT(io.size(), 5u);
  for (const auto& [text, ids] : io.items()) {
    EXPECT_EQ(tokenizer.encode(text), ids.get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode(ids.get<Ids>()), text);
  }
}

TEST(Tokenizer, EncodesStoriesAsHuggingFaceDoes) {
  const fs::path folder = shared_data / "stories260K";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no ../shared/data/stories260K";
  const Tokenizer tokenizer = reckon::load_tokenizer(folder.string());
  const Json io = Json::parse(text_of(folder / "io.json"));
  for (const auto& [text, ids] : io.at("encode").items()) EXPECT_EQ(tokenizer.encode(text), ids.get<Ids>()) << text;
  const Ids story = io.at("greedy").get<Ids>();
  EXPECT_EQ(tokenizer.decode(story, true), io.at("text").get<std::string>());
  reckon::StreamDecoder stream(tokenizer);
  std::string streamed;
  for (const TokenId id : story) streamed += stream.add(id);
  EXPECT_EQ(streamed + stream.finish(), io.at("text").get<std::string>());
}

TEST(Tokenizer, AddsWhatThePostProcessorAsksForUnlessToldNotTo) {
  const fs::path folder = shared_data / "stories260K";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no ../shared/data/stories260K";
  const Tokenizer tokenizer = reckon::load_tokenizer(folder.string());
  EXPECT_EQ(tokenizer.encode("Once upon a time"), (Ids{1, 403, 407, 261, 378}));
  EXPECT_EQ(tokenizer.encode("Once upon a time", {.add_special = false}), (Ids{403, 407, 261, 378}));
  EXPECT_EQ(tokenizer.encode("<s>"), (Ids{1, 1}));
  EXPECT_GT(tokenizer.encode("<s>", {.special_text = false}).size(), 3u);
}

TEST(Tokenizer, GivesBackAnyBytes) {
  const std::string text = mixed_text(20000);
  for (const Tokenizer& tokenizer : {golden(), Tokenizer(reckon::byte_tokenizer())}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    for (int byte = 0; byte < 256; ++byte) {
      const std::string one(1, static_cast<char>(byte));
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(one)), one);
    }
  }
  EXPECT_EQ(Tokenizer(reckon::byte_tokenizer()).encode("A\xFF"), (Ids{65, 255}));
}

TEST(Tokenizer, GivesTheSameIdsOnAnyNumberOfThreads) {
  const std::string text = mixed_text(5'000'000);
  const Tokenizer tokenizer = golden();
  const Ids expected = tokenizer.encode(text);
  for (const int threads : {1, 3}) {
    reckon::Pool pool(threads);
    EXPECT_EQ(tokenizer.encode(text, {}, &pool), expected);
  }
}

TEST(Tokenizer, RefusesIdsThatItDoesNotHave) {
  for (const TokenId id : {-1, 8192, 2147483647}) {
    try {
      golden().decode(Ids{5, id});
      FAIL();
    } catch (const reckon::Error& error) {
      EXPECT_EQ(error.what(), "token id " + std::to_string(id) + " is not in the vocabulary, whose ids are 0 to 8191");
    }
  }
}

TEST(StreamDecoder, NeverSplitsACharacter) {
  const Tokenizer tokenizer = golden();
  const std::string text = "naïve 東京 🙂👩‍👩‍👧 end \xF0\x9F";
  const Ids ids = tokenizer.encode(text);
  reckon::StreamDecoder stream(tokenizer);
  std::string all;
  for (const TokenId id : ids) {
    const std::string part = stream.add(id);
    EXPECT_EQ(reckon::unfinished_utf8(part), 0u) << part;
    if (!part.empty()) {
      EXPECT_TRUE(reckon::utf8_char(part.data(), part.data() + part.size()).valid) << part;
    }
    all += part;
  }
  EXPECT_EQ(all, text.substr(0, text.size() - 2)) << "the start of a character is held back";
  EXPECT_EQ(all + stream.finish(), text);
}

// A small tokenizer.json of characters: a to e, ▁, ab, the rest as given.
Tokenizer small(const std::string& parts, const std::string& vocabulary = "", const std::string& model = "") {
  return Tokenizer(reckon::parse_tokenizer_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "▁": 3, "ab": 4, "▁a": 5, "<unk>": 6)" +
          vocabulary + R"(}, "merges": ["a b", "▁ a"])" + model + "}" + parts + "}",
      "small"));
}

TEST(AddedTokens, AreFoundLongestFirstWithTheSpaceTheyTake) {
  const std::string flags = R"("special": true, "normalized": false)";
  const Tokenizer tokenizer = small(R"(, "added_tokens": [
      {"id": 7, "content": "<x>", )" +
                                    flags + R"(},
      {"id": 8, "content": "<x><y>", )" +
                                    flags + R"(},
      {"id": 9, "content": "<l>", "lstrip": true, )" +
                                    flags + R"(},
      {"id": 10, "content": "<r>", "rstrip": true, )" +
                                    flags + R"(},
      {"id": 11, "content": "cc", "single_word": true, )" +
                                    flags + "}]");
  EXPECT_EQ(tokenizer.encode("a<x>b"), (Ids{0, 7, 1}));
  EXPECT_EQ(tokenizer.encode("a<x><y>b<x>"), (Ids{0, 8, 1, 7}));
  EXPECT_EQ(tokenizer.encode("a \n<l>b"), (Ids{0, 9, 1}));
  EXPECT_EQ(tokenizer.encode("a<r>\t b"), (Ids{0, 10, 1}));
  EXPECT_EQ(tokenizer.encode("a<r> <l>b"), (Ids{0, 10, 9, 1}));
  EXPECT_EQ(tokenizer.encode("cc acc cc"), (Ids{11, 0, 2, 2, 11})) << "spaces are unknown and go";
  EXPECT_EQ(tokenizer.decode(Ids{0, 7, 1}, true), "a b") << "without a decoder, tokens are joined by spaces";
}

TEST(AddedTokens, ThatAreNormalizedAreFoundInTheNormalizedText) {
  const Tokenizer tokenizer = small(R"(, "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
      "added_tokens": [{"id": 7, "content": "b b", "normalized": true}])");
  EXPECT_EQ(tokenizer.encode("ab b"), (Ids{0, 7}));
  EXPECT_EQ(tokenizer.encode("ab▁b"), (Ids{0, 7}));
}

TEST(UnknownCharacters, BecomeUnkOneByOneOrFused) {
  EXPECT_EQ(small("", "", R"(, "unk_token": "<unk>")").encode("axxb"), (Ids{0, 6, 6, 1}));
  EXPECT_EQ(small("", "", R"(, "unk_token": "<unk>", "fuse_unk": true)").encode("axxbx"), (Ids{0, 6, 1, 6}));
}

TEST(UnknownCharacters, FallBackToBytesWhereTheVocabularyHasThem) {
  const Tokenizer tokenizer =
      small(R"(, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]})",
            R"(, "<0xC3>": 7, "<0xA9>": 8, "<0xFF>": 9)", R"(, "unk_token": "<unk>", "byte_fallback": true)");
  EXPECT_EQ(tokenizer.encode("aéb"), (Ids{0, 7, 8, 1}));
  EXPECT_EQ(tokenizer.encode("aèb\xFF"), (Ids{0, 6, 1, 9})) << "è needs a byte that is not there";
  EXPECT_EQ(tokenizer.decode(Ids{0, 7, 8, 9}), "aé\xFF");
}

TEST(IgnoreMerges, KeepsAPieceThatIsAToken) {
  EXPECT_EQ(small("", R"(, "abc": 7)").encode("abc"), (Ids{4, 2}));
  EXPECT_EQ(small("", R"(, "abc": 7)", R"(, "ignore_merges": true)").encode("abc"), (Ids{7}));
}

TEST(Metaspace, MarksWordsAndTakesTheFirstMarkBack) {
  const auto with = [](const std::string& scheme) {
    const std::string step =
        R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")" + scheme + R"(", "split": true})";
    return small(R"(, "added_tokens": [{"id": 7, "content": "<x>", "special": true}], "pre_tokenizer": )" + step +
                 R"(, "decoder": )" + step);
  };
  EXPECT_EQ(with("always").encode("a a<x>a"), (Ids{5, 5, 7, 5}));
  EXPECT_EQ(with("first").encode("a a<x>a"), (Ids{5, 5, 7, 0}));
  EXPECT_EQ(with("never").encode("a a<x>a"), (Ids{0, 5, 7, 0}));
  EXPECT_EQ(with("always").encode(" a"), (Ids{5})) << "a mark that is there is not doubled";
  EXPECT_EQ(with("always").decode(Ids{5, 5, 1}), "a ab");
  EXPECT_EQ(with("never").decode(Ids{5, 5, 1}), " a ab");
}

TEST(Splits, CutAtTextAndDigits) {
  const auto encode = [&](const std::string& step, const std::string& text) {
    return Tokenizer(
               reckon::parse_tokenizer_json(
                   R"({"model": {"vocab": {"a": 0, "b": 1, "ab": 2, "1": 3, "11": 4, "a1": 5}, "merges": ["a b", "1 1", "a 1"]}, "pre_tokenizer": )" +
                       step + "}",
                   "small"))
        .encode(text);
  };
  EXPECT_EQ(encode(R"({"type": "Digits", "individual_digits": true})", "a11"), (Ids{0, 3, 3}));
  EXPECT_EQ(encode(R"({"type": "Digits", "individual_digits": false})", "a11"), (Ids{0, 4}));
  const auto split = [](const std::string& behavior) {
    return R"({"type": "Split", "pattern": {"String": "a"}, "behavior": ")" + behavior + R"(", "invert": false})";
  };
  EXPECT_EQ(encode(split("Isolated"), "abab"), (Ids{0, 1, 0, 1}));
  EXPECT_EQ(encode(split("Removed"), "abab"), (Ids{1, 1}));
  EXPECT_EQ(encode(split("MergedWithNext"), "abab"), (Ids{2, 2}));
  EXPECT_EQ(encode(split("MergedWithPrevious"), "abab"), (Ids{0, 1, 0, 1}));
}

TEST(ByteLevel, AddsASpaceBeforeTheFirstWordWhereAskedTo) {
  const auto encode = [](const std::string& flag, const std::string& text) {
    return Tokenizer(reckon::parse_tokenizer_json(R"({"model": {"vocab": {"a": 0, "Ġ": 1, "Ġa": 2}, "merges": ["Ġ a"]},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": )" +
                                                      flag + "}}",
                                                  "small"))
        .encode(text);
  };
  EXPECT_EQ(encode("false", "a a"), (Ids{0, 2}));
  EXPECT_EQ(encode("true", "a a"), (Ids{2, 2}));
  EXPECT_EQ(encode("true", " a"), (Ids{2}));
}

TEST(Sentences, WithoutASplitterAreCutWhereNoMergeReaches) {
  // The whole text is one piece here; words behind ▁ may be merged alone only if no token has ▁ inside.
  const std::string spaces = R"(, "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
  const auto encode = [&](const std::string& vocabulary, const std::string& merges, const std::string& text) {
    return Tokenizer(reckon::parse_tokenizer_json(R"({"model": {"vocab": {"a": 0, "b": 1, "▁": 2, "▁a": 3)" +
                                                      vocabulary + R"(}, "merges": ["▁ a")" + merges + "]}" + spaces +
                                                      "}",
                                                  "small"))
        .encode(text);
  };
  EXPECT_EQ(encode("", "", "b a  a"), (Ids{1, 3, 2, 3}));
  EXPECT_EQ(encode(R"(, "b▁a": 4)", R"(, "b ▁a")", "b a b"), (Ids{4, 2, 1}));
}

}  // namespace
