// What a character is to a text splitter: its class, from its general category and its white-space property.
#pragma once

#include <cstdint>

namespace reckon {

// The order is known to scripts/unicode-tables.
enum class CharClass : std::uint8_t {
  other,        // none of the below: controls, unassigned
  other_word,   // the same, but \w: joiners
  punctuation,  // P, without the next
  connector,    // Pc: _ and its like, which are \w
  symbol,       // S, without the next
  symbol_word,  // symbols that are \w: circled letters
  upper,        // Lu, Lt
  lower,        // Ll
  letter,       // Lm, Lo: letters without case
  mark,         // M
  number,       // No: fractions, superscripts
  number_word,  // Nd, Nl: numbers that are \w
  space,        // White_Space, without the two below
  newline,      // \r \n
};

namespace unicode {
extern const char* const version;      // "15.0"
extern const std::uint8_t block_of[];  // of every 128 code points
extern const std::uint64_t classes[];  // 16 classes of 4 bits in a word, 8 words in a block
}  // namespace unicode

inline CharClass class_of(char32_t point) {
  const std::uint64_t word = unicode::classes[unicode::block_of[point >> 7] * 8u + ((point >> 4) & 7)];
  return static_cast<CharClass>((word >> (4 * (point & 15))) & 15);
}

// A set of classes, one bit each.
using CharClasses = std::uint32_t;
constexpr CharClasses classes_of(CharClass single) { return 1u << static_cast<unsigned>(single); }
template <class... More>
constexpr CharClasses classes_of(CharClass first, More... more) {
  return classes_of(first) | classes_of(more...);
}
constexpr bool is_in(CharClass single, CharClasses set) { return (set >> static_cast<unsigned>(single)) & 1; }

inline constexpr CharClasses letter_chars = classes_of(CharClass::upper, CharClass::lower, CharClass::letter);  // \p{L}
inline constexpr CharClasses number_chars = classes_of(CharClass::number, CharClass::number_word);              // \p{N}
inline constexpr CharClasses newline_chars = classes_of(CharClass::newline);                                // [\r\n]
inline constexpr CharClasses space_chars = classes_of(CharClass::space) | newline_chars;                    // \s
inline constexpr CharClasses punctuation_chars = classes_of(CharClass::punctuation, CharClass::connector);  // \p{P}
inline constexpr CharClasses sign_chars = classes_of(CharClass::symbol, CharClass::symbol_word);            // \p{S}
inline constexpr CharClasses symbol_chars =  // [^\s\p{L}\p{N}]
    punctuation_chars | sign_chars | classes_of(CharClass::other, CharClass::other_word, CharClass::mark);
inline constexpr CharClasses word_chars =  // \w
    letter_chars | classes_of(CharClass::other_word, CharClass::connector, CharClass::symbol_word, CharClass::mark,
                              CharClass::number_word);

}  // namespace reckon
