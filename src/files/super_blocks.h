// Encoders of GGUF's K blocks: 256 numbers in sub-blocks, whose scales are small integers themselves.
#pragma once

#include <cstdint>

#include "files/fit_scales.h"

namespace reckon {

void encode_q2_k(const fit::Numbers& of, std::uint8_t* block);
void encode_q3_k(const fit::Numbers& of, std::uint8_t* block);
void encode_q4_k(const fit::Numbers& of, std::uint8_t* block);
void encode_q5_k(const fit::Numbers& of, std::uint8_t* block);
void encode_q6_k(const fit::Numbers& of, std::uint8_t* block);
void encode_iq4_xs(const fit::Numbers& of, std::uint8_t* block);

}  // namespace reckon
