// Which layout of a number of devices serves a model the best: how many tokens a second all replicas give at the
// largest batch that fits and that meets a goal for the time of a token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "time/search.h"

namespace reckon {

// Prompts are worked through in pieces of so many tokens beside decoding (vLLM's default on a server).
inline constexpr std::int64_t prompt_chunk = 8192;

struct Served {
  Workload workload;             // decoding, of a rank; its batch is that of one of a replica's groups
  std::int64_t replicas = 1;     // of the model, each on tensor · pipeline devices
  std::int64_t sequences = 1;    // that a replica decodes at the same time: a group for each stage of its pipeline
  RankMemory memory;             // of the rank that needs the most
  std::int64_t left = 0;         // bytes of the device's memory
  double prefill_seconds = 0;    // until a prompt of the whole context is worked through, alone
  double token_seconds = 0;      // from one token of a sequence to the next
  double device_seconds = 0;     // …of which the devices compute or read memory
  double tokens_per_second = 0;  // of all replicas
  std::string why_not;           // why it is not the first
};

struct ServingPlans {
  std::vector<Served> best;  // by tokens a second
  std::vector<TooLarge> too_large;
  std::optional<Served> soonest;  // where none meets the goal: the one that comes closest
  std::int64_t layouts = 0, compiled = 0;
  std::vector<std::string> assumptions;
  std::string left_out;  // as in search.h
};

// `search.workload.tokens` is the context; `token_seconds` the goal, if there is one.
ServingPlans search_serving(const Search& search, const std::optional<double>& token_seconds);

// As in search.h.
std::string what_would_fit_serving(const Search& search);

}  // namespace reckon
