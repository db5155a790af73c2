#include "model/nearest.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace reckon {

namespace {

// Levenshtein's distance with one row of the table; letters are compared without case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i - 1])) == std::tolower(static_cast<unsigned char>(b[j - 1]));
      const std::size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "qwen" of qwen3.
std::string without_digits(std::string_view word) {
  std::string letters;
  std::copy_if(word.begin(), word.end(), std::back_inserter(letters), [](char c) { return !is_digit(c); });
  return letters;
}

// Whether `a` is `b` with a greater number in it, where `word` is neither: qwen3 and qwen2, for qwen4.
bool is_later_version(std::string_view a, std::string_view b, std::string_view word) {
  return without_digits(a) == without_digits(b) && without_digits(word).starts_with(without_digits(a)) && a > b;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";  // nobody mistypes that much
  // What goes on as the word begins comes first: the shortest of them.
  std::string best;
  for (const std::string& candidate : known) {
    if (word.size() <= 2 || !candidate.starts_with(word)) continue;
    if (best.empty() || candidate.size() < best.size() ||
        (candidate.size() == best.size() && is_later_version(candidate, best, word)))
      best = candidate;
  }
  if (!best.empty()) return best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > least || (distance == least && (best.empty() || !is_later_version(candidate, best, word)))) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace reckon
