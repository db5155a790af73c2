// The merges of byte-level BPE: small cases by hand, larger ones against plain loops.
#include "text/learn_merges.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "plain_merges.h"
#include "text/split.h"
#include "text_samples.h"

namespace {

using reckon::SymbolPair;
using reckon::Word;

using test::BytesPair;
using test::PlainTrainer;

// The bytes of each merge's two sides.
std::vector<BytesPair> spelled(const std::vector<SymbolPair>& merges) {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  std::vector<BytesPair> out;
  for (const SymbolPair& merge : merges) {
    out.emplace_back(bytes.at(merge.left), bytes.at(merge.right));
    bytes.push_back(out.back().first + out.back().second);
  }
  return out;
}

std::vector<BytesPair> learn(const std::vector<Word>& words, std::int64_t most, std::int64_t min_frequency = 1) {
  return spelled(reckon::learn_merges(words, {most, min_frequency, {}}).merges);
}

TEST(LearnMerges, TakesTheMostFrequentPairAndOfEqualsTheGreater) {
  // The words of Sennrich et al. 2016. s|t and e|s come 9 times each: s|t is greater. Then e|st 9; o|w and l|o 7 each;
  // l|ow 7; w|est, n|e and e|w 6 each.
  const std::vector<Word> words = {{"low", 5}, {"lower", 2}, {"widest", 3}, {"newest", 6}};
  EXPECT_EQ(learn(words, 6),
            (std::vector<BytesPair>{{"s", "t"}, {"e", "st"}, {"o", "w"}, {"l", "ow"}, {"w", "est"}, {"n", "e"}}));
}

TEST(LearnMerges, ComparesTheLeftBytesFirstThenTheRight) {
  EXPECT_EQ(learn({{"ab", 1}, {"ac", 1}}, 1), (std::vector<BytesPair>{{"a", "c"}}));
  EXPECT_EQ(learn({{"az", 1}, {"ba", 1}}, 1), (std::vector<BytesPair>{{"b", "a"}}));
  // Bytes are unsigned: 0xC3 is greater than 'z'.
  EXPECT_EQ(learn({{"zz", 1}, {"\xC3\xA9", 1}}, 1), (std::vector<BytesPair>{{"\xC3", "\xA9"}}));
  // A longer left side is greater than its own beginning: ab|c beats a|x.
  EXPECT_EQ(learn({{"abc", 1}, {"ab", 1}, {"ax", 1}}, 2), (std::vector<BytesPair>{{"a", "b"}, {"ab", "c"}}));
}

TEST(LearnMerges, CountsEveryPairOfARun) {
  // 000 holds 0|0 twice: 8 in all, more than the seven xy; as often as it can be merged it would be 4.
  EXPECT_EQ(learn({{"000", 4}, {"xy", 7}}, 3), (std::vector<BytesPair>{{"0", "0"}, {"x", "y"}, {"00", "0"}}));
  // baaa holds a|a twice, and once when b|a (12) is merged: 3 in all, less than the five xy. The same from the right.
  EXPECT_EQ(learn({{"ba", 9}, {"baaa", 3}, {"xy", 5}}, 3),
            (std::vector<BytesPair>{{"b", "a"}, {"x", "y"}, {"ba", "a"}}));
  EXPECT_EQ(learn({{"ab", 9}, {"aaab", 3}, {"xy", 5}}, 3),
            (std::vector<BytesPair>{{"a", "b"}, {"x", "y"}, {"a", "ab"}}));
  // aaaaa is aa aa a: then aa|aa once and aa|a once in each; the longer right side is greater.
  EXPECT_EQ(learn({{"aaaaa", 2}}, 3), (std::vector<BytesPair>{{"a", "a"}, {"aa", "aa"}, {"aaaa", "a"}}));
  // aaaaaaa is aa aa aa a: aa|aa twice, before aa|a and x|y with one each.
  EXPECT_EQ(learn({{"aaaaaaa", 1}, {"xy", 1}}, 3), (std::vector<BytesPair>{{"a", "a"}, {"aa", "aa"}, {"x", "y"}}));
}

TEST(LearnMerges, StopsWhereNothingIsLeftOrTooRare) {
  EXPECT_EQ(learn({{"ab", 1}}, 100).size(), 1u);
  EXPECT_EQ(learn({{"abab", 1}, {"cd", 1}}, 100, 2), (std::vector<BytesPair>{{"a", "b"}}));
  EXPECT_TRUE(learn({}, 100).empty());
  EXPECT_TRUE(learn({{"a", 7}}, 100).empty());
  EXPECT_TRUE(learn({{"ab", 7}}, 0).empty());
}

TEST(LearnMerges, NeverMakesAForbiddenToken) {
  const auto merges = spelled(reckon::learn_merges({{"abc", 9}}, {10, 1, {"bc", "abc"}}).merges);
  EXPECT_EQ(merges, (std::vector<BytesPair>{{"a", "b"}}));
}

TEST(LearnMerges, EqualsPlainLoopsOnRandomWords) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const unsigned letters = 1 + random() % 4, longest = 1 + random() % 24;
    std::vector<std::string> store;
    for (unsigned i = 0; i < 1 + random() % 20; ++i) {
      std::string& word = store.emplace_back();
      for (unsigned k = 0; k < 1 + random() % longest; ++k)
        word += static_cast<char>(random() % 2 ? 'a' + random() % letters : 'a');
    }
    std::vector<Word> words;
    for (const std::string& word : store) words.push_back({word, static_cast<std::int64_t>(1 + random() % 3)});
    const std::int64_t min_frequency = random() % 2 ? 1 : 2;
    PlainTrainer plain(words);
    plain.train(60, min_frequency);
    const reckon::LearnedMerges learned = reckon::learn_merges(words, {60, min_frequency, {}});
    ASSERT_EQ(spelled(learned.merges), plain.merges) << "round " << round;
    ASSERT_EQ(learned.symbols, plain.symbols()) << "round " << round;
  }
}

TEST(LearnMerges, EqualsPlainLoopsOnRealText) {
  const std::string text = test::real_text().substr(0, 30000);
  std::map<std::string_view, std::int64_t> counts;
  reckon::split(reckon::Splitter::gpt2, text, [&](std::string_view piece) { ++counts[piece]; });
  std::vector<Word> words;
  for (const auto& [bytes, count] : counts) words.push_back({bytes, count});
  PlainTrainer plain(words);
  plain.train(400);
  const reckon::LearnedMerges learned = reckon::learn_merges(words, {400, 1, {}});
  EXPECT_EQ(spelled(learned.merges), plain.merges);
  EXPECT_EQ(learned.symbols, plain.symbols());
}

TEST(LearnMerges, TakesNoLongerForOneLongWordThanForManyShortOnes) {
  // A list of positions that was walked from its start for each merge would take hours here.
  std::mt19937 random(3);
  std::string long_word(1 << 20, 'a');
  for (char& byte : long_word) byte = static_cast<char>('a' + random() % 20);
  EXPECT_EQ(reckon::learn_merges({{long_word, 1}}, {4000, 1, {}}).merges.size(), 4000u);
  const std::string run(1 << 20, 'a');
  EXPECT_EQ(reckon::learn_merges({{run, 1}}, {4000, 1, {}}).merges.size(), 20u);  // halved twenty times
}

}  // namespace
