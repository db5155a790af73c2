// What ranks exchange: over which link, in how many messages that follow one another, and in how many seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.h"
#include "time/profile.h"

namespace reckon {

class Rates;

// How many ranks are in a group, among how many devices that lie beside each other they are found, and how many devices
// each is from the next: ranks are numbered tensor first, then context, data and pipeline (Megatron's order).
struct Span {
  std::int64_t ranks, among, apart;
};
Span span_of(Group group, const Layout& layout);
// Of what an op with such costs exchanges: a part of its group's ranks where the experts' gradients are summed.
Span span_of(const Program& program, const Op& op, const Cost& cost);

// What ranks do with each other's parts.
enum class Exchange : std::uint8_t {
  gather,  // one after the other to the next rank, around a ring: an all-gather, a reduce-scatter, half of a sum
  sum,     // both halves
  each,    // to every other rank its own, side by side
  next,    // to one other rank
};

// Seconds of an exchange in which a rank sends so many bytes.
double link_seconds(Rates& rates, double sent, const Span& span, Exchange exchange);

// Of each op of a program; 0 where it exchanges nothing. Data ranks exchange a layer's parameters, or their gradients,
// as one message (a bucket of Megatron's, a unit of FSDP's), whose ops take their shares of it by their bytes.
std::vector<double> link_seconds(const Program& program, const std::vector<Cost>& costs, Rates& rates);

}  // namespace reckon
