// A model and a workload in one line each, and as JSON.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "count/adapters.h"
#include "report/document.h"

namespace reckon {

// "gpt2 family · 12 layers · width 768 · 12 heads of 64 · feed-forward 3,072 · vocabulary 50,257 · context 1,024 ·
// learned positions · LayerNorm · biases · tied head"
std::string describe(const Model& model);
// Sizes that several workloads do not have in common.
struct VaryingSizes {
  bool batch = false;
  bool lengths = false;  // new tokens, those before them, an encoder's
};
// "forward pass · batch 1 · 1,024 tokens · every logit", without the sizes that vary.
std::string describe(const Workload& workload, VaryingSizes varying = {});
// " · gradients in float32 · adamw · selective recomputation · dropout 0.1": how a step trains, with the gradients'
// type where it is not that of the weights; empty where it does not.
std::string describe_training(const Workload& workload);
// "adapters of rank 8 beside query and value"; empty where there are none.
std::string describe_adapters(const Lora& lora);
// "weights, gradients and optimizer state"
std::string listed(std::vector<std::string> names);
// "0–4, 6–10, 12"; of more than four ranges the first `shown` and the last: "0, 2, …, 10".
std::string layer_list(const std::vector<std::int32_t>& layers, std::size_t shown = 2);

std::string_view causal_name(Causal causal);  // "full", "exact"

// A size of a model, as a table and as CSV name it: "key/value heads", "n_kv_heads" in "heads".
struct ModelSize {
  const char *title, *key, *unit;     // CSV has none without a key
  std::optional<std::int64_t> value;  // of the first layer that has it
};
std::vector<ModelSize> sizes_of(const Model& model);  // the same titles for every model

// The types that the bytes of all weights are given in.
inline constexpr DType weight_types[] = {DType::float32, DType::bfloat16, DType::int8, DType::int4};

OrderedJson architecture_json(const Model& model);
OrderedJson workload_json(const Workload& workload);
// Adds the rank and the targets of adapters, where there are any.
void add_lora(OrderedJson& json, const Lora& lora);
// The types of weights ("stored": those of their file; `quantised`: of the layers' matrices alone), of activations, and
// of what the phase has of a cache or of gradients.
OrderedJson types_json(const Workload& workload, const std::optional<DType>& quantised, bool stored);
std::string_view recompute_name(Recompute recompute);  // as options have it: "selective"
std::string_view optimizer_name(Optimizer optimizer);  // "adamw"
std::string_view attention_name(bool materialised);    // "streamed"; materialised: its scores are written out
OrderedJson layout_json(const Layout& layout);         // what is shared out among how many ranks
OrderedJson parameters_json(const ParameterTotals& parameters);
OrderedJson weights_json(const Ledger& ledger);
OrderedJson adapters_json(const AdapterCount& adapters);
// A whole number as an integer, else as it is.
OrderedJson number_json(double value);

double ratio(Count part, Count whole);  // 0 where there is no whole

// Cells with their plain form for CSV.
Cell count_cell(Count value);
Cell flops_cell(Count value);              // "4.513 TFLOP"
Cell share_cell(Count part, Count whole);  // "31.7%"
Cell bar_cell(Count part, Count whole);
Cell factor_cell(double factor);              // "×2.00"
Cell growth_cell(Count value, Count before);  // the same; empty where there was nothing before

std::string dollars(double usd);  // "0.0123 USD", "12,345 USD": three digits, or whole

}  // namespace reckon
