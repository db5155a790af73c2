// A model and a workload in one line each, and as JSON.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/document.h"

namespace reckon {

// "gpt2 family · 12 layers · width 768 · 12 heads of 64 · feed-forward 3,072 · vocabulary 50,257 · context 1,024 ·
// learned positions · LayerNorm · biases · tied head"
std::string describe(const Model& model);
// "forward pass · batch 1 · 1,024 tokens · every logit"
std::string describe(const Workload& workload);

std::string_view causal_name(Causal causal);  // "full", "exact"

nlohmann::ordered_json architecture_json(const Model& model);
nlohmann::ordered_json workload_json(const Workload& workload);
nlohmann::ordered_json weights_json(const Ledger& ledger);
// A whole number as an integer, else as it is.
nlohmann::ordered_json number_json(double value);

// Cells with their plain form for CSV.
Cell count_cell(Count value);
Cell share_cell(Count part, Count whole);  // "31.7%"
Cell bar_cell(Count part, Count whole);
Cell factor_cell(double value, double base);  // "×2.00"

}  // namespace reckon
