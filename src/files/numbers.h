// Numbers as people read them.
#pragma once

#include <reckon/count.h>

#include <concepts>
#include <cstdint>
#include <string>

namespace reckon {

std::string group_digits(std::string number);  // of its whole part: 1,234,567
template <std::integral Integer>
std::string grouped(Integer value) {
  return group_digits(std::to_string(value));
}
inline std::string grouped(Count value) { return group_digits(to_string(value)); }
std::string grouped(double value);                         // 1,536 · 0.25 · 3.14e23
std::string percent(double share, int digits = 1);         // 31.7%
std::string signed_percent(double share, int digits = 1);  // −32.2%, +0.4%
std::string binary_bytes(Count bytes);                     // 7.92 GiB
std::string decimal_bytes(Count bytes);                    // 8.51 GB
std::string flops(double flops);                           // 4.513 TFLOP
std::string compact(double value);                         // 124.4M, 6.74B, 1.5T

}  // namespace reckon
