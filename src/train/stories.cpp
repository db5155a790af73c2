#include "train/stories.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <limits>

#include "files/random.h"
#include "train/story_tables.h"

namespace reckon {
namespace {

struct Word {
  std::string text, mark;
};

struct Variable {
  std::string_view name;
  std::vector<Word> words;
  bool kept;          // the same all through a story
  std::size_t alike;  // the first variable with the same words
};

// A slot, or a piece of text between slots.
struct SentencePart {
  std::string text;                  // of a piece of text; empty: a slot
  std::size_t variable = 0;          // its place in Grammar::variables
  std::vector<std::string> written;  // for each word of the variable, what stands in the slot
};
using Sentence = std::vector<SentencePart>;

struct Scene {
  std::string_view name;
  std::vector<std::vector<Sentence>> choices;  // each one or more sentences
};

struct Step {
  std::size_t scene;
  bool always;  // otherwise in every second story
};

struct Grammar {
  std::vector<Variable> variables;
  std::vector<Scene> scenes;
  std::vector<std::vector<Step>> plots;
};

// A form of words that have a gender, by which it is chosen; {he} is its name in a slot.
struct Form {
  std::string_view he, she;
};

const Form* gendered_form(std::string_view name) {
  static constexpr Form forms[] = {{"he", "she"},          {"him", "her"},  {"his", "her"},
                                   {"himself", "herself"}, {"boy", "girl"}, {"brother", "sister"}};
  const auto at = std::find_if(std::begin(forms), std::end(forms), [&](const Form& form) { return form.he == name; });
  return at == std::end(forms) ? nullptr : at;
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The word in this form; empty where the word's mark has no such form.
std::string inflected(const Word& word, std::string_view form, bool capital) {
  std::string text = word.text;
  if (const Form* by_gender = gendered_form(form)) {
    if (word.mark != "he" && word.mark != "she") return "";
    text = word.mark == "he" ? by_gender->he : by_gender->she;
  } else if (form == "a") {
    text = (std::string_view("aeiou").find(text.front()) == std::string_view::npos ? "a " : "an ") + text;
  } else if (form == "at") {
    if (word.mark.empty()) return "";
    text = word.mark + " " + text;
  } else if (!form.empty()) {
    return "";
  }
  if (capital) text.front() = upper(text.front());
  return text;
}

std::vector<std::string_view> cut(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return parts;
}

// The place of what has this name.
template <class List>
std::size_t place_of(std::string_view name, const List& list, std::string_view kind) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.name == name; });
  if (found == list.end()) throw Error(fmt::format("the story grammar has no {} '{}'", kind, name));
  return static_cast<std::size_t>(found - list.begin());
}

SentencePart slot_of(std::string_view text, const std::vector<Variable>& variables) {
  std::string slot(text);
  slot.front() = lower(slot.front());
  const std::size_t space = slot.find(' ');
  const bool is_form = space != std::string::npos || gendered_form(slot);
  const std::string form = is_form ? slot.substr(0, space) : "";
  const std::string variable = space != std::string::npos ? slot.substr(space + 1) : is_form ? "hero" : slot;
  SentencePart part;
  part.variable = place_of(variable, variables, "variable");
  for (const Word& word : variables[part.variable].words) {
    part.written.push_back(inflected(word, form, is_upper(text.front())));
    if (part.written.back().empty()) {
      throw Error(fmt::format("the story grammar has no form '{}' of '{}'", form, word.text));
    }
  }
  return part;
}

Sentence sentence_of(std::string_view text, const std::vector<Variable>& variables) {
  Sentence sentence;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    if (open > 0) sentence.emplace_back().text = text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos || close == 1) throw Error("the story grammar has a slot without an end");
    sentence.push_back(slot_of(text.substr(1, close - 1), variables));
    text.remove_prefix(close + 1);
  }
  return sentence;
}

Grammar read_grammar() {
  Grammar grammar;
  for (const WordList& list : story_word_lists()) {
    const std::size_t first = grammar.variables.size();
    std::vector<Word> words;
    for (const std::string_view entry : cut(list.words, ", ")) {
      const std::size_t colon = std::min(entry.find(':'), entry.size());
      words.push_back(
          {std::string(entry.substr(0, colon)), std::string(entry.substr(std::min(colon + 1, entry.size())))});
    }
    for (const std::string_view name : cut(list.variables, " ")) {
      grammar.variables.push_back({name, words, list.kept, first});
    }
  }
  for (const SceneText& scene : story_scene_texts()) {
    auto& choices = grammar.scenes.emplace_back(Scene{scene.name, {}}).choices;
    for (const std::string_view choice : scene.choices) {
      auto& sentences = choices.emplace_back();
      for (const std::string_view text : cut(choice, "~")) sentences.push_back(sentence_of(text, grammar.variables));
    }
  }
  for (const std::string_view plot : story_plot_texts()) {
    auto& steps = grammar.plots.emplace_back();
    for (std::string_view name : cut(plot, " ")) {
      const bool always = !name.ends_with('?');
      if (!always) name.remove_suffix(1);
      steps.push_back({place_of(name, grammar.scenes, "scene"), always});
    }
  }
  return grammar;
}

const Grammar& grammar() {
  static const Grammar all = read_grammar();
  return all;
}

// The word of each variable, by its place in Grammar::variables.
constexpr std::size_t no_word = std::numeric_limits<std::size_t>::max();
using Bound = std::vector<std::size_t>;

// Hero and friend have the same words to choose from, but are not the same.
bool is_taken(const Bound& bound, std::size_t variable, std::size_t word) {
  const std::vector<Variable>& variables = grammar().variables;
  for (std::size_t i = variables[variable].alike; i < bound.size(); ++i) {
    if (variables[i].alike != variables[variable].alike) break;
    if (i != variable && bound[i] == word) return true;
  }
  return false;
}

std::string story(Random random) {
  const std::vector<Variable>& variables = grammar().variables;
  Bound bound(variables.size(), no_word);
  const auto one_of = [&](const auto& list) -> const auto& { return list[random.next() % list.size()]; };
  const auto word_of = [&](std::size_t variable) {
    while (bound[variable] == no_word) {
      const std::size_t word = random.next() % variables[variable].words.size();
      if (!is_taken(bound, variable, word)) bound[variable] = word;
    }
    return bound[variable];
  };
  std::string text;
  std::vector<const std::vector<Sentence>*> told;
  for (const Step& step : one_of(grammar().plots)) {
    if (!step.always && random.next() % 2 == 0) continue;
    const auto& choices = grammar().scenes[step.scene].choices;
    const std::vector<Sentence>* choice = &one_of(choices);
    while (std::find(told.begin(), told.end(), choice) != told.end()) choice = &one_of(choices);
    told.push_back(choice);
    for (std::size_t i = 0; i < bound.size(); ++i) {
      if (!variables[i].kept) bound[i] = no_word;
    }
    for (const Sentence& sentence : *choice) {
      if (!text.empty()) text += ' ';
      for (const SentencePart& part : sentence)
        text += part.text.empty() ? part.written[word_of(part.variable)] : part.text;
    }
  }
  return text;
}

// Whether the text is the sentence from this part on, for some words of the variables that have none yet.
bool matches(const Sentence& sentence, std::size_t part, std::string_view text, Bound& bound) {
  if (part == sentence.size()) return text.empty();
  const SentencePart& now = sentence[part];
  const auto rest_matches = [&](std::string_view written) {
    return text.starts_with(written) && matches(sentence, part + 1, text.substr(written.size()), bound);
  };
  if (!now.text.empty()) return rest_matches(now.text);
  std::size_t& word = bound[now.variable];
  if (word != no_word) return rest_matches(now.written[word]);
  for (word = 0; word < now.written.size(); ++word) {
    if (!is_taken(bound, now.variable, word) && rest_matches(now.written[word])) return true;
  }
  word = no_word;
  return false;
}

}  // namespace

std::string stories(std::uint64_t seed, std::int64_t bytes) {
  std::string text;
  for (std::uint64_t number = 0; static_cast<std::int64_t>(text.size()) < bytes; ++number) {
    text += story(Random(mixed(mixed(seed) + number))) + "\n\n";
  }
  return text;
}

bool is_story_sentence(std::string_view text) {
  Bound bound(grammar().variables.size(), no_word);
  for (const Scene& scene : grammar().scenes) {
    for (const std::vector<Sentence>& choice : scene.choices) {
      for (const Sentence& sentence : choice) {
        if (!text.ends_with(sentence.back().text)) continue;  // a cheap look first
        std::fill(bound.begin(), bound.end(), no_word);
        if (matches(sentence, 0, text, bound)) return true;
      }
    }
  }
  return false;
}

std::vector<std::string_view> sentences_of(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  std::vector<std::string_view> sentences;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '.' && text[at] != '!' && text[at] != '?') {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && text[end] == '"') ++end;
    std::size_t next = end;
    while (next < text.size() && is_space(text[next])) ++next;
    const bool line_ends = next == text.size() || text.substr(end, next - end).find('\n') != std::string_view::npos;
    if (line_ends || (next > end && (is_upper(text[next]) || text[next] == '"'))) {
      sentences.push_back(text.substr(begin, end - begin));
      begin = next;
      at = next;
    } else {
      at = end;
    }
  }
  for (std::string_view& sentence : sentences) {
    while (!sentence.empty() && is_space(sentence.front())) sentence.remove_prefix(1);
  }
  return sentences;
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
