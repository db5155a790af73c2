// Pre-tokenizers: how the byte-level tokenizers of the published models cut a text into pieces before merging. Each is
// a regular expression in its source; here it is a hand-written state machine that gives the same pieces for any bytes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace reckon {

enum class Splitter {
  gpt2,    // GPT-2, GPT-NeoX, Pythia, OPT, …; r50k_base and p50k_base
  cl100k,  // GPT-4's cl100k_base; Llama 3
  qwen2,   // cl100k with each digit alone
  o200k,   // GPT-4o's o200k_base; gpt-oss
};

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

// The first place at or after `from` where a text may be cut so that, with any splitter, the pieces of both sides are
// those of the whole; text.size() if there is none. It lies before a white space that follows a letter or a number.
std::size_t safe_cut(std::string_view text, std::size_t from);

}  // namespace reckon
