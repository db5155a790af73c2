// Rules of thumb and published conventions, each beside the exact figure. They live here and nowhere else: every
// other number comes from the program.
#pragma once

#include <reckon/ledger.h>
#include <reckon/model.h>

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

// T = 2·d, beside the shortest context at which scores and mixing cost at least as much as the projections of
// attention in this phase, and counted this way; `exact` is none where they never do.
Rule crossover_rule(const Model& model, const Workload& workload);

enum class Convention { exact, kaplan, palm, megatron, chinchilla };

// The FLOPs of the workload as a publication counts them, beside the exact matmul FLOPs.
Rule convention_flops(Convention convention, const Model& model, const Ledger& ledger);

}  // namespace reckon
