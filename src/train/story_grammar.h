// The grammar of the embedded stories: words, sentences with slots for them, and plots. train/stories.h writes stories
// by it and checks sentences by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// "Tom:he", "the park:in": the mark says the gender, or the word for being there.
struct StoryWord {
  std::string text, mark;
};

// What a slot or a piece of text between slots becomes. A slot is written {variable} or {form variable}:
//   {hero} {friend} {thing} …        a word of the variable's list
//   {he} {him friend} {boy hero} …   the form that agrees with the gender of the variable; of the hero if none is named
//   {a thing}                        with its article
//   {at place}                       with the word for being there
// A slot that begins with a capital becomes a word that does.
struct StoryPart {
  std::string text;                  // of a piece of text; empty: a slot
  std::size_t variable = 0;          // its place in StoryGrammar::variables
  std::vector<std::string> written;  // for each word of the variable, what stands in the slot
};
using StorySentence = std::vector<StoryPart>;

struct StoryVariable {
  std::string name;
  std::vector<StoryWord> words;
  bool kept = false;      // the same all through a story, and not the same word as another variable with these words
  std::size_t alike = 0;  // the first variable with the same words
};

struct StoryGrammar {
  std::vector<StoryVariable> variables;
  struct Scene {
    std::string name;
    std::vector<std::vector<StorySentence>> choices;  // each one or more sentences
  };
  std::vector<Scene> scenes;
  struct Step {
    std::size_t scene;
    bool always;  // otherwise in every second story
  };
  std::vector<std::vector<Step>> plots;
};

const StoryGrammar& story_grammar();

// Cuts a text at the ends of its sentences: behind . ! or ?, and quotes that close there, where a line ends or where a
// space and then a capital or a quote follow. What comes behind the last end is no sentence.
std::vector<std::string_view> sentences_of(std::string_view text);

// The tables (story_words.cpp, story_scenes.cpp), as they are written.
struct WordList {
  std::string_view variables;  // one or more
  bool kept;
  std::string_view words;
};
struct SceneText {
  std::string_view name;
  std::vector<std::string_view> choices;
};
const std::vector<WordList>& story_word_lists();
const std::vector<SceneText>& story_scene_texts();
const std::vector<std::string_view>& story_plot_texts();

}  // namespace reckon
