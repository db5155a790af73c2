// Times as people read them.
#pragma once

#include <string>

namespace reckon {

std::string duration(double seconds);  // 12.3 µs, 109.4 ms, 1.24 s, 35.2 min, 12.3 h, 6,583.6 days

}  // namespace reckon
