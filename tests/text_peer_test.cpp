// The published encodings against an independent peer, the npm package tiktoken, which runs under node. Skipped where
// scripts/fetch-tokenizers has not put it and the vocabularies into the data folder.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "text/load.h"
#include "text/utf8.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<reckon::TokenId>;

const fs::path source_folder = RECKON_SOURCE_DIR;

std::vector<std::string> hard_cases() {
  std::vector<std::string> texts = {
      "Hello, I am",
      "I'LL don't WE'VE it's 'S 'ſ ''s'd 'r 'll",
      "12345678901234567890 1,234.56 ½ ² Ⅷ ٣٤٥ 1a2b3c",
      "CamelCase HTTPServer parseJSONString iPhone ABCdefGHI ǅabc",
      "   leading\n\n\n   and  trailing   \n \t\r\n\r\n x\u3000y\u00A0\u00A0z\u0085 \u2028",
      "/path/to//file.txt\n//comment\n\n/* x */ a=b; <|endoftext|> </s>",
      "東京タワー、중국어 ภาษาไทย हिन्दी العربية עברית ελληνικά русский",
      "e\u0301 n\u0303 \u0301\u0301A\u0301B \u0903x\u20DD",
      "🙂👩‍👩‍👧‍👦🏽🇩🇪 ☃️ \U0001F9D1\u200D\U0001F680",
      "\u200B\uFEFF\u0000\u0001 control",
      std::string(1000, ' '), std::string(1000, 'a'), std::string(1000, '\n'), std::string(500, '-'),
      "for (int i = 0; i < n; ++i) {\n\t\tsum += a[i] * b[i];\n\t}\n",
  };
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (int n = 0; n < 40; ++n) {
      const char32_t limits[] = {0x80, 0x80, 0x250, 0x800, 0x3100, 0xA000};
      char32_t point = random() % limits[random() % std::size(limits)];
      if (random() % 4 == 0) point = U" '\n\r\tsS/aA1"[random() % 11];
      reckon::append_utf8(text, point);
    }
    texts.push_back(text);
  }
  std::string letters;
  for (int i = 0; i < 20000; ++i) letters += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[random() % 52];
  texts.push_back(letters);
  return texts;
}

std::vector<Ids> peer_ids(const std::string& encoding, const std::vector<std::string>& texts) {
  const fs::path package = reckon::data_folder() / "peer" / "tiktoken";
  std::string input = (fs::temp_directory_path() / "reckon-peer-XXXXXX").string();
  const int file = ::mkstemp(input.data());
  if (file < 0) return {};
  std::ofstream(input) << Json(texts);
  const std::string command = "node '" + (source_folder / "tests/peer/tiktoken.cjs").string() + "' '" + package.string() + "' " +
                              encoding + " < '" + input + "'";
  std::string output;
  if (FILE* pipe = ::popen(command.c_str(), "r")) {
    char buffer[65536];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
    ::pclose(pipe);
  }
  fs::remove(input);
  return Json::parse(output).get<std::vector<Ids>>();
}

class Peer : public testing::TestWithParam<const char*> {};

TEST_P(Peer, GivesTheSameIdsForHardCasesAndShakespeare) {
  const std::string encoding = GetParam();
  if (std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
  if (!fs::exists(reckon::data_folder() / "peer" / "tiktoken") ||
      !fs::exists(reckon::data_folder() / "tokenizers" / (encoding + ".tiktoken"))) {
    GTEST_SKIP() << "scripts/fetch-tokenizers --peer has not been run";
  }
  std::vector<std::string> texts = hard_cases();
  if (std::ifstream shakespeare(source_folder / "../shared/data/shakespeare.txt"); shakespeare) {
    texts.emplace_back(std::istreambuf_iterator<char>(shakespeare), std::istreambuf_iterator<char>());
  }
  const reckon::Tokenizer tokenizer = reckon::load_tokenizer(encoding);
  const std::vector<Ids> expected = peer_ids(encoding, texts);
  ASSERT_EQ(expected.size(), texts.size());
  reckon::EncodeOptions ordinary;
  ordinary.special_text = false;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(tokenizer.encode(texts[i], ordinary), expected[i]) << texts[i].substr(0, 200);
    EXPECT_EQ(tokenizer.decode(expected[i]), texts[i]);
  }
  if (encoding == "gpt2") {
    EXPECT_EQ(tokenizer.encode("Hello, I am"), (Ids{15496, 11, 314, 716}));
  }
}

INSTANTIATE_TEST_SUITE_P(Tiktoken, Peer, testing::Values("gpt2", "cl100k_base", "o200k_base"));

}  // namespace
