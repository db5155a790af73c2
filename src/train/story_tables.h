// The words, sentences and plots of the embedded stories, as train/stories.cpp reads them. A sentence has slots for
// words, {variable} or {form variable}:
//   {hero} {friend} {thing} …        a word of the variable's list
//   {he} {him friend} {boy hero} …   the form that agrees with the gender of the variable; of the hero if none is named
//   {a thing}                        with its article
//   {at place}                       with the word for being there
// A slot that begins with a capital becomes a word that does.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

namespace reckon {

struct WordList {
  std::string_view variables;  // one or more, that never have the same word in a story
  bool kept;                   // the same all through a story
  std::string_view words;  // a mark behind a colon says the gender (he, she) or the word for being there: "the park:in"
};
struct SceneText {
  std::string_view name;
  std::initializer_list<std::string_view> choices;  // each one or more sentences, with ~ between them
};
std::span<const WordList> story_word_lists();
std::span<const SceneText> story_scene_texts();
std::span<const std::string_view> story_plot_texts();  // scenes in order; one with ? is in every second story

}  // namespace reckon
