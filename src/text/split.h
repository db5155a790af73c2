// Pre-tokenizers: how the byte-level tokenizers of the published models cut a text into pieces before merging. Each is
// a regular expression in its source; here it is a hand-written state machine that gives the same pieces for any bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace reckon {

enum class Splitter {
  gpt2,    // GPT-2, GPT-NeoX, Pythia, OPT, …; r50k_base and p50k_base
  cl100k,  // GPT-4's cl100k_base; Llama 3
  qwen2,   // cl100k with each digit alone
  o200k,   // GPT-4o's o200k_base; gpt-oss
  tekken,  // o200k with each digit alone and no contractions: Mistral's
  // The others match parts of a text, which become pieces, and so does what lies between them. They come one behind
  // another, as the names say, and where a tokenizer has several, each cuts the pieces of the one before it.
  line_breaks,          // DeepSeek's first
  deepseek_letters,     // DeepSeek LLM and V2: letters that have a case
  deepseek_signs,       // …and western and Chinese signs
  last_spaces,          // …and white space at the end
  deepseek_scripts,     // …and DeepSeek Coder: Chinese, Japanese and Korean among others
  coder_letters,        // DeepSeek Coder
  coder_punctuation,    // …
  three_numbers,        // DeepSeek V3
  deepseek_v3_scripts,  // …
  deepseek_v3,          // …
  bloom,
  three_digits,  // Falcon's last
};
inline constexpr std::size_t splitter_count = static_cast<std::size_t>(Splitter::three_digits) + 1;

// Whether the expression matches all of any text.
constexpr bool matches_all(Splitter splitter) { return splitter <= Splitter::tekken; }

// The end of the piece that begins at `begin`, which is before `end`; `end` is the end of the text. Pieces lie one
// after the other and cover the text. What was before `begin` does not matter.
using PieceEnd = const char* (*)(const char* begin, const char* end);
PieceEnd piece_end_of(Splitter splitter);

// Calls take(std::string_view) for each piece.
template <class Take>
void split(Splitter splitter, std::string_view text, Take&& take) {
  const PieceEnd piece_end = piece_end_of(splitter);
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const char* next = piece_end(at, end);
    take(std::string_view(at, static_cast<std::size_t>(next - at)));
    at = next;
  }
}

// The regular expressions that a splitter stands for, as their sources write them; the first is the one to write.
std::span<const std::string_view> patterns_of(Splitter splitter);
std::optional<Splitter> splitter_of_pattern(std::string_view pattern);

// The first place at or after `from` where a text may be cut so that, with any splitter that matches all of it, the
// pieces of both sides are those of the whole; text.size() if there is none. It lies before a white space that follows
// a letter or a number.
std::size_t safe_cut(std::string_view text, std::size_t from);

}  // namespace reckon
