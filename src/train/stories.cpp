#include "train/stories.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "files/random.h"
#include "train/story_grammar.h"

namespace reckon {
namespace {

// The word of each variable, by its place in StoryGrammar::variables.
constexpr std::size_t no_word = std::numeric_limits<std::size_t>::max();
using Bound = std::vector<std::size_t>;

// Hero and friend have the same words to choose from, but are not the same.
bool is_taken(const StoryGrammar& grammar, const Bound& bound, std::size_t variable, std::size_t word) {
  for (std::size_t i = grammar.variables[variable].alike; i < bound.size(); ++i) {
    if (grammar.variables[i].alike != grammar.variables[variable].alike) break;
    if (i != variable && bound[i] == word) return true;
  }
  return false;
}

class Teller {
 public:
  Teller(const StoryGrammar& grammar, Random random) : grammar_(grammar), random_(random) {}

  std::string story() {
    bound_.assign(grammar_.variables.size(), no_word);
    std::string text;
    std::vector<const std::vector<StorySentence>*> told;
    for (const StoryGrammar::Step& step : one_of(grammar_.plots)) {
      if (!step.always && random_.next() % 2 == 0) continue;
      const std::vector<std::vector<StorySentence>>& choices = grammar_.scenes[step.scene].choices;
      const std::vector<StorySentence>* choice = &one_of(choices);
      while (std::find(told.begin(), told.end(), choice) != told.end()) choice = &one_of(choices);
      told.push_back(choice);
      for (std::size_t i = 0; i < bound_.size(); ++i) {
        if (!grammar_.variables[i].kept) bound_[i] = no_word;
      }
      for (const StorySentence& sentence : *choice) {
        if (!text.empty()) text += ' ';
        for (const StoryPart& part : sentence) {
          text += part.text.empty() ? part.written[word_of(part.variable)] : part.text;
        }
      }
    }
    return text;
  }

 private:
  template <class List>
  const typename List::value_type& one_of(const List& list) {
    return list[random_.next() % list.size()];
  }

  std::size_t word_of(std::size_t variable) {
    while (bound_[variable] == no_word) {
      const std::size_t word = random_.next() % grammar_.variables[variable].words.size();
      if (!is_taken(grammar_, bound_, variable, word)) bound_[variable] = word;
    }
    return bound_[variable];
  }

  const StoryGrammar& grammar_;
  Random random_;
  Bound bound_;
};

// Whether the text is the sentence from this part on, for some words of the variables that have none yet.
bool matches(const StoryGrammar& grammar, const StorySentence& sentence, std::size_t part, std::string_view text,
             Bound& bound) {
  if (part == sentence.size()) return text.empty();
  const StoryPart& now = sentence[part];
  const auto rest_matches = [&](std::string_view written) {
    return text.starts_with(written) && matches(grammar, sentence, part + 1, text.substr(written.size()), bound);
  };
  if (!now.text.empty()) return rest_matches(now.text);
  std::size_t& word = bound[now.variable];
  if (word != no_word) return rest_matches(now.written[word]);
  for (word = 0; word < now.written.size(); ++word) {
    if (!is_taken(grammar, bound, now.variable, word) && rest_matches(now.written[word])) return true;
  }
  word = no_word;
  return false;
}

}  // namespace

std::string stories(std::uint64_t seed, std::int64_t bytes) {
  std::string text;
  for (std::uint64_t number = 0; static_cast<std::int64_t>(text.size()) < bytes; ++number) {
    text += Teller(story_grammar(), Random(mixed(mixed(seed) + number))).story() + "\n\n";
  }
  return text;
}

bool is_story_sentence(std::string_view text) {
  const StoryGrammar& grammar = story_grammar();
  Bound bound(grammar.variables.size(), no_word);
  for (const StoryGrammar::Scene& scene : grammar.scenes) {
    for (const std::vector<StorySentence>& choice : scene.choices) {
      for (const StorySentence& sentence : choice) {
        if (!text.ends_with(sentence.back().text)) continue;  // a cheap look first
        std::fill(bound.begin(), bound.end(), no_word);
        if (matches(grammar, sentence, 0, text, bound)) return true;
      }
    }
  }
  return false;
}

double accepted_share(std::string_view text) {
  std::vector<std::string_view> sentences = sentences_of(text);
  const auto begins_whole = [](std::string_view sentence) {
    return !sentence.empty() && ((sentence.front() >= 'A' && sentence.front() <= 'Z') || sentence.front() == '"');
  };
  if (!sentences.empty() && !begins_whole(sentences.front())) sentences.erase(sentences.begin());
  if (sentences.empty()) return 0;
  const auto accepted = std::count_if(sentences.begin(), sentences.end(), is_story_sentence);
  return static_cast<double>(accepted) / static_cast<double>(sentences.size());
}

}  // namespace reckon
