// Arithmetic on sizes that come from files or from user-given shapes: overflow is an error, never wraps.
#pragma once

#include <fmt/core.h>
#include <reckon/error.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace reckon {

// `what` names the quantity in the error: "the size of tensor 'x'".

template <std::integral Integer>
[[nodiscard]] Integer checked_multiply(Integer a, Integer b, std::string_view what) {
  Integer product{};
  if (__builtin_mul_overflow(a, b, &product))
    throw Overflow(fmt::format("{} overflows: {} × {} is past {}", what, a, b, std::numeric_limits<Integer>::max()));
  return product;
}

template <std::integral Integer>
[[nodiscard]] Integer checked_add(Integer a, Integer b, std::string_view what) {
  Integer sum{};
  if (__builtin_add_overflow(a, b, &sum))
    throw Overflow(fmt::format("{} overflows: {} + {} is past {}", what, a, b, std::numeric_limits<Integer>::max()));
  return sum;
}

template <std::integral To, std::integral From>
[[nodiscard]] To checked_cast(From value, std::string_view what) {
  if (!std::in_range<To>(value))
    throw Overflow(fmt::format("{} overflows: {} is not between {} and {}", what, value, std::numeric_limits<To>::min(),
                               std::numeric_limits<To>::max()));
  return static_cast<To>(value);
}

// A number of bytes or elements that are to lie in memory: no more than pointers can span, which on 32 bits is 2 GiB.
template <std::integral From>
[[nodiscard]] std::size_t memory_size(From size, std::string_view what) {
  return static_cast<std::size_t>(checked_cast<std::ptrdiff_t>(checked_cast<std::uint64_t>(size, what), what));
}

}  // namespace reckon
