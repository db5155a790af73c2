// The embedded stories, and the check by their grammar.
#include "train/stories.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "train/story_tables.h"

namespace reckon {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(Stories, AreAcceptedByTheirOwnGrammar) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const std::string text = stories(seed, 100'000);
    for (const std::string_view sentence : sentences_of(text)) ASSERT_TRUE(is_story_sentence(sentence)) << sentence;
    const std::string start = text.substr(0, text.find("\n\n"));
    EXPECT_EQ(accepted_share(start), 1);
  }
}

TEST(Stories, AreTheSameForTheSameSeed) {
  EXPECT_EQ(stories(7, 10'000), stories(7, 10'000));
  EXPECT_NE(stories(7, 10'000), stories(8, 10'000));
  EXPECT_TRUE(stories(7, 20'000).starts_with(stories(7, 10'000)));
  EXPECT_GE(stories(7, 10'000).size(), 10'000u);
  EXPECT_EQ(stories(7, 0), "");
}

TEST(Stories, SeldomRepeatThemselves) {
  const std::string text = stories(3, 1'000'000);
  std::map<std::string_view, int> sentences;
  std::set<std::string> told;
  for (const std::string_view sentence : sentences_of(text)) ++sentences[sentence];
  std::size_t n_stories = 0, total = 0;
  for (std::size_t at = 0, end; (end = text.find("\n\n", at)) != std::string::npos; at = end + 2, ++n_stories) {
    told.insert(text.substr(at, end - at));
  }
  for (const auto& [sentence, count] : sentences) total += static_cast<std::size_t>(count);
  EXPECT_EQ(told.size(), n_stories);
  EXPECT_GT(n_stories, 1000u);
  EXPECT_GT(sentences.size() * 4, total) << "more than a quarter of all sentences are new";
}

TEST(Stories, KeepToTheirHeroAndTheGenderOfAName) {
  std::set<std::string> children;  // "Tom:he, …"
  for (const std::string& entry : words_of(story_word_lists().front().words)) {
    children.insert(entry.substr(0, entry.find(':')));
  }
  EXPECT_TRUE(is_story_sentence("Lily was so glad that she jumped up and down."));
  EXPECT_FALSE(is_story_sentence("Lily was so glad that he jumped up and down."));
  EXPECT_FALSE(is_story_sentence("Lily gave Lily a big hug."));
  EXPECT_TRUE(is_story_sentence("Lily gave Tom a big hug."));
  EXPECT_TRUE(is_story_sentence("She loved her orange ball more than anything."));
  EXPECT_FALSE(is_story_sentence("She loved his orange ball more than anything."));
  EXPECT_TRUE(is_story_sentence("Lily had an orange ball."));
  EXPECT_FALSE(is_story_sentence("Lily had a orange ball."));
  EXPECT_FALSE(is_story_sentence("Lily had an orange ball"));
  EXPECT_FALSE(is_story_sentence(""));
  for (const char vowel : std::string_view("aeio")) {
    EXPECT_EQ(stories(6, 200'000).find(std::string(" a ") + vowel), std::string::npos) << vowel;
  }
  // Of two children at most are spoken in a story: hero and friend.
  const std::string text = stories(4, 100'000);
  for (std::size_t at = 0, end; (end = text.find("\n\n", at)) != std::string::npos; at = end + 2) {
    std::set<std::string> names;
    for (std::string word : words_of(std::string_view(text).substr(at, end - at))) {
      std::erase_if(word, [](char c) { return std::string_view(".,!?\":").find(c) != std::string_view::npos; });
      if (children.contains(word)) names.insert(word);
    }
    ASSERT_GE(names.size(), 1u);
    ASSERT_LE(names.size(), 2u) << text.substr(at, end - at);
  }
}

TEST(Stories, OfShuffledWordsAreNotAccepted) {
  std::mt19937 random(1);
  std::string shuffled;
  const std::string text = stories(5, 20'000);
  for (const std::string_view sentence : sentences_of(text)) {
    std::vector<std::string> words = words_of(sentence.substr(0, sentence.size() - 1));
    if (words.size() < 4) continue;
    std::reverse(words.begin() + 1, words.end());
    for (const std::string& word : words) shuffled += word + " ";
    shuffled.back() = '.';
    shuffled += "\n";
  }
  EXPECT_LT(accepted_share(shuffled), 0.01);
  EXPECT_EQ(accepted_share("The cat and the dog. We count parameters."), 0);
}

TEST(AcceptedShare, JudgesCompleteSentencesOnly) {
  EXPECT_EQ(accepted_share(""), 0);
  EXPECT_EQ(accepted_share("They dug a deep"), 0);
  EXPECT_EQ(accepted_share("They dug a deep hole. They dug a"), 1);
  EXPECT_EQ(accepted_share("ly dug. They dug a deep hole."), 1);
  EXPECT_EQ(accepted_share("They dug a deep hole. They dig it."), 0.5);
  EXPECT_EQ(accepted_share("\"Who is there?\" she whispered. \"Come and play with us,\" said Tom."), 1);
}

TEST(SentencesOf, EndAtMarksThatACapitalOrALineFollows) {
  using Sentences = std::vector<std::string_view>;
  EXPECT_EQ(sentences_of("A b. \"C d!\" said e. \"F?\" G 1.5 h"), (Sentences{"A b.", "\"C d!\" said e.", "\"F?\""}));
  EXPECT_EQ(sentences_of("A.\nb.\n\nC"), (Sentences{"A.", "b."}));
}

}  // namespace
}  // namespace reckon
