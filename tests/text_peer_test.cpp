// The published encodings against tiktoken, and tokenizers that we trained against Hugging Face's tokenizers: npm
// packages, which run under node. Skipped where scripts/fetch-tokenizers has not put them into the data folder.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "files/read_text.h"
#include "paths.h"
#include "plain_merges.h"
#include "text/byte_level.h"
#include "text/load.h"
#include "text/split.h"
#include "text/tokenizer_json.h"
#include "text/train.h"
#include "text/utf8.h"
#include "text_samples.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ids = std::vector<reckon::TokenId>;

const fs::path project = project_folder();

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
      std::string(1000, ' '),
      std::string(1000, 'a'),
      std::string(1000, '\n'),
      std::string(500, '-'),
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

bool is_there(const std::string& peer) {
  return std::system("node --version > /dev/null 2>&1") == 0 && fs::exists(reckon::data_folder() / "peer" / peer);
}

// What tests/peer/SCRIPT says with the package and this argument.
std::vector<Ids> peer_ids(const std::string& script, const std::string& peer, const std::string& argument,
                          const std::vector<std::string>& texts) {
  const fs::path package = reckon::data_folder() / "peer" / peer;
  std::string input = (fs::temp_directory_path() / "reckon-peer-XXXXXX").string();
  const int file = ::mkstemp(input.data());
  if (file < 0) return {};
  std::ofstream(input) << Json(texts);
  const std::string command = "node '" + (project / "tests/peer" / script).string() + "' '" + package.string() + "' '" +
                              argument + "' < '" + input + "'";
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
  if (!is_there("tiktoken") || !fs::exists(reckon::data_folder() / "tokenizers" / (encoding + ".tiktoken"))) {
    GTEST_SKIP() << "scripts/fetch-tokenizers --peer has not been run";
  }
  std::vector<std::string> texts = hard_cases();
  const fs::path shakespeare = project / "../shared/data/shakespeare.txt";
  if (fs::exists(shakespeare)) texts.push_back(reckon::read_text(shakespeare, 1 << 28));
  const reckon::Tokenizer tokenizer = reckon::load_tokenizer(encoding);
  const std::vector<Ids> expected = peer_ids("tiktoken.cjs", "tiktoken", encoding, texts);
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

TEST(HuggingFace, LoadsATokenizerThatWeTrainedAndGivesTheSameIds) {
  if (!is_there("tokenizers")) GTEST_SKIP() << "scripts/fetch-tokenizers --peer has not been run";
  const std::string text = test::real_text();
  std::vector<std::string> texts = hard_cases();
  texts.push_back(text);
  std::string folder = (fs::temp_directory_path() / "reckon-trained-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const fs::path file = fs::path(folder) / "tokenizer.json";
  using reckon::Splitter;
  for (const Splitter splitter : {Splitter::gpt2, Splitter::cl100k, Splitter::qwen2, Splitter::o200k}) {
    const std::vector<std::string_view> trained_on = {text, texts[6], texts[8]};
    const reckon::TokenizerSpec spec =
        reckon::train_tokenizer(trained_on,
                                {.vocab_size = 2000, .special_tokens = {"<|endoftext|>", "</s>"}, .splitter = splitter})
            .spec;
    std::ofstream(file) << reckon::write_tokenizer_json(spec);
    const reckon::Tokenizer tokenizer(spec);
    const std::vector<Ids> expected = peer_ids("huggingface.cjs", "tokenizers", file.string(), texts);
    ASSERT_EQ(expected.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(tokenizer.encode(texts[i]), expected[i]) << static_cast<int>(splitter) << texts[i].substr(0, 200);
    }
  }
  fs::remove_all(folder);
}

// What Hugging Face's trainer learns from the lines of a text.
std::vector<test::BytesPair> peer_merges(const std::string& text) {
  std::string folder = (fs::temp_directory_path() / "reckon-learned-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return {};
  std::ofstream(folder + "/text") << text;
  const std::string command = "node '" + (project / "tests/peer/huggingface.cjs").string() + "' '" +
                              (reckon::data_folder() / "peer/tokenizers").string() + "' --learn '" + folder +
                              "/text' '" + folder + "/tokenizer.json' > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const Json learned = Json::parse(reckon::read_text(folder + "/tokenizer.json", 1 << 28));
  fs::remove_all(folder);
  std::vector<test::BytesPair> merges;
  for (const Json& merge : learned["model"]["merges"])
    merges.emplace_back(reckon::byte_level_bytes(merge[0].get<std::string>()).value(),
                        reckon::byte_level_bytes(merge[1].get<std::string>()).value());
  return merges;
}

// The words of a text that is read line by line.
std::vector<reckon::Word> words_of_lines(const std::string& text) {
  std::map<std::string_view, std::int64_t> counts;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size() - 1) + 1;
    reckon::split(reckon::Splitter::gpt2, std::string_view(text).substr(from, to - from),
                  [&](std::string_view piece) { ++counts[piece]; });
    from = to;
  }
  std::vector<reckon::Word> words;
  for (const auto& [bytes, count] : counts) words.push_back({bytes, count});
  return words;
}

// The bytes of each merge's two sides.
std::vector<test::BytesPair> our_merges(const std::vector<reckon::Word>& words, std::int64_t most) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  std::vector<test::BytesPair> merges;
  for (const reckon::SymbolPair& merge : reckon::learn_merges(words, {most, 1, {}}).merges) {
    merges.emplace_back(bytes.at(merge.left), bytes.at(merge.right));
    bytes.push_back(merges.back().first + merges.back().second);
  }
  return merges;
}

// The two may differ in which of several equally frequent pairs goes first, and in nothing else: every merge of both
// takes a most frequent pair, by the one definition.
void expect_the_same_counts(const std::string& text, std::size_t most) {
  std::vector<test::BytesPair> theirs = peer_merges(text);
  theirs.resize(std::min(theirs.size(), most));
  ASSERT_FALSE(theirs.empty()) << text;
  const std::vector<reckon::Word> words = words_of_lines(text);
  EXPECT_EQ(test::greedy_merges(words, theirs), std::ssize(theirs)) << text;
  const std::vector<test::BytesPair> ours = our_merges(words, static_cast<std::int64_t>(most));
  EXPECT_EQ(test::greedy_merges(words, ours), std::ssize(ours)) << text;
}

TEST(HuggingFace, LearnsFromTheSameCountsOfPairs) {
  if (!is_there("tokenizers")) GTEST_SKIP() << "scripts/fetch-tokenizers --peer has not been run";
  // Without ties both learn the same: 0|0 comes 8 times in the four 000, before the seven xy. (A space goes with the
  // word behind it.)
  const std::string runs = "000\n000\n000\n000\nxy\nxy\nxy\nxy\nxy\nxy\nxy\n";
  const std::vector<test::BytesPair> expected = {{"0", "0"}, {"x", "y"}, {"00", "0"}};
  EXPECT_EQ(peer_merges(runs), expected);
  EXPECT_EQ(our_merges(words_of_lines(runs), 100), expected);

  const std::string real = test::real_text();
  expect_the_same_counts(real.substr(0, real.rfind('\n', 60000) + 1), 600);  // no character is cut in its middle
  std::mt19937 random(17);
  for (int round = 0; round < 10; ++round) {
    std::string text;
    for (int word = 0; word < 300; ++word) {
      const unsigned letters = 1 + random() % 3;
      for (unsigned k = 0; k < 1 + random() % 12; ++k) text += static_cast<char>('a' + random() % letters);
      text += word % 7 == 0 ? '\n' : ' ';
    }
    expect_the_same_counts(text, 1000);
  }
}

}  // namespace
