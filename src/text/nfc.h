// Unicode's normalization form C: characters decomposed, marks put in order, and composed again (Unicode Standard Annex
// #15). Bytes that are no valid UTF-8 stay where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reckon {

std::string nfc(std::string_view text);

namespace unicode {  // the tables, sorted by code point
struct CombiningRange {
  char32_t first, last;
  int combining_class;
};
// A character that decomposes, and into which two: second is 0 where one stands for it. Each number is what to add to
// that of the row before: most are small and many alike, and the page fetches half as much.
struct DecompositionStep {
  std::int32_t point, first, second;
};
extern const std::span<const CombiningRange> combining_ranges;
extern const std::span<const DecompositionStep> decomposition_steps;
extern const std::span<const char32_t> never_composed;  // of those that decompose into two
}  // namespace unicode

}  // namespace reckon
