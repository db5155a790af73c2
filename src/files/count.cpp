// What Count needs past 64 bits: products, quotients, and its digits.
#include <fmt/format.h>
#include <reckon/count.h>
#include <reckon/error.h>

#include <algorithm>
#include <ostream>

namespace reckon {
namespace {

__extension__ typedef unsigned __int128 Magnitude;
__extension__ typedef __int128 Signed;

constexpr Magnitude most = ~Magnitude{0} >> 1;  // 2¹²⁷ − 1

Magnitude magnitude(Signed value) { return value < 0 ? -static_cast<Magnitude>(value) : static_cast<Magnitude>(value); }

}  // namespace

Count Count::long_product(Count a, Count b) {
  // By hand: clang's own check calls a function that libgcc does not have.
  const Magnitude x = magnitude(a.value_), y = magnitude(b.value_);
  if (y != 0 && x > most / y) overflow(a, "×", b);
  const auto product = static_cast<Wide>(x * y);
  return Count((a.value_ < 0) == (b.value_ < 0) ? product : Wide(-product));
}

Count Count::long_quotient(Count a, Count b) {
  if (b.value_ == 0) throw Error(fmt::format("{} is divided by zero", to_string(a)));
  const Magnitude quotient = magnitude(a.value_) / magnitude(b.value_);
  if (quotient > most) overflow(a, "÷", b);
  const auto value = static_cast<Wide>(quotient);
  return Count((a.value_ < 0) == (b.value_ < 0) ? value : Wide(-value));
}

void Count::overflow(Count a, const char* sign, Count b) {
  throw Overflow(fmt::format("{} {} {} is past 2^127 - 1", to_string(a), sign, to_string(b)));
}

Count::operator std::int64_t() const {
  if (!is_short()) throw Overflow(fmt::format("{} is past 2^63 - 1", to_string(*this)));
  return static_cast<std::int64_t>(value_);
}

std::string to_string(Count count) {
  if (count.is_short()) return std::to_string(static_cast<std::int64_t>(count.value_));
  std::string digits;
  for (Magnitude rest = magnitude(count.value_); rest != 0; rest /= 10) {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (count.value_ < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::ostream& operator<<(std::ostream& out, Count count) { return out << to_string(count); }

}  // namespace reckon
