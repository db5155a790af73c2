#include "count/training_amounts.h"

namespace reckon {

TrainingAmounts training_amounts(const Ledger& step, std::optional<double> tokens,
                                 std::optional<double> inference_tokens) {
  TrainingAmounts found;
  const double n = found.parameters = static_cast<double>(step.parameter_totals.total);
  found.mixture = step.parameter_totals.active != step.parameter_totals.total;
  found.adapters = step.workload.lora.rank > 0;
  found.compute = tokens ? 6 * n * *tokens : 0;
  found.inference_tokens = inference_tokens.value_or(0);
  const double in_step = static_cast<double>(step.workload.batch) * static_cast<double>(step.workload.tokens);
  const double each = static_cast<double>(step.forward.matmul + step.backward.matmul) / in_step;
  for (const ScalingLaw& law : scaling_laws()) {
    if (law.used_for == ScalingLaw::Use::inference && !inference_tokens) continue;
    const double best = law.tokens(n);
    found.amounts.push_back({law.name, law.basis, law.reference, best, best / n, each * best, 6 * n * best,
                             law.fit ? std::optional(law.fit->loss(n, best)) : std::nullopt});
    if (tokens) {
      const double parameters = law.parameters(found.compute);
      found.optima.push_back({law.name, parameters, law.tokens(parameters)});
    }
    if (!inference_tokens || !law.fit) continue;
    const double longer = tokens_for_inference(*law.fit, n, *inference_tokens);
    const TrainedAndServed plain = trained_and_served(n, best, *inference_tokens);
    const TrainedAndServed least = cheapest(*law.fit, law.fit->loss(n, best), *inference_tokens);
    found.served.push_back(
        {law.name, law.reference, longer, 6 * n * longer, plain, least, 1 - least.flops() / plain.flops()});
  }
  return found;
}

}  // namespace reckon
