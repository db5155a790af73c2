#include "text/nfc.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "text/utf8.h"

namespace reckon {
namespace {

constexpr char32_t broken_byte = 0x200000;  // plus the byte: past all of Unicode, so that no table has it

// Hangul syllables are made by arithmetic (Unicode Standard, 3.12).
constexpr char32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, trails = 0x11A7;
constexpr char32_t n_leads = 19, n_vowels = 21, n_trails = 28, n_syllables = n_leads * n_vowels * n_trails;

struct Character {
  char32_t point;
  int combining_class;
};

int combining_class_of(char32_t point) {
  if (point < 0x300) return 0;
  const std::span ranges = unicode::combining_ranges;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), point,
                       [](char32_t wanted, const unicode::CombiningRange& range) { return wanted < range.first; });
  return after != ranges.begin() && point <= after[-1].last ? after[-1].combining_class : 0;
}

struct Decomposition {
  char32_t point, first, second;
};

// Sorted by the character.
const std::vector<Decomposition>& decompositions() {
  static const std::vector<Decomposition> all = [] {
    std::vector<Decomposition> table;
    table.reserve(unicode::decomposition_steps.size());
    Decomposition row{};
    for (const unicode::DecompositionStep& step : unicode::decomposition_steps) {
      row.point += static_cast<char32_t>(step.point);
      row.first += static_cast<char32_t>(step.first);
      row.second += static_cast<char32_t>(step.second);
      table.push_back(row);
    }
    return table;
  }();
  return all;
}

bool by_parts(const Decomposition& a, const Decomposition& b) {
  return std::tie(a.first, a.second) < std::tie(b.first, b.second);
}

// Those that go the other way too, sorted by what they are made of.
const std::vector<Decomposition>& compositions() {
  static const std::vector<Decomposition> all = [] {
    std::vector<Decomposition> table = decompositions();
    const std::span apart = unicode::never_composed;
    std::erase_if(table, [&](const Decomposition& each) {
      return each.second == 0 || std::binary_search(apart.begin(), apart.end(), each.point);
    });
    std::sort(table.begin(), table.end(), by_parts);
    return table;
  }();
  return all;
}

void decompose(char32_t point, std::vector<Character>& out) {
  if (point - syllables < n_syllables) {
    const char32_t index = point - syllables, trail = index % n_trails;
    out.push_back({leads + index / (n_vowels * n_trails), 0});
    out.push_back({vowels + index / n_trails % n_vowels, 0});
    if (trail) out.push_back({trails + trail, 0});
    return;
  }
  const std::vector<Decomposition>& table = decompositions();
  const auto found = std::lower_bound(table.begin(), table.end(), point,
                                      [](const Decomposition& each, char32_t wanted) { return each.point < wanted; });
  if (found == table.end() || found->point != point) return out.push_back({point, combining_class_of(point)});
  decompose(found->first, out);
  if (found->second) decompose(found->second, out);
}

// 0 if the two make no character.
char32_t compose(char32_t first, char32_t second) {
  if (first - leads < n_leads && second - vowels < n_vowels) {
    return syllables + ((first - leads) * n_vowels + (second - vowels)) * n_trails;
  }
  if (first - syllables < n_syllables && (first - syllables) % n_trails == 0 && second - trails - 1 < n_trails - 1) {
    return first + (second - trails);
  }
  const std::vector<Decomposition>& table = compositions();
  const auto found = std::lower_bound(table.begin(), table.end(), Decomposition{0, first, second}, by_parts);
  return found != table.end() && found->first == first && found->second == second ? found->point : 0;
}

void order_marks(std::vector<Character>& characters) {
  for (auto at = characters.begin(); at != characters.end();) {
    const auto is_starter = [](const Character& each) { return each.combining_class == 0; };
    const auto begin = std::find_if_not(at, characters.end(), is_starter);
    at = std::find_if(begin, characters.end(), is_starter);
    std::stable_sort(begin, at,
                     [](const Character& a, const Character& b) { return a.combining_class < b.combining_class; });
  }
}

// A character joins the last starter unless one of its own class or a higher, or a starter, stands between them.
void compose_all(std::vector<Character>& characters) {
  std::size_t out = 0, starter = 0;
  bool has_starter = false;
  int last_class = -1;  // of what stands behind the starter; -1: nothing does
  for (const Character each : characters) {
    const bool blocked = last_class >= each.combining_class;
    const char32_t joined = has_starter && !blocked ? compose(characters[starter].point, each.point) : 0;
    if (joined) {
      characters[starter].point = joined;
      continue;
    }
    if (each.combining_class == 0) {
      starter = out;
      has_starter = true;
      last_class = -1;
    } else {
      last_class = each.combining_class;
    }
    characters[out++] = each;
  }
  characters.resize(out);
}

}  // namespace

std::string nfc(std::string_view text) {
  // Below U+0300, whose first byte is 0xCC, every character is composed already.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; }))
    return std::string(text);
  std::vector<Character> characters;
  characters.reserve(text.size());
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    const Utf8Char c = utf8_char(at, end);
    if (c.valid) {
      decompose(c.point, characters);
    } else {
      characters.push_back({broken_byte + static_cast<unsigned char>(*at), 0});
    }
    at += c.length;
  }
  order_marks(characters);
  compose_all(characters);
  std::string out;
  out.reserve(text.size());
  for (const Character& each : characters) {
    if (each.point >= broken_byte) {
      out += static_cast<char>(each.point - broken_byte);
    } else {
      append_utf8(out, each.point);
    }
  }
  return out;
}

}  // namespace reckon
