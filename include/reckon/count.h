// A count of FLOPs, bytes or parameters: a whole number, exact up to 2¹²⁷ − 1. A step of training a large model takes
// more FLOPs than 64 bits hold. What is past it throws Overflow; it never wraps.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>

namespace reckon {

class Count {
 public:
  constexpr Count() = default;
  template <std::integral Integer>
  constexpr Count(Integer value) : value_(value) {}

  explicit operator std::int64_t() const;  // throws Overflow where it does not fit
  explicit constexpr operator double() const { return static_cast<double>(value_); }

  friend constexpr Count operator+(Count a, Count b) {
    Count sum;
    if (__builtin_add_overflow(a.value_, b.value_, &sum.value_)) overflow(a, "+", b);
    return sum;
  }
  friend constexpr Count operator-(Count a, Count b) {
    Count difference;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference.value_)) overflow(a, "−", b);
    return difference;
  }
  friend constexpr Count operator*(Count a, Count b) {
    // Two numbers of 64 bits never make one of more than 127.
    return a.is_short() && b.is_short() ? Count(Wide(a.value_ * b.value_)) : long_product(a, b);
  }
  // Rounds towards zero. Throws Error where b is 0.
  friend constexpr Count operator/(Count a, Count b) {
    return a.is_short() && b.is_short() && b.value_ > 0
               ? Count(static_cast<std::int64_t>(a.value_) / static_cast<std::int64_t>(b.value_))
               : long_quotient(a, b);
  }
  friend constexpr Count operator-(Count a) { return Count() - a; }
  constexpr Count& operator+=(Count other) { return *this = *this + other; }
  constexpr Count& operator-=(Count other) { return *this = *this - other; }
  constexpr Count& operator*=(Count other) { return *this = *this * other; }

  constexpr auto operator<=>(const Count&) const = default;  // NOLINT: clang-tidy 14 takes it for a null pointer

  friend std::string to_string(Count count);  // "41063286427561623552"
  friend std::ostream& operator<<(std::ostream& out, Count count);

  // Whether a 64-bit integer holds it.
  constexpr bool is_short() const {
    return value_ >= std::numeric_limits<std::int64_t>::min() && value_ <= std::numeric_limits<std::int64_t>::max();
  }

 private:
  __extension__ typedef __int128 Wide;
  explicit constexpr Count(Wide value) : value_(value) {}
  static Count long_product(Count a, Count b);
  static Count long_quotient(Count a, Count b);
  [[noreturn]] static void overflow(Count a, const char* sign, Count b);

  Wide value_ = 0;
};

std::string to_string(Count count);

}  // namespace reckon
