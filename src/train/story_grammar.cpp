#include "train/story_grammar.h"

#include <fmt/core.h>
#include <reckon/error.h>

#include <algorithm>
#include <array>

namespace reckon {
namespace {

// By gender: he, she.
struct Form {
  std::string_view name, he, she;
};
constexpr std::array<Form, 6> gendered = {{{"he", "he", "she"},
                                           {"him", "him", "her"},
                                           {"his", "his", "her"},
                                           {"himself", "himself", "herself"},
                                           {"boy", "boy", "girl"},
                                           {"brother", "brother", "sister"}}};

const Form* gendered_form(std::string_view name) {
  const auto at = std::find_if(gendered.begin(), gendered.end(), [&](const Form& form) { return form.name == name; });
  return at == gendered.end() ? nullptr : &*at;
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The word in this form; empty where the word's mark has no such form.
std::string inflected(const StoryWord& word, std::string_view form, bool capital) {
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

class Reader {
 public:
  StoryGrammar read() {
    for (const WordList& list : story_word_lists()) read_words(list);
    for (const SceneText& scene : story_scene_texts()) read_scene(scene);
    for (const std::string_view plot : story_plot_texts()) read_plot(plot);
    return std::move(grammar_);
  }

 private:
  void read_words(const WordList& list) {
    const std::size_t first = grammar_.variables.size();
    std::vector<StoryWord> words;
    for (const std::string_view entry : cut(list.words, ", ")) {
      const std::size_t colon = std::min(entry.find(':'), entry.size());
      words.push_back(
          {std::string(entry.substr(0, colon)), std::string(entry.substr(std::min(colon + 1, entry.size())))});
    }
    for (const std::string_view name : cut(list.variables, " ")) {
      grammar_.variables.push_back({std::string(name), words, list.kept, first});
    }
  }

  std::size_t variable_of(std::string_view name) const {
    for (std::size_t i = 0; i < grammar_.variables.size(); ++i) {
      if (grammar_.variables[i].name == name) return i;
    }
    throw Error(fmt::format("the story grammar has no variable '{}'", name));
  }

  StoryPart slot_of(std::string_view text) const {
    std::string slot(text), form;
    slot.front() = lower(slot.front());
    StoryPart part;
    const std::size_t space = slot.find(' ');
    if (space != std::string::npos) {
      form = slot.substr(0, space);
      part.variable = variable_of(slot.substr(space + 1));
    } else if (gendered_form(slot)) {
      form = slot;
      part.variable = variable_of("hero");
    } else {
      part.variable = variable_of(slot);
    }
    for (const StoryWord& word : grammar_.variables[part.variable].words) {
      part.written.push_back(inflected(word, form, is_upper(text.front())));
      if (part.written.back().empty()) {
        throw Error(fmt::format("the story grammar has no form '{}' of '{}'", form, word.text));
      }
    }
    return part;
  }

  StorySentence sentence_of(std::string_view text) const {
    StorySentence sentence;
    while (!text.empty()) {
      const std::size_t open = std::min(text.find('{'), text.size());
      if (open > 0) sentence.emplace_back().text = text.substr(0, open);
      text.remove_prefix(open);
      if (text.empty()) break;
      const std::size_t close = text.find('}');
      if (close == std::string_view::npos || close == 1) throw Error("the story grammar has a slot without an end");
      sentence.push_back(slot_of(text.substr(1, close - 1)));
      text.remove_prefix(close + 1);
    }
    return sentence;
  }

  void read_scene(const SceneText& scene) {
    StoryGrammar::Scene& read = grammar_.scenes.emplace_back();
    read.name = scene.name;
    for (const std::string_view choice : scene.choices) {
      auto& sentences = read.choices.emplace_back();
      for (const std::string_view text : cut(choice, "~")) sentences.push_back(sentence_of(text));
    }
  }

  void read_plot(std::string_view plot) {
    auto& steps = grammar_.plots.emplace_back();
    for (std::string_view name : cut(plot, " ")) {
      const bool always = !name.ends_with('?');
      if (!always) name.remove_suffix(1);
      const auto at = std::find_if(grammar_.scenes.begin(), grammar_.scenes.end(),
                                   [&](const StoryGrammar::Scene& scene) { return scene.name == name; });
      if (at == grammar_.scenes.end()) throw Error(fmt::format("the story grammar has no scene '{}'", name));
      steps.push_back({static_cast<std::size_t>(at - grammar_.scenes.begin()), always});
    }
  }

  StoryGrammar grammar_;
};

}  // namespace

const StoryGrammar& story_grammar() {
  static const StoryGrammar grammar = Reader().read();
  return grammar;
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

}  // namespace reckon
