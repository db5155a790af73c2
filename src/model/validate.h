// Whether a Model makes sense, however it was made.
#pragma once

#include <reckon/model.h>

#include <cstdint>

namespace reckon {

// Larger than any size of a real network, and small enough that the product of two fits into 64 bits.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 30;
// A model that claims more would only fill the memory.
inline constexpr std::int64_t most_layers = 100'000;

// Throws a reckon::Error that names the model, the layer and the field, what was found and what was expected.
void validate(const Model& model);

}  // namespace reckon
