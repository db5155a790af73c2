#include "text/split.h"

#include <array>

#include "text/split_rule.h"

namespace reckon {

const char* white_space_end(const char* begin, const char* end, bool newlines_first) {
  const char *at = begin, *last = begin, *after_newline = nullptr;
  while (at != end) {
    const SplitChar c = split_char(at, end);
    if (!is_in(c.kind, space_chars)) break;
    last = at;
    at = c.next;
    if (c.kind == CharClass::newline) after_newline = at;
  }
  if (newlines_first && after_newline) return after_newline;
  return at == end || last == begin ? at : last;
}

namespace {

// 's|'t|'re|'ve|'m|'ll|'d at `at`; null if there is none. Without regard to case, ſ (U+017F) is an s.
const char* contraction(const char* at, const char* end, bool any_case) {
  if (end - at < 2 || *at != '\'') return nullptr;
  const auto lower = [&](char c) { return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const char first = lower(at[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (end - at < 3) return nullptr;
  if (any_case && at[1] == '\xC5' && at[2] == '\xBF') return at + 3;
  const char second = lower(at[2]);
  const bool two =
      (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
  return two ? at + 3 : nullptr;
}

const char* gpt2_end(const char* begin, const char* end) {
  if (const char* found = contraction(begin, end, false)) return found;
  SplitChar c = split_char(begin, end);
  if (*begin == ' ' && c.next != end) {
    const SplitChar after = split_char(c.next, end);
    if (!is_in(after.kind, space_chars)) c = after;
  }
  if (is_in(c.kind, letter_chars)) return run_of(letter_chars, c.next, end);
  if (is_in(c.kind, number_chars)) return run_of(number_chars, c.next, end);
  if (is_in(c.kind, symbol_chars)) return run_of(symbol_chars, c.next, end);
  return white_space_end(begin, end, false);
}

// The alternatives behind the words: numbers, symbols with what may trail them, white space.
template <int most_digits, bool slash_trails>
const char* not_word_end(const char* begin, const char* end) {
  SplitChar c = split_char(begin, end);
  if (is_in(c.kind, number_chars)) {
    const char* at = c.next;
    for (int digits = 1; digits < most_digits && at != end; ++digits) {
      const SplitChar digit = split_char(at, end);
      if (!is_in(digit.kind, number_chars)) break;
      at = digit.next;
    }
    return at;
  }
  if (*begin == ' ' && c.next != end) c = split_char(c.next, end);
  if (is_in(c.kind, symbol_chars)) {
    const char* at = run_of(symbol_chars, c.next, end);
    while (at != end && (*at == '\r' || *at == '\n' || (slash_trails && *at == '/'))) ++at;
    return at;
  }
  return white_space_end(begin, end, true);
}

// [^\r\n\p{L}\p{N}]? : what may lead a word.
constexpr CharClasses leads_word = ~(newline_chars | letter_chars | number_chars);

template <int most_digits>
const char* cl100k_end(const char* begin, const char* end) {
  if (const char* found = contraction(begin, end, true)) return found;
  const SplitChar c = split_char(begin, end);
  if (is_in(c.kind, letter_chars)) return run_of(letter_chars, c.next, end);
  if (is_in(c.kind, leads_word)) {
    const char* word = run_of(letter_chars, c.next, end);
    if (word != c.next) return word;
  }
  return not_word_end<most_digits, false>(begin, end);
}

// o200k cuts words where their case rises again. A caseless letter or a mark may stand in either part.
constexpr CharClasses caseless = classes_of(CharClass::letter, CharClass::mark);
constexpr CharClasses head_part = caseless | classes_of(CharClass::upper);
constexpr CharClasses tail_part = caseless | classes_of(CharClass::lower);

struct CasedWord {
  const char* with_tail;  // the end of head*tail+, null if it does not match
  const char* head;       // the end of head*
};

CasedWord cased_word(const char* begin, const char* end) {
  const char* last_caseless = nullptr;  // where the last of head* that is also a tail ends
  const char* at = begin;
  while (at != end) {
    const SplitChar c = split_char(at, end);
    if (!is_in(c.kind, head_part)) break;
    at = c.next;
    if (is_in(c.kind, caseless)) last_caseless = at;
  }
  const char* tail = run_of(tail_part, at, end);
  // Without a lower-case letter behind it, head* gives back what it took, up to its last caseless character.
  return {tail != at ? tail : last_caseless, at};
}

template <int most_digits, bool contractions>
const char* o200k_end(const char* begin, const char* end) {
  const SplitChar c = split_char(begin, end);
  const char* word = nullptr;
  if (is_in(c.kind, letter_chars)) {
    const CasedWord plain = cased_word(begin, end);
    word = plain.with_tail ? plain.with_tail : plain.head;
  } else if (is_in(c.kind, leads_word)) {
    const CasedWord led = cased_word(c.next, end);
    word = led.with_tail;
    if (!word && c.kind == CharClass::mark) word = cased_word(begin, end).with_tail;
    if (!word && led.head != c.next) word = led.head;
  }
  if (!word) return not_word_end<most_digits, true>(begin, end);
  const char* shortened = contractions ? contraction(word, end, true) : nullptr;
  return shortened ? shortened : word;
}

constexpr std::string_view gpt2_patterns[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)",
};
constexpr std::string_view cl100k_patterns[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};
constexpr std::string_view qwen2_patterns[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};
constexpr std::string_view o200k_patterns[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

constexpr std::string_view tekken_patterns[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

// By Splitter, those that match all of a text.
const std::array rules = {SplitRule{gpt2_end, gpt2_patterns}, SplitRule{cl100k_end<3>, cl100k_patterns},
                          SplitRule{cl100k_end<1>, qwen2_patterns}, SplitRule{o200k_end<3, true>, o200k_patterns},
                          SplitRule{o200k_end<1, false>, tekken_patterns}};

SplitRule rule_of(Splitter splitter) {
  return matches_all(splitter) ? rules[static_cast<std::size_t>(splitter)] : match_rule(splitter);
}

}  // namespace

PieceEnd piece_end_of(Splitter splitter) { return rule_of(splitter).end; }

std::span<const std::string_view> patterns_of(Splitter splitter) { return rule_of(splitter).patterns; }

std::optional<Splitter> splitter_of_pattern(std::string_view pattern) {
  for (std::size_t i = 0; i < splitter_count; ++i) {
    for (const std::string_view known : patterns_of(static_cast<Splitter>(i))) {
      if (known == pattern) return static_cast<Splitter>(i);
    }
  }
  return std::nullopt;
}

std::size_t safe_cut(std::string_view text, std::size_t from) {
  const char *begin = text.data(), *end = begin + text.size();
  if (from >= text.size()) return text.size();
  const char* at = begin + from;
  // To the start of a character: in broken text this may stop on any byte, which is a character of its own then.
  for (int back = 0; back < 3 && at != begin && (static_cast<unsigned char>(*at) & 0xC0) == 0x80; ++back) --at;
  bool after_word = false;
  while (at != end) {
    const SplitChar c = split_char(at, end);
    if (after_word && is_in(c.kind, space_chars) && at >= begin + from) return static_cast<std::size_t>(at - begin);
    after_word = is_in(c.kind, letter_chars | number_chars);
    at = c.next;
  }
  return text.size();
}

}  // namespace reckon
