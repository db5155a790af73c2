// ALiBi's slope of a head (Press et al., arXiv 2108.12409, section 3, with the published handling of counts that are no
// power of two).
#pragma once

#include <cstdint>

namespace reckon {

float alibi_slope(std::int64_t head, std::int64_t heads);

}  // namespace reckon
