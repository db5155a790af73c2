// The cosines and sines of rotary positions, with the scaling kinds of published models.
#pragma once

#include <reckon/model.h>

#include <cstdint>
#include <vector>

namespace reckon {

// Rows `first` … `first + count` of the table, each the cosines of the dims/2 pairs, then their sines. `length` is the
// number of tokens so far, which the kinds that depend on it (dynamic, longrope) choose their frequencies by.
std::vector<float> rope_rows(const Rope& rope, std::int64_t first, std::int64_t count, std::int64_t length);

// Whether the rows depend on `length`.
bool depends_on_length(const Rope& rope);

}  // namespace reckon
