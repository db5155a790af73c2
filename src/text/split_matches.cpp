// Splitters that match parts of a text: DeepSeek's, BLOOM's and Falcon's.
#include <algorithm>
#include <array>
#include <vector>

#include "text/split_rule.h"

namespace reckon {
namespace {

using reckon::run_of;

// Where the expression that matches at `begin` ends; null where it does not match there.
using MatchEnd = const char* (*)(const char* begin, const char* end);

// A match, or what lies before the next one.
template <MatchEnd match>
const char* piece_end(const char* begin, const char* end) {
  if (const char* found = match(begin, end)) return found;
  const char* at = split_char(begin, end).next;
  while (at != end && !match(at, end)) at = split_char(at, end).next;
  return at;
}

// What stands between brackets in an expression: characters and ranges of them.
class CharSet {
 public:
  explicit CharSet(std::string_view text) {
    const char *at = text.data(), *end = at + text.size();
    const auto take = [&] {
      const Utf8Char c = utf8_char(at, end);
      at += c.length;
      return c.point;
    };
    while (at != end) {
      Range range{take(), 0};
      range.last = range.first;
      if (end - at > 1 && *at == '-') {
        ++at;
        range.last = take();
      }
      ranges_.push_back(range);
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
    // Ranges may overlap, as they do in DeepSeek's.
    std::vector<Range> joined;
    for (const Range& range : ranges_) {
      if (!joined.empty() && range.first <= joined.back().last + 1)
        joined.back().last = std::max(joined.back().last, range.last);
      else
        joined.push_back(range);
    }
    ranges_ = std::move(joined);
  }

  bool contains(char32_t point) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), point,
                                        [](char32_t value, const Range& range) { return value < range.first; });
    return after != ranges_.begin() && point <= std::prev(after)->last;
  }

 private:
  struct Range {
    char32_t first, last;
  };
  std::vector<Range> ranges_;
};

struct SetChar {
  bool inside;
  const char* next;
};
SetChar set_char(const CharSet& set, const char* at, const char* end) {
  const Utf8Char c = utf8_char(at, end);
  return {set.contains(c.point), at + c.length};
}

const char* run_of(const CharSet& set, const char* at, const char* end) {
  while (at != end) {
    const SetChar c = set_char(set, at, end);
    if (!c.inside) break;
    at = c.next;
  }
  return at;
}

const char* or_null(const char* run, const char* begin) { return run == begin ? nullptr : run; }

// \s?set+
template <class Set>
const char* spaced_run(const Set& set, const char* begin, const char* end) {
  const SplitChar c = split_char(begin, end);
  if (is_in(c.kind, space_chars)) {
    const char* behind = run_of(set, c.next, end);
    if (behind != c.next) return behind;
  }
  return or_null(run_of(set, begin, end), begin);
}

const char* line_break(const char* begin, const char*) {
  return *begin == '\r' || *begin == '\n' ? begin + 1 : nullptr;
}

// \s?[…]+, and the set that it names.
constexpr std::string_view deepseek_letter_patterns[] = {
    R"(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)"};
constexpr std::string_view deepseek_sign_patterns[] = {R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)"};
CharSet set_of(std::string_view pattern) { return CharSet(pattern.substr(4, pattern.size() - 6)); }

const char* deepseek_letters(const char* begin, const char* end) {
  static const CharSet set = set_of(deepseek_letter_patterns[0]);
  return spaced_run(set, begin, end);
}

const char* deepseek_signs(const char* begin, const char* end) {
  static const CharSet set = set_of(deepseek_sign_patterns[0]);
  return spaced_run(set, begin, end);
}

const char* deepseek_scripts(const char* begin, const char* end) {
  static const CharSet set("一-龥ࠀ-一가-\uD7FF");
  return or_null(run_of(set, begin, end), begin);
}

const char* deepseek_v3_scripts(const char* begin, const char* end) {
  static const CharSet set("一-龥\u3040-\u309F\u30A0-\u30FF");
  return or_null(run_of(set, begin, end), begin);
}

template <CharClasses set>
const char* spaced_class(const char* begin, const char* end) {
  return spaced_run(set, begin, end);
}

const char* three_numbers(const char* begin, const char* end) {
  const char* at = begin;
  for (int i = 0; i < 3 && at != end; ++i) {
    const SplitChar c = split_char(at, end);
    if (!is_in(c.kind, number_chars)) break;
    at = c.next;
  }
  return or_null(at, begin);
}

const char* three_digits(const char* begin, const char* end) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return end - begin >= 3 && std::all_of(begin, begin + 3, is_digit) ? begin + 3 : nullptr;
}

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

const char* deepseek_v3(const char* begin, const char* end) {
  constexpr CharClasses signs = punctuation_chars | sign_chars;
  constexpr CharClasses word = letter_chars | classes_of(CharClass::mark);
  const SplitChar c = split_char(begin, end);
  if (is_in(c.kind, signs) && c.next == begin + 1) {  // of ASCII
    const char* at = std::find_if_not(c.next, end, is_ascii_letter);
    if (at != c.next) return at;
  }
  if (is_in(c.kind, letter_chars)) return run_of(word, c.next, end);
  if (!is_in(c.kind, signs | newline_chars)) {
    const char* at = run_of(word, c.next, end);
    if (at != c.next || c.kind == CharClass::mark) return at;
  }
  SplitChar sign = c;
  if (*begin == ' ' && c.next != end) sign = split_char(c.next, end);
  if (is_in(sign.kind, signs)) {
    const char* at = run_of(signs, sign.next, end);
    while (at != end && (*at == '\r' || *at == '\n')) ++at;
    return at;
  }
  return is_in(c.kind, space_chars) ? white_space_end(begin, end, true) : nullptr;
}

// " ?" and then anything but these and white space.
const char* bloom(const char* begin, const char* end) {
  static const CharSet others("(|.,!?…。，、।۔،)");
  const auto run = [&](const char* from) {
    const char* at = from;
    while (at != end) {
      const Utf8Char c = utf8_char(at, end);
      if (is_in(class_of(c.point), space_chars) || others.contains(c.point)) break;
      at += c.length;
    }
    return at;
  };
  const char* word = *begin == ' ' ? begin + 1 : begin;
  return or_null(run(word), word);
}

// \s+$ : all before it is one piece. Not by trying it at every space, which would take the square of their number.
const char* last_spaces_end(const char* begin, const char* end) {
  const char* spaces = nullptr;  // where the run that we are in begins
  for (const char* at = begin; at != end;) {
    const SplitChar c = split_char(at, end);
    if (!is_in(c.kind, space_chars))
      spaces = nullptr;
    else if (spaces == nullptr)
      spaces = at;
    at = c.next;
  }
  return spaces == nullptr || spaces == begin ? end : spaces;
}

// Line breaks stand in some files as they are, in others as \r and \n.
constexpr std::string_view line_break_patterns[] = {"[\r\n]", R"([\r\n])"};
constexpr std::string_view last_space_patterns[] = {R"(\s+$)"};
constexpr std::string_view deepseek_script_patterns[] = {"[一-龥ࠀ-一가-\uD7FF]+"};
constexpr std::string_view coder_letter_patterns[] = {R"(\s?\p{L}+)"};
constexpr std::string_view coder_punctuation_patterns[] = {R"(\s?\p{P}+)"};
constexpr std::string_view three_number_patterns[] = {R"(\p{N}{1,3})"};
constexpr std::string_view deepseek_v3_script_patterns[] = {"[一-龥\u3040-\u309F\u30A0-\u30FF]+"};
constexpr std::string_view deepseek_v3_patterns[] = {
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};
constexpr std::string_view bloom_patterns[] = {R"( ?[^(\s|[.,!?…。，、।۔،])]+)"};
constexpr std::string_view three_digit_patterns[] = {"[0-9][0-9][0-9]"};

// By Splitter, from line_breaks on.
const std::array match_rules = {
    SplitRule{piece_end<line_break>, line_break_patterns},
    SplitRule{piece_end<deepseek_letters>, deepseek_letter_patterns},
    SplitRule{piece_end<deepseek_signs>, deepseek_sign_patterns},
    SplitRule{last_spaces_end, last_space_patterns},
    SplitRule{piece_end<deepseek_scripts>, deepseek_script_patterns},
    SplitRule{piece_end<spaced_class<letter_chars>>, coder_letter_patterns},
    SplitRule{piece_end<spaced_class<punctuation_chars>>, coder_punctuation_patterns},
    SplitRule{piece_end<three_numbers>, three_number_patterns},
    SplitRule{piece_end<deepseek_v3_scripts>, deepseek_v3_script_patterns},
    SplitRule{piece_end<deepseek_v3>, deepseek_v3_patterns},
    SplitRule{piece_end<bloom>, bloom_patterns},
    SplitRule{piece_end<three_digits>, three_digit_patterns},
};

}  // namespace

SplitRule match_rule(Splitter splitter) {
  return match_rules[static_cast<std::size_t>(splitter) - static_cast<std::size_t>(Splitter::line_breaks)];
}

}  // namespace reckon
