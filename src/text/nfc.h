// Unicode's normalization form C: characters decomposed, marks put in order, and composed again (Unicode Standard Annex
// #15). Bytes that are no valid UTF-8 stay where they are.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reckon {

std::string nfc(std::string_view text);

namespace unicode {  // the tables, sorted
struct CombiningRange {
  char32_t first, last;
  int combining_class;
};
struct Decomposition {
  char32_t point, first, second;  // second is 0 where one character stands for another
};
struct Composition {
  char32_t first, second, point;
};
extern const std::span<const CombiningRange> combining_ranges;
extern const std::span<const Decomposition> decompositions;
extern const std::span<const Composition> compositions;
}  // namespace unicode

}  // namespace reckon
