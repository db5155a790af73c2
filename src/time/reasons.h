// Sentences made of figures: how a layout is split, why it is slower than another, why it does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "time/step.h"

namespace reckon {

std::string layout_words(const Workload& workload);  // "tensor 8 + sequence, pipeline 16 × 8, data 128, ZeRO 1"
std::string counted(std::int64_t number, std::string_view thing);  // "1 device", "1,024 devices"
std::string recompute_words(Recompute recompute);                  // "nothing", "attention", "blocks"
std::string link_rate(const Link& link);                           // "50 GB/s"
std::string why_slower(const Step& step, const Step& fastest);
std::string why_too_large(const RankMemory& memory, std::int64_t budget);
// Where a predicted MFU is beyond the peak.
inline constexpr const char* mfu_beyond_peak =
    "MFU counts every score of attention, also those that windows and causality leave out and nobody computes: hence "
    "more than 100%.";

}  // namespace reckon
