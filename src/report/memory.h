// What a workload keeps and moves: its cache, the state of training, the bytes that its operations read and write.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "count/cache.h"
#include "report/document.h"

namespace reckon {

// None when training, which keeps no cache.
std::optional<CacheCost> cache_of(const Model& model, const Ledger& ledger);

// Forward, backward and optimizer when training; none in other phases.
std::vector<std::pair<std::string, WorkTotals>> stages_of(const Ledger& ledger);

// One line each, as rows of a table with a name and a text.
void add_memory_lines(Table& summary, const Ledger& ledger, const std::optional<CacheCost>& cache);

// The cache or the state of training, in bytes; and what each stage moves.
Table memory_table(const Ledger& ledger, const std::optional<CacheCost>& cache);
Table traffic_table(const Ledger& ledger);

// The keys `bytes` and `cache`, or when training `bytes` and `state`.
void add_memory_json(OrderedJson& json, const WorkTotals& work, const std::optional<CacheCost>& cache,
                     const TrainingState& state);
// … with the bytes of each stage of training.
void add_memory_json(OrderedJson& json, const Ledger& ledger, const std::optional<CacheCost>& cache);

OrderedJson cache_json(const CacheCost& cache);

Cell bytes_cell(Count bytes);    // of memory: "7.92 GiB"; plain: all digits
Cell traffic_cell(Count bytes);  // that are moved: "8.51 GB", as rates are in GB/s; plain: all digits
// FLOP per byte: "1.05 to 37.2" in a mixture, with the range, else "1.05"; plain: the least.
Cell intensity_cell(const WorkTotals& work, bool range = true);
std::string token_bytes_text(const CacheCost& cache);  // "131,072 bytes a token", "… at first, … once windows are full"
std::string sequences_text(const CacheCost& cache);  // "4 × 8,192 tokens", "… and 77 of an encoder"

}  // namespace reckon
