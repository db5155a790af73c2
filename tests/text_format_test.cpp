// The files of tokenizers: read, written, and refused with a sentence that names what is wrong.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "files/read_text.h"
#include "paths.h"
#include "text/byte_level.h"
#include "text/load.h"
#include "text/nfc.h"
#include "text/openai_formats.h"
#include "text/tokenizer_json.h"
#include "folder_fixture.h"

namespace {

namespace fs = std::filesystem;
using reckon::TokenId;
using reckon::Tokenizer;
using Ids = std::vector<TokenId>;

const fs::path sources = project_folder();

using reckon::error_of;

std::string json_error(const std::string& text) {
  return error_of([&] { Tokenizer(reckon::parse_tokenizer_json(text, "t.json")); });
}

// A whole tokenizer.json around these parts.
std::string document(const std::string& vocabulary, const std::string& merges, const std::string& rest = "",
                     const std::string& model = "") {
  return R"({"model": {"type": "BPE", "vocab": {)" + vocabulary + R"(}, "merges": [)" + merges + "]" + model + "}" +
         rest + "}";
}

std::string contents_of(const fs::path& path) { return reckon::read_text(path, 1 << 28); }

TEST(TokenizerJson, IsWrittenAsItWasRead) {
  std::vector<fs::path> files = {sources / "tests/data/tokenizer/shakespeare8k.tokenizer.json"};
  const fs::path stories = sources / "../shared/data/stories260K/tokenizer.json";
  if (fs::exists(stories)) files.push_back(stories);
  for (const fs::path& path : files) {
    const std::string original = contents_of(path);
    const std::string written = reckon::write_tokenizer_json(reckon::parse_tokenizer_json(original, "original"));
    // Values equal, whatever the order and white space; both are Hugging Face's form.
    EXPECT_EQ(nlohmann::json::parse(written), nlohmann::json::parse(original)) << path;
  }
}

TEST(TokenizerJson, KeepsEveryPartThatItUnderstands) {
  const std::string text = R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 3, "content": "<x>", "single_word": true, "lstrip": true, "rstrip": true, "normalized": true, "special": false}],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false},
      {"type": "Digits", "individual_digits": true},
      {"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithNext", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false}]},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<x>", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}, "<x>": {"id": "<x>", "ids": [3], "tokens": ["<x>"]}}},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": "a", "continuing_subword_prefix": null, "end_of_word_suffix": null,
      "fuse_unk": true, "byte_fallback": true, "ignore_merges": true, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})";
  const std::string written = reckon::write_tokenizer_json(reckon::parse_tokenizer_json(text, "text"));
  EXPECT_EQ(nlohmann::json::parse(written), nlohmann::json::parse(text));
}

TEST(TokenizerJson, ReadsRobertaProcessingAndMergesInBothForms) {
  const Tokenizer tokenizer(reckon::parse_tokenizer_json(
      document(R"("a": 0, "b": 1, "ab": 2)", R"("a b")",
               R"(, "post_processor": {"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["a", 0]})"),
      "t"));
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{0, 2, 1}));
}

TEST(TokenizerJson, IsRefusedWithTheFieldThatIsWrong) {
  const std::string plain = R"("a": 0, "b": 1, "ab": 2)";
  const auto with = [&](const std::string& rest) { return json_error(document(plain, R"("a b")", rest)); };
  EXPECT_EQ(json_error(document(plain, R"("a b")")), "no error");
  EXPECT_EQ(json_error(document(R"("a": 0, "b": 0)", "")), "t.json: tokens 'a' and 'b' both have id 0");
  EXPECT_EQ(json_error(document(R"("a": 0, "b": 2)", "")),
            "t.json: id 1 is missing: no token has it, but 'b' has id 2");
  EXPECT_EQ(json_error(document(R"("a": 0, "a": 1)", "")), "t.json: token 'a' has two ids, 0 and 1");
  EXPECT_EQ(json_error(document(R"("a": -1)", "")),
            "t.json: model.vocab: the id of token 'a' is -1; expected a whole number from 0 on");
  EXPECT_EQ(json_error(document(R"("a": 99999999999)", "")),
            "t.json: model.vocab: the id of token 'a' is 99999999999; expected a whole number from 0 on");
  EXPECT_EQ(json_error(document(R"("a": 0.5)", "")),
            "t.json: model.vocab: the id of token 'a' is 0.5; expected a whole number from 0 on");
  EXPECT_EQ(json_error(document(plain, R"("a c")")),
            "t.json: merge 0 joins 'a' and 'c', but 'c' is not in the vocabulary");
  EXPECT_EQ(json_error(document(plain, R"("a b", ["b", "a"])")),
            "t.json: merge 1 joins 'b' and 'a', but 'ba' is not in the vocabulary");
  EXPECT_EQ(json_error(document(plain, R"("ab")")),
            "t.json: model.merges: merge 0 is the string 'ab'; expected two tokens with a space between them");
  EXPECT_EQ(json_error(document(plain, R"(["a"])")), "t.json: model.merges: merge 0 has 1 parts; expected 2");
  EXPECT_EQ(json_error(document(plain, R"(3)")),
            "t.json: model.merges: merge 0 is 3; expected two tokens with a space between them");
  EXPECT_EQ(json_error(document(plain, "", "", R"(, "unk_token": "?")")),
            "t.json: unk_token '?' is not in the vocabulary");
  EXPECT_EQ(json_error(document(plain, "", "", R"(, "dropout": 0.1)")),
            "t.json: model.dropout is 0.1; expected null: merges are never left out by chance");
  EXPECT_EQ(json_error(document(plain, "", "", R"(, "end_of_word_suffix": "</w>")")),
            "t.json: model.end_of_word_suffix is '</w>'; expected null");
  EXPECT_EQ(json_error(R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}})"),
            "t.json: model.type is 'Unigram'; expected BPE");
  EXPECT_EQ(json_error("{}"), "t.json: model is missing");
  EXPECT_EQ(json_error("[]"), "t.json: is a list; expected an object");
  EXPECT_EQ(json_error(R"({"model": {"type": "BPE", "vocab": {}}})"), "t.json: model.merges is missing");
  EXPECT_EQ(with(R"(, "normalizer": {"type": "Lowercase"})"),
            "t.json: normalizer.type is 'Lowercase'; expected one of: Sequence Prepend Replace NFC");
  EXPECT_EQ(with(R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}]})"),
            "t.json: pre_tokenizer.pretokenizers[0].type is 'Whitespace'; expected one of: Sequence ByteLevel Split "
            "Metaspace Digits Punctuation");
  EXPECT_EQ(
      with(
          R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w+"}, "behavior": "Isolated", "invert": false})"),
      "t.json: pre_tokenizer.pattern.Regex is '\\w+'; expected an expression of GPT-2, cl100k (Llama 3), Qwen2, o200k, "
      "Tekken, DeepSeek, BLOOM or Falcon");
  EXPECT_EQ(with(R"(, "decoder": {"type": "WordPiece"})"),
            "t.json: decoder.type is 'WordPiece'; expected one of: Sequence ByteLevel Metaspace Replace ByteFallback "
            "Fuse Strip");
  EXPECT_EQ(
      with(
          R"(, "decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 0, "stop": 1}]})"),
      "decoder: behind Fuse only one Strip with 'stop' 0 is understood");
  EXPECT_EQ(with(R"(, "post_processor": {"type": "Mystery"})"),
            "t.json: post_processor.type is 'Mystery'; expected one of: Sequence ByteLevel TemplateProcessing "
            "RobertaProcessing BertProcessing");
  EXPECT_EQ(with(R"(, "added_tokens": [{"id": 0, "content": "z"}])"),
            "t.json: token 'a' and added token 'z' both have id 0");
  EXPECT_EQ(with(R"(, "added_tokens": [{"id": 3, "content": "z"}, {"id": 3, "content": "y"}])"),
            "t.json: added tokens 'z' and 'y' both have id 3");
  EXPECT_EQ(with(R"(, "added_tokens": [{"id": 2000000000, "content": "z"}])"),
            "t.json: added token 'z' has id 2000000000; expected 0 to 1000002");
  EXPECT_EQ(with(R"(, "added_tokens": [{"id": 3, "content": ""}])"),
            "t.json: added_tokens[0].content is ''; expected a string that is not empty");
  EXPECT_EQ(with(R"(, "post_processor": {"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["a", 77]})"),
            "t.json: the post-processor adds id 77, which is not in the vocabulary");
}

TEST(TokenizerJson, ThatIsCutOrBrokenIsRefused) {
  const std::string whole =
      document(R"("a": 0, "b": 1, "ab": 2)", R"("a b")", R"(, "added_tokens": [{"id": 3, "content": "<x>"}])");
  ASSERT_EQ(json_error(whole), "no error");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_TRUE(json_error(whole.substr(0, length)).starts_with("t.json")) << length;
  }
  EXPECT_TRUE(json_error(document("\"\xFF\": 0", "")).starts_with("t.json is not valid JSON at byte"))
      << json_error(document("\"\xFF\": 0", ""));
  EXPECT_EQ(json_error(std::string(40, '[')), "t.json: nested more than 32 deep");
}

TEST(VocabMerges, AreReadAsGpt2sFiles) {
  const Tokenizer tokenizer(reckon::parse_vocab_merges(R"({"a": 0, "Ġ": 1, "Ġa": 2, "<|endoftext|>": 3})", "vocab.json",
                                                       "#version: 0.2\nĠ a\r\n", "merges.txt"));
  EXPECT_EQ(tokenizer.encode("a a<|endoftext|>a"), (Ids{0, 2, 3, 0}));
  EXPECT_TRUE(tokenizer.is_special(3));
  EXPECT_EQ(error_of([] { reckon::parse_vocab_merges("{}", "vocab.json", "a b c\n", "merges.txt"); }),
            "merges.txt: line 1 is 'a b c'; expected two tokens with a space between them");
  EXPECT_EQ(error_of([] { reckon::parse_vocab_merges("[1]", "vocab.json", "", "merges.txt"); }),
            "vocab.json: the whole is a list; expected an object of tokens and their ids");
}

std::string rank_file(const std::string& more) {
  // The 256 bytes in base64, from 0 on.
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (unsigned byte = 0; byte < 256; ++byte) {
    text += std::string{digits[byte >> 2], digits[(byte & 3) << 4]} + "== " + std::to_string(byte) + "\n";
  }
  return text + more;
}

TEST(RankFiles, MergeByTheRankOfWhatIsMade) {
  const auto encoding = *reckon::ranked_encoding("cl100k_base");
  // ab 256, bc 257, abc 258 (made as ab + c), abcabc 259, which nothing makes.
  const reckon::TokenizerSpec spec =
      reckon::parse_ranks(rank_file("YWI= 256\nYmM= 257\nYWJj 258\nYWJjYWJj 259\n"), "r", encoding);
  EXPECT_EQ(Tokenizer(spec).encode("abc bcbc abcd"), (Ids{258, 32, 257, 257, 32, 258, 100}));
  EXPECT_EQ(Tokenizer(spec).encode("abcabc"), (Ids{259}));
}

TEST(RankFiles, AreRefusedWithTheLineThatIsWrong) {
  const auto refused = [](const std::string& text) {
    return error_of([&] { reckon::parse_ranks(text, "r.tiktoken", *reckon::ranked_encoding("gpt2")); });
  };
  EXPECT_EQ(refused(rank_file("YWI= x\n")),
            "r.tiktoken: line 257 is 'YWI= x'; expected a token in base64, a space and its rank");
  EXPECT_EQ(refused(rank_file("Y!I= 256\n")),
            "r.tiktoken: line 257 is 'Y!I= 256'; expected a token in base64, a space and its rank");
  EXPECT_EQ(refused(rank_file("YWI= 3\n")), "r.tiktoken: line 257 has rank 3, which another line has too");
  EXPECT_EQ(refused(rank_file("YWI= 400\n")), "r.tiktoken: line 257 has rank 400 in a file of 257 tokens");
  EXPECT_EQ(refused(rank_file("YQ== 256\n")), "r.tiktoken: token 'a' has two ranks, 97 and 256");
  EXPECT_EQ(refused("YQ== 0\n"), "r.tiktoken: byte 0 has no rank");
}

TEST(LoadTokenizer, SaysWhatItLookedFor) {
  EXPECT_TRUE(error_of([] {
                reckon::load_tokenizer("no-such-tokenizer");
              }).starts_with("there is no tokenizer 'no-such-tokenizer'; expected bytes, one of the names gpt2 "));
  EXPECT_NE(error_of([] {
              reckon::load_tokenizer((sources / "src").string());
            }).find("neither tokenizer.json nor vocab.json"),
            std::string::npos);
}

TEST(ByteLevelText, WritesEveryByteAsAPrintableCharacterAndBack) {
  EXPECT_EQ(reckon::byte_level_text(" a\n"), "ĠaĊ");  // as in GPT-2's vocab.json
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    EXPECT_EQ(reckon::byte_level_bytes(reckon::byte_level_text(one)), one);
  }
  EXPECT_EQ(reckon::byte_level_bytes("a b"), std::nullopt);
}

TEST(Nfc, ComposesAsUnicodeDefinesIt) {
  // From Unicode Standard Annex #15 (figures 3 to 6) and NormalizationTest.txt.
  EXPECT_EQ(reckon::nfc("e\u0301"), "é");
  EXPECT_EQ(reckon::nfc("\u212B"), "Å");
  EXPECT_EQ(reckon::nfc("s\u0323\u0307"), "\u1E69");
  EXPECT_EQ(reckon::nfc("s\u0307\u0323"), "\u1E69");
  EXPECT_EQ(reckon::nfc("\u1E0B\u0323"), "\u1E0D\u0307");
  EXPECT_EQ(reckon::nfc("\u0958"), "\u0915\u093C") << "excluded from composition";
  EXPECT_EQ(reckon::nfc("\u1112\u1161\u11AB"), "한");
  EXPECT_EQ(reckon::nfc("가\u11A8"), "각");
  EXPECT_EQ(reckon::nfc("a\u0301\xFF\u0301"), "á\xFF\u0301") << "broken bytes stay and part what is around them";
}

}  // namespace
