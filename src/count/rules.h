// Rules of thumb and published conventions, each beside the exact figure. They live here and nowhere else: every
// other number comes from the program.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reckon {

struct Rule {
  std::string name;     // "12·L·d²"
  std::string meaning;  // "parameters of the blocks"
  double estimate = 0;
  std::optional<double> exact;  // none: there is nothing to compare it with
  std::string unit;             // "parameters", "FLOPs per token", "tokens", "share"
  std::string reference;
  std::optional<double> error() const;  // estimate / exact − 1
};

// The rules that apply to the model and workload. `train_tokens` (0: none) asks for the compute of a whole training.
std::vector<Rule> rules_of_thumb(const Model& model, const Ledger& ledger, double train_tokens = 0);

// The shortest context (past and new tokens) at which scores and mixing cost at least as many matmul FLOPs as the
// projections of attention, in the workload's phase and with its way to count causal scores. In decode the cache grows
// and the new tokens stay; elsewhere the new tokens grow. None where that is so at no length that can be counted, or
// the model has no attention.
std::optional<std::int64_t> crossover(const Model& model, const Workload& workload);

// T = 2·d, beside the crossover of this workload; `exact` is none where there is none.
Rule crossover_rule(const Model& model, const Workload& workload);

enum class Convention { exact, six_nd, kaplan, palm, megatron, chinchilla };
inline constexpr Convention conventions[] = {Convention::exact, Convention::six_nd,   Convention::kaplan,
                                             Convention::palm,  Convention::megatron, Convention::chinchilla};
// As people name it: "exact", "6nd", "kaplan".
const char* convention_name(Convention convention);

// The FLOPs of the workload as a publication counts them, beside the exact matmul FLOPs.
Rule convention_flops(Convention convention, const Model& model, const Ledger& ledger);

// What Megatron's authors say that the hardware computes in a training step, with what the ledger's workload computes
// again, beside the exact matmul FLOPs with it.
Rule megatron_hardware_flops(const Model& model, const Ledger& ledger);

}  // namespace reckon
