// Which layout of a number of devices trains a model the fastest: layouts are enumerated, those that do not divide or
// do not fit are left out, and the others are timed, those first that could be the fastest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "time/step.h"

namespace reckon {

// What is not searched: it is as given.
struct Given {
  std::optional<std::int64_t> tensor, context, pipeline, virtual_stages, expert, data, zero;
  std::optional<std::int64_t> batch;  // of a micro-batch
  std::optional<bool> sequence;
  std::optional<Recompute> recompute;
};

struct Search {
  Model model;
  Workload workload;  // tokens, types, optimizer …; its layout, batch and recomputation are searched
  Target target;
  std::optional<DType> quantised;  // the type of the layers' matrices, where these alone are
  bool stored = false;             // weights have the types of their file
  Hardware hardware;
  std::int64_t sequences = 1;  // of a step, over all ranks
  std::int64_t node = 1;       // devices that the fastest link joins
  double memory_share = 1;     // of a device's memory that may be filled
  Given given;
  std::function<bool(const Workload&)> accepts;  // what else is asked of a layout; none: nothing
  std::size_t wanted = 5;                        // how many of the fastest
};

// A layout that was looked at, and what the fastest has over it.
struct Planned {
  Step step;
  double tokens_per_second = 0;
  double mfu = 0;           // FLOPs of the network's products, with every score, over what the devices could do
  double bubble_share = 0;  // of the step
  std::int64_t left = 0;    // bytes of the device's memory
  std::string why_not;      // a sentence: why it is not the first; empty for the first
};

// One that does not fit: its best of all ways.
struct TooLarge {
  Workload workload;
  RankMemory memory;
  std::string why_not;
};

struct Plans {
  std::vector<Planned> best;             // no two that are alike (layouts.h), the fastest first
  std::vector<TooLarge> too_large;       // splits of which no way fits, that would have been among them
  std::int64_t layouts = 0;              // that divide
  std::int64_t timed = 0;                // …and were looked at as whole
  std::int64_t compiled = 0;             // programs
  std::vector<std::string> assumptions;  // of all programs that were made, a sentence each
  std::string left_out;                  // layouts that an operation of the model has no rule for: which, in a sentence
  bool across_nodes = false;             // tensor ranks beyond a node, where nothing within one fits
};

// Nothing fits: `best` is empty.
Plans search_layouts(const Search& search);

// Nothing fits: a sentence that says so and what would, recomputation that was not allowed or how many devices at the
// least. Empty: no layout divides.
std::string what_would_fit(const Search& search);

// Adds the sentences that are not among them yet.
void add_new(std::vector<std::string>& sentences, const std::vector<std::string>& more);

// Its two halves: "X does not fit on 64 × h100-sxm: …", and "; 256 would do", the least power of two above `devices`
// that was looked at and does, or why none does: more devices need less memory each, but may not divide the sequences.
// `bytes_on`: what the most frugal layout of so many takes of a device; nothing where none divides, an Error where no
// link joins them. `in_all`: bytes that all devices hold at the least: where these are too few for that, nothing is
// laid out. `left_out`: which layouts are tried with no number, as Plans has it.
std::string does_not_fit(const Search& search, const TooLarge& frugal, std::int64_t budget);
std::string devices_that_would_do(std::int64_t devices, std::int64_t in_all, std::int64_t budget,
                                  const std::string& left_out,
                                  const std::function<std::optional<std::int64_t>(std::int64_t)>& bytes_on);

}  // namespace reckon
