// The scales of GGUF's K blocks: of 256 numbers in sub-blocks, whose scales are small integers themselves. Each writes
// those of a block whose bytes are zero.
#pragma once

#include <cstdint>

#include "files/fit_scales.h"

namespace reckon {

void fit_q2_k(const fit::Numbers& of, std::uint8_t* block);
void fit_q3_k(const fit::Numbers& of, std::uint8_t* block);
void fit_q4_k(const fit::Numbers& of, std::uint8_t* block);
void fit_q5_k(const fit::Numbers& of, std::uint8_t* block);
void fit_q6_k(const fit::Numbers& of, std::uint8_t* block);
void fit_iq4_xs(const fit::Numbers& of, std::uint8_t* block);

}  // namespace reckon
