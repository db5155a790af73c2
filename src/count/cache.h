// What it costs to keep keys and values for generating, read off the program that decodes.
#pragma once

#include <reckon/count.h>
#include <reckon/model.h>
#include <reckon/workload.h>

#include <cstdint>

namespace reckon {

// Bytes of the cache once it holds `tokens` tokens of each of `sequences` sequences, and what cross-attention keeps of
// `encoder_tokens`.
struct CacheCost {
  DType type = DType::bfloat16;
  std::int64_t sequences = 1, tokens = 0, encoder_tokens = 0;  // 0: nothing of an encoder is kept
  Count first_token;                                           // of one sequence, while every layer still grows
  Count last_token;  // what the last token adds to one sequence: layers with a full window have stopped growing
  Count state;       // of one sequence: what recurrences keep, however long it is
  Count total;       // of all sequences, states and the encoder's part included
};

// After the workload's tokens, past and new, in the type that its precision says; of one rank of its layout.
CacheCost cache_cost(const Model& model, const Workload& workload);

// Of sequences as long as the context, in bfloat16.
CacheCost full_cache_cost(const Model& model, std::int64_t sequences = 1);

}  // namespace reckon
